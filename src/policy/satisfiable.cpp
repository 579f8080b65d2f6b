#include "policy/satisfiable.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/text.h"
#include "policy/placer.h"

namespace sl {
namespace {

// What a server has for a job when no other job is there.
struct Capacity {
  ServerIndex server;
  GpuSet gpus;
  ResourceVector limits;
  bool runs_containers;
};
using Capacities = std::vector<Capacity>;

// A server without GPUs is one for jobs that need none.
Capacities all_of(const ServerTable& servers, int gpus) {
  Capacities capacities;
  for (std::uint32_t s = 0; s < servers.size(); ++s) {
    const Server& server = servers[ServerIndex(s)];
    const bool is_there = server.state != ServerState::removed;
    if (gpus > 0 ? server.description.gpus > 0 : is_there)
      capacities.push_back({ServerIndex(s), server.all(), server.description.limits(),
                            server.had_containers || server.description.runs_containers});
  }
  return capacities;
}

bool takes_jobs(const Server& server) { return server.state == ServerState::up; }

Capacities now_of(const ServerTable& servers, int gpus, std::optional<std::int64_t> gpu_memory) {
  Capacities capacities = all_of(servers, gpus);
  std::erase_if(capacities, [&](const Capacity& capacity) { return !takes_jobs(servers[capacity.server]); });
  for (Capacity& capacity : capacities) {
    const Server& server = servers[capacity.server];
    capacity.gpus = roomy(server, capacity.gpus - server.unavailable, gpu_memory);
    capacity.runs_containers = server.description.runs_containers;
  }
  return capacities;
}

// Keeps the capacities of which `amount` is at least `needs`. Returns whether any is left; if not, `most` is the largest.
bool keep(Capacities& capacities, double needs, const std::function<double(const Capacity&)>& amount, double& most) {
  most = 0;
  for (const Capacity& capacity : capacities) most = std::max(most, amount(capacity));
  std::erase_if(capacities, [&](const Capacity& capacity) { return amount(capacity) < needs * (1 - 1e-9) - 1e-9; });
  return !capacities.empty();
}

double gpus_of(const Capacity& capacity) { return capacity.gpus.count(); }

// What those servers that have most of it, at most so many, have together.
double most_of(const Capacities& capacities, int servers, const std::function<double(const Capacity&)>& amount) {
  std::vector<double> amounts;
  for (const Capacity& capacity : capacities) amounts.push_back(amount(capacity));
  std::ranges::sort(amounts, std::greater());
  if (std::cmp_less(servers, amounts.size())) amounts.resize(static_cast<std::size_t>(servers));
  return std::accumulate(amounts.begin(), amounts.end(), 0.0);
}

constexpr Lack lack_of[resource_count] = {Lack::cpu, Lack::memory, Lack::disk, Lack::network};

Verdict on_one(Capacities capacities, const JobRequest& request, int gpus) {
  Verdict verdict{Lack::gpus, static_cast<double>(gpus)};
  if (!keep(capacities, gpus, gpus_of, verdict.most)) return verdict;
  if (request.demand.is_zero()) return {};
  const ResourceVector demand = Demand(request).on(gpus);
  for (std::size_t d = 0; d < resource_count; ++d) {
    verdict.lack = lack_of[d];
    verdict.needs = demand.amount[d];
    if (!keep(
            capacities, verdict.needs, [&](const Capacity& o) { return o.limits.amount[d]; }, verdict.most))
      return verdict;
  }
  return {};
}

bool can_be_placed(const Capacities& capacities, const ServerTable& servers, const JobRequest& request, int gpus) {
  FreeGpus free;
  for (std::uint32_t s = 0; s < servers.size(); ++s) free.set(ServerIndex(s), {}, {}, false, 0);
  for (const Capacity& o : capacities) free.set(o.server, o.gpus, o.limits, true, servers[o.server].description.gpus);
  JobRequest wherever =
      request;  // the capacities are of servers with memory enough, whatever frozen jobs hold of it now
  wherever.gpu_memory_bytes.reset();
  wherever.needs_containers = false;  // likewise
  return place_consolidated(free, servers, wherever, gpus).has_value();
}

Verdict on_several(const Capacities& capacities, const ServerTable& servers, const JobRequest& request, int gpus) {
  const bool is_limit = std::cmp_less(request.servers_max, capacities.size());
  const int most_servers = is_limit ? request.servers_max : any_number_of_servers;
  Verdict verdict{Lack::gpus, static_cast<double>(gpus), most_of(capacities, most_servers, gpus_of), most_servers};
  if (verdict.most < gpus) return verdict;
  if (request.demand.is_zero() || can_be_placed(capacities, servers, request, gpus)) return {};
  verdict.needs = verdict.most = 0;
  verdict.lack = Lack::together;
  const ResourceVector demand = Demand(request).on(gpus);
  for (std::size_t d = 0; d < resource_count; ++d) {
    const double most = most_of(capacities, most_servers, [d](const Capacity& o) { return o.limits.amount[d]; });
    if (most < demand.amount[d]) return {lack_of[d], demand.amount[d], most, most_servers};
  }
  return verdict;
}

Verdict judge(Capacities capacities, const ServerTable& servers, const JobRequest& request, int gpus) {
  if (!has_all_members(request)) return {Lack::member};
  const bool any = !capacities.empty();
  std::erase_if(capacities,
                [&](const Capacity& o) { return !request.servers_chosen.allows(servers[o.server].description); });
  if (any && capacities.empty()) return {Lack::server};
  std::erase_if(capacities, [&](const Capacity& o) { return request.needs_containers && !o.runs_containers; });
  if (any && capacities.empty()) return {Lack::containers};
  const auto is_of_type = [&](const Capacity& o) {
    return is_eligible(servers[o.server], request.gpu_types, {}, false, {});
  };
  std::erase_if(capacities, [&](const Capacity& capacity) { return !is_of_type(capacity); });
  if (capacities.empty() && !request.gpu_types.empty()) return {Lack::gpu_type};
  if (request.gpu_memory_bytes) {
    Verdict verdict{Lack::gpu_memory, static_cast<double>(*request.gpu_memory_bytes)};
    const auto memory = [&](const Capacity& o) {
      return static_cast<double>(servers[o.server].description.gpu_memory_bytes.value_or(0));
    };
    if (!keep(capacities, verdict.needs, memory, verdict.most)) return verdict;
  }
  return request.single_server() ? on_one(std::move(capacities), request, gpus)
                                 : on_several(capacities, servers, request, gpus);
}

std::string gibibytes(double bytes) { return with_commas(bytes / (1 << 30), bytes < 1e11 ? 1 : 0) + " GiB"; }

std::string figure(Lack lack, double amount) {
  if (lack == Lack::gpus) return with_commas(amount, 0);
  if (lack == Lack::cpu) return with_commas(amount, amount == std::floor(amount) ? 0 : 1);
  return lack == Lack::network ? with_commas(amount / 1e9, 1) + " Gbit/s" : gibibytes(amount);
}

std::string noun(Lack lack, double amount) {
  const std::string plural = amount == 1 ? "" : "s";
  return lack == Lack::gpus      ? " GPU" + plural
         : lack == Lack::cpu     ? " CPU" + plural
         : lack == Lack::memory  ? " of memory"
         : lack == Lack::disk    ? " of disk"
         : lack == Lack::network ? " of network"
                                 : "";
}

}  // namespace

Verdict could_ever_run(const ServerTable& servers, const JobRequest& request, int gpus) {
  return judge(all_of(servers, gpus), servers, request, gpus);
}

Verdict could_run_now(const ServerTable& servers, const JobRequest& request, int gpus) {
  return judge(now_of(servers, gpus, request.gpu_memory_bytes), servers, request, gpus);
}

namespace {

bool on_any_one(Capacities capacities, const ServerTable& servers, JobRequest request, int gpus) {
  request.servers_max = 1;
  return !capacities.empty() && judge(std::move(capacities), servers, request, gpus).possible();
}

}  // namespace

bool could_be_on_one(const ServerTable& servers, const JobRequest& request, int gpus) {
  return on_any_one(now_of(servers, gpus, request.gpu_memory_bytes), servers, request, gpus);
}

bool could_hold(const ServerTable& servers, ServerIndex server, const JobRequest& request, int gpus) {
  Capacities capacities = now_of(servers, gpus, request.gpu_memory_bytes);
  std::erase_if(capacities, [&](const Capacity& other) { return other.server != server; });
  return on_any_one(std::move(capacities), servers, request, gpus);
}

bool awaits_frozen_memory(const ServerTable& servers, const JobRequest& request, int gpus) {
  ServerTable bare = servers;
  for (Server& server : bare) server.frozen_bytes.clear();
  return !could_run_now(servers, request, gpus).possible() && could_run_now(bare, request, gpus).possible();
}

std::string lack_text(const Verdict& verdict) {
  switch (verdict.lack) {
    case Lack::nothing:
      return "";
    case Lack::member:
      return "one of its roles has no member";
    case Lack::gpu_type:
      return "no server has the GPU type it asks for";
    case Lack::gpu_memory:
      return "needs GPUs with " + figure(verdict.lack, verdict.needs) +
             (verdict.most > 0 ? ", the largest have " + figure(verdict.lack, verdict.most)
                               : ", and no server is known to have them");
    case Lack::server:
      return "no server has a name or a label that it asks for";
    case Lack::containers:
      return "it runs in a container, and no server has a container engine";
    case Lack::together:
      return "no division of its members over the servers was found that has room for all at once";
    default:
      break;
  }
  const bool on_one = verdict.servers == 1, on_any = verdict.servers == any_number_of_servers;
  return "needs " + figure(verdict.lack, verdict.needs) + noun(verdict.lack, verdict.needs) +
         (on_one && verdict.lack == Lack::gpus && verdict.needs > 1 ? " on one server"
          : on_one || on_any                                        ? ""
                             : " on at most " + std::to_string(verdict.servers) + " servers") +
         (on_one   ? ", the largest server has "
          : on_any ? ", all servers together have "
                   : ", the " + std::to_string(verdict.servers) + " largest together have ") +
         figure(verdict.lack, verdict.most);
}

const char* lack_name(Lack lack) {
  constexpr const char* names[lack_count] = {"nothing",
                                             "members of a role",
                                             "the GPU type",
                                             "memory of a GPU",
                                             "GPUs",
                                             "CPUs",
                                             "memory",
                                             "disk",
                                             "network",
                                             "room for all members",
                                             "a container engine",
                                             "a server it may run on"};
  return names[static_cast<std::size_t>(lack)];
}

std::vector<ServerIndex> awaited_servers(const ServerTable& servers, const JobRequest& request, int gpus) {
  std::vector<ServerIndex> awaited;
  for (const Capacity& whole : all_of(servers, gpus)) {
    const Server& server = servers[whole.server];
    if (takes_jobs(server) && server.unavailable.empty()) continue;
    Capacities with = now_of(servers, gpus, request.gpu_memory_bytes);
    std::erase_if(with, [&](const Capacity& capacity) { return capacity.server == whole.server; });
    with.push_back(whole);
    if (judge(std::move(with), servers, request, gpus).possible()) awaited.push_back(whole.server);
  }
  return awaited;
}

}  // namespace sl
