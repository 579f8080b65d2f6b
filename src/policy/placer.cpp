#include "policy/placer.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "policy/place_members.h"

namespace sl {
namespace {

bool is_constrained(const JobRequest& request) { return !request.takes_any_server() || !request.demand.is_zero(); }

// Whether `count` GPUs of the job could be on this server, which has as many free ones.
bool accepts(const FreeGpus& free, const ServerTable& servers, const JobRequest& request, const ResourceVector& demand,
             int count, ServerIndex server) {
  return free.fits(server, demand) && is_eligible(servers[server], request) &&
         free_for(free, servers, request, server).count() >= count;
}

// The first server with exactly `n` free GPUs that accepts the job.
ServerIndex first_in_bucket(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                            const ResourceVector& demand, int count, int n, bool constrained) {
  const IndexSet& bucket = free.with_exactly(n);
  std::uint32_t i = bucket.next();
  if (constrained) {
    while (i != IndexSet::none && !accepts(free, servers, request, demand, count, ServerIndex(i)))
      i = bucket.next(i + 1);
  }
  return i == IndexSet::none ? ServerIndex::none() : ServerIndex(i);
}

ServerIndex find_server(const FreeGpus& free, const ServerTable& servers, const JobRequest& request, int count,
                        Fit fit) {
  const bool constrained = is_constrained(request);
  ResourceVector demand;
  if (constrained) demand = Demand(request).on(count);
  const int most = free.gpus_per_server_max();
  ServerIndex found;
  const auto next = [&](int n) { return fit == Fit::worst ? n : free.next_count(n); };
  for (int step = next(count); step <= most; step = next(step + 1)) {
    const int n = fit == Fit::worst ? most - (step - count) : step;
    const ServerIndex server = first_in_bucket(free, servers, request, demand, count, n, constrained);
    if (!server.valid()) continue;
    if (fit != Fit::first) return server;
    if (!found.valid() || server < found) found = server;
  }
  return found;
}

// What `part` of `count` GPUs need of the demand of a job without roles.
ResourceVector share_of(const JobRequest& request, int part, int count) {
  return request.demand.is_zero() ? request.demand : Demand(request).of_ranks(0, part, count);
}

// Takes whole servers in bucket order `from`..`to` until the rest fits on one; empty if the GPUs do not suffice.
std::optional<Allocation> place_over_buckets(const FreeGpus& free, const ServerTable& servers,
                                             const JobRequest& request, int count, bool fullest_first) {
  Allocation result;
  int rest = count;
  const int most = free.gpus_per_server_max();
  const bool constrained = is_constrained(request);
  for (int step = 0; step < most && rest > 0; ++step) {
    const int n = fullest_first ? most - step : step + 1;
    const IndexSet& bucket = free.with_exactly(n);
    for (std::uint32_t i = bucket.next(); i != IndexSet::none && rest > 0; i = bucket.next(i + 1)) {
      const ServerIndex server(i);
      const GpuSet there = free_for(free, servers, request, server);
      const int part = std::min(there.count(), rest);
      if (part == 0) continue;
      if (constrained && !accepts(free, servers, request, share_of(request, part, count), part, server)) continue;
      if (fullest_first && rest < n) break;  // below, the remainder goes where it fits best
      result.add(server, lowest(servers[server], there, part));
      rest -= part;
    }
    if (fullest_first && rest > 0 && rest <= n) {
      // Best fit among servers not used yet: those used have no free GPU left for us, so they are skipped by index.
      for (int k = rest; k <= most; ++k) {
        const IndexSet& fitting = free.with_exactly(k);
        for (std::uint32_t i = fitting.next(); i != IndexSet::none; i = fitting.next(i + 1)) {
          const ServerIndex server(i);
          if (!result.on(server).empty()) continue;
          if (constrained && !accepts(free, servers, request, share_of(request, rest, count), rest, server)) continue;
          result.add(server, lowest(servers[server], free_for(free, servers, request, server), rest));
          return result;
        }
      }
    }
  }
  if (rest > 0) return std::nullopt;
  return result;
}

// Nothing if the job may not be on that many servers.
std::optional<Allocation> within_limit(const JobRequest& request, std::optional<Allocation> gpus) {
  return gpus && request.may_spread_over(*gpus) ? std::move(gpus) : std::nullopt;
}

}  // namespace

bool is_eligible(const Server& server, const std::vector<GpuTypeIndex>& types, std::optional<std::int64_t> gpu_memory,
                 bool needs_containers, const ServerChoice& chosen) {
  const ServerDescription& has = server.description;
  if (!chosen.allows(has)) return false;
  if (needs_containers && !has.runs_containers) return false;
  if (!types.empty() && std::find(types.begin(), types.end(), has.gpu_type) == types.end()) return false;
  return !gpu_memory || (has.gpu_memory_bytes && *has.gpu_memory_bytes >= *gpu_memory);
}

bool is_eligible(const Server& server, const JobRequest& request) {
  return is_eligible(server, request.gpu_types, request.gpu_memory_bytes, request.needs_containers,
                     request.servers_chosen);
}

GpuSet lowest(const Server& server, GpuSet among, int count) {
  if (server.frozen_bytes.empty()) return among.lowest(count);
  const GpuSet clean = among - server.without_memory(std::numeric_limits<std::int64_t>::max());
  const GpuSet first = clean.lowest(std::min(count, clean.count()));
  return first | (among - clean).lowest(count - first.count());
}

Allocation rather_on(const std::vector<Allocation>& left, const FreeGpus& free, const ServerTable& servers,
                     const JobRequest& request, const Allocation& found) {
  Allocation gpus;
  for (const ServerGpus& part : found.parts()) {
    const GpuSet usable = free_for(free, servers, request, part.server);
    const int count = part.gpus.count();
    GpuSet chosen, theirs;
    const auto choose = [&](GpuSet among, int most) {
      among -= chosen;
      chosen |= among.lowest(std::min({most, among.count(), count - chosen.count()}));
    };
    for (const Allocation& job : left) {
      const GpuSet leaves = job.on(part.server) & usable;
      theirs |= leaves;
      choose(leaves, 1);
    }
    choose(theirs, count);
    choose(part.gpus, count);
    gpus.append(part.server, chosen);  // members of a job with roles are numbered in the order of the parts
  }
  return gpus;
}

bool all_usable(const Snapshot& snapshot, const Allocation& gpus) {
  return std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
    const Server& server = snapshot.servers[part.server];
    return (part.gpus & (server.outside | server.unavailable)).empty();
  });
}

bool may_stay_on(const Snapshot& snapshot, const Job& job, const Allocation& gpus) {
  return std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
    return snapshot.free.is_open(part.server) && is_eligible(snapshot.servers[part.server], job.request);
  });
}

std::optional<Allocation> place_single(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                       int count, Fit fit) {
  const ServerIndex server = find_server(free, servers, request, count, fit);
  if (!server.valid()) return std::nullopt;
  return Allocation(server, lowest(servers[server], free_for(free, servers, request, server), count));
}

std::optional<Allocation> place_on(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                   int count, ServerIndex server) {
  if (!free.is_open(server) || free.count(server) < count ||
      !accepts(free, servers, request, Demand(request).on(count), count, server))
    return std::nullopt;
  return Allocation(server, lowest(servers[server], free_for(free, servers, request, server), count));
}

std::optional<Allocation> place_consolidated(const FreeGpus& free, const ServerTable& servers,
                                             const JobRequest& request, int count) {
  if (auto single = place_single(free, servers, request, count)) return single;
  if (free.total() < count) return std::nullopt;
  if (has_unlike_members(request)) return place_members(free, servers, request, count, fullest_first(free));
  auto gpus = within_limit(request, place_over_buckets(free, servers, request, count, true));
  if (gpus || (request.servers_max == any_number_of_servers && !is_constrained(request))) return gpus;
  return place_on_fewest(free, servers, request, count);  // there also with fewer of a server's GPUs than are free
}

std::optional<Allocation> place_anywhere(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                         int count) {
  if (free.total() < count) return std::nullopt;
  if (has_unlike_members(request)) return place_members(free, servers, request, count, emptiest_first(free));
  auto gpus = within_limit(request, place_over_buckets(free, servers, request, count, false));
  return gpus ? gpus : place_consolidated(free, servers, request, count);  // fewer servers
}

std::optional<Allocation> place(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                int count) {
  return request.single_server() ? place_single(free, servers, request, count)
                                 : place_consolidated(free, servers, request, count);
}

bool may_be_suspended(const Job& job) {
  if (!job.request.preemptible || job.request.capability == Capability::none) return false;
  return job.request.capability == Capability::checkpoint || job.allocation.parts().size() == 1;
}

std::optional<Allocation> place(const FreeGpus& free, const ServerTable& servers, const Job& job, int count) {
  if (!is_frozen(job)) return place(free, servers, job.request, count);
  const Allocation& gpus = *job.frozen_on;
  const bool are_free = std::ranges::all_of(gpus.parts(), [&](const ServerGpus& part) {
    return free.is_open(part.server) && free.on(part.server).contains(part.gpus);
  });
  return are_free && free.fits(gpus, job.request) ? std::optional(gpus) : std::nullopt;
}

Allocation grown_in_place(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                          const Allocation& has, int most) {
  Allocation grown = has;
  for (int count = allowed_gpus(request, most); count > has.count(); count = allowed_gpus(request, count - 1)) {
    for (const ServerGpus& part : has.parts()) {
      if (!free.is_open(part.server)) continue;
      const GpuSet there = free_for(free, servers, request, part.server);
      const int more = std::min(count - grown.count(), there.count());
      if (more > 0) grown.add(part.server, lowest(servers[part.server], there, more));
    }
    if (grown.count() == count && free.fits_more(has, grown, request)) return grown;
    grown = has;
  }
  return grown;
}

}  // namespace sl
