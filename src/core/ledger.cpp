#include "core/ledger.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sl {
namespace {

template <typename Test>  // test(server, gpu) for every GPU
bool every_gpu(const Allocation& gpus, Test test) {
  for (const ServerGpus& part : gpus.parts()) {
    bool holds = true;
    part.gpus.for_each([&](int gpu) { holds = holds && test(part.server, gpu); });
    if (!holds) return false;
  }
  return true;
}

}  // namespace

ServerIndex Ledger::find_server(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? ServerIndex::none() : at->second;
}

bool Ledger::has_servers() const {
  return std::ranges::any_of(servers_, [](const Server& server) { return server.state != ServerState::removed; });
}

ServerIndex Ledger::add_server(const ServerDescription& description) {
  SL_CHECK(description.gpus >= 0 && description.gpus <= GpuSet::capacity, "a server has 0 to 64 GPUs");
  Server server;
  server.description = description;
  server.had_containers = description.runs_containers;
  server.gpus.resize(static_cast<std::size_t>(description.gpus));
  const ServerIndex index = servers_.push_back(std::move(server));
  usable_.push_back({});
  tenants_.resize(index, description.gpus);
  by_name_.emplace(description.name, index);
  note_type_of(index);
  publish(index);
  return index;
}

void Ledger::note_type_of(ServerIndex server) {
  const GpuTypeIndex first = servers_[ServerIndex(0)].description.gpu_type;
  has_several_gpu_types_ = has_several_gpu_types_ || servers_[server].description.gpu_type != first;
}

bool Ledger::describe(ServerIndex server, const ServerDescription& description) {
  const GpuSet held = occupied(server);
  const bool keeps = GpuSet::first(description.gpus).contains(held);
  ServerDescription accepted = description;
  if (!keeps) accepted.gpus = servers_[server].description.gpus;  // GPUs in use cannot vanish from the ledger
  servers_[server].description = accepted;
  servers_[server].had_containers |= accepted.runs_containers;
  servers_[server].gpus.resize(static_cast<std::size_t>(accepted.gpus));
  tenants_.resize(server, accepted.gpus);
  note_type_of(server);
  publish(server);
  return keeps;
}

void Ledger::set_state(ServerIndex server, ServerState state) {
  servers_[server].state = state;
  publish(server);
}

void Ledger::set_telemetry(ServerIndex server, const std::vector<GpuFacts>& gpus, GpuSet outside, GpuSet unavailable) {
  Server& at = servers_[server];
  std::copy_n(gpus.begin(), std::min(gpus.size(), at.gpus.size()), at.gpus.begin());
  if (at.outside == outside && at.unavailable == unavailable) return;
  at.outside = outside;
  at.unavailable = unavailable;
  publish(server);
}

GpuSet Ledger::occupied(ServerIndex server) const {
  GpuSet held;
  const auto gpus = tenants_[server];
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].jobs.empty()) held |= GpuSet::only(static_cast<int>(i));
  }
  return held;
}

ResourceVector Ledger::resources_left(ServerIndex server) const {
  ResourceVector left = servers_[server].description.limits();
  left -= servers_[server].used;
  return left;
}

void Ledger::publish(ServerIndex server) {
  const Server& at = servers_[server];
  usable_[server] = at.all() - at.unavailable - at.outside;
  free_.set(server, usable(server) - occupied(server), resources_left(server), at.state == ServerState::up,
            at.description.gpus);
}

bool Ledger::all_free(const Allocation& gpus) const {
  for (const ServerGpus& part : gpus.parts()) {
    if (!servers_.contains(part.server) || !free_.is_open(part.server) || !free_.on(part.server).contains(part.gpus))
      return false;
  }
  return true;
}

bool Ledger::all_free_or(const Allocation& gpus, const std::function<bool(JobIndex, ServerIndex, int)>& leaves) const {
  return every_gpu(gpus, [&](ServerIndex server, int gpu) {
    if (!servers_.contains(server) || !usable(server).has(gpu)) return false;
    const Tenancy& here = tenants_[server][static_cast<std::size_t>(gpu)];
    if (here.next.valid()) return false;
    return std::ranges::all_of(here.jobs.items(), [&](JobIndex tenant) { return leaves(tenant, server, gpu); });
  });
}

bool Ledger::all_shareable(const Allocation& gpus, const JobTable& jobs) const {
  return every_gpu(gpus, [&](ServerIndex server, int gpu) {
    if (!servers_.contains(server) || !usable(server).has(gpu)) return false;
    const Tenancy& here = tenants_[server][static_cast<std::size_t>(gpu)];
    return !here.next.valid() &&
           std::ranges::all_of(here.jobs.items(), [&](JobIndex tenant) { return jobs[tenant].request.shareable; });
  });
}

void Ledger::charge_excess(const Allocation& from, const Allocation& to, Demand demand) {
  for_each_excess(from, to, demand, [&](ServerIndex server, const ResourceVector& excess) {
    servers_[server].used += excess;
    free_.take(server, {}, excess);
  });
  publish_if_without_gpus(to);
}

void Ledger::give_back_excess(const Allocation& from, const Allocation& to, Demand demand) {
  for_each_excess(from, to, demand, [&](ServerIndex server, const ResourceVector& excess) {
    servers_[server].used -= excess;
    free_.give(server, {}, excess);
  });
  publish_if_without_gpus(to);
}

void Ledger::hold_memory(JobIndex job, const Allocation& gpus, std::int64_t bytes) {
  if (bytes <= 0) return;
  const ServerGpus& part = gpus.parts().front();
  frozen_.insert_or_assign(job, FrozenMemory{part, bytes});
  servers_[part.server].frozen_bytes = frozen_on(part.server);
  publish(part.server);
}

bool Ledger::free_memory(JobIndex job) {
  if (frozen_.empty()) return false;
  const auto at = frozen_.find(job);
  if (at == frozen_.end()) return false;
  const ServerIndex server = at->second.gpus.server;
  frozen_.erase(at);
  servers_[server].frozen_bytes = frozen_on(server);
  publish(server);  // jobs that had too little memory there may fit now
  return true;
}

std::vector<std::int64_t> Ledger::frozen_on(ServerIndex server) const {
  std::vector<std::int64_t> bytes;
  for (const auto& [job, memory] : frozen_) {
    if (memory.gpus.server != server) continue;
    memory.gpus.gpus.for_each([&](int gpu) {
      bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(gpu) + 1));
      bytes[static_cast<std::size_t>(gpu)] += memory.bytes;
    });
  }
  return bytes;
}

int Ledger::take(JobIndex job, const Allocation& gpus, Demand demand, Instant now, bool shared) {
  int awaited = 0;
  const bool needs_more = !demand.is_zero();
  for_each_share(gpus, demand, [&](const ServerGpus& part, const ResourceVector& share) {
    GpuSet newly;
    part.gpus.for_each([&](int gpu) {
      Tenancy& here = tenants_[part.server][static_cast<std::size_t>(gpu)];
      if (!here.jobs.empty() && !shared) {
        here.next = job;
        ++awaited;
        return;
      }
      if (here.jobs.empty()) newly |= GpuSet::only(gpu);
      here.jobs.insert(here.jobs.items().size(), job);
      here.started = now;
    });
    if (needs_more) servers_[part.server].used += share;
    free_.take(part.server, newly & free_.on(part.server), share);
    in_use_ += newly.count();
  });
  publish_if_without_gpus(gpus);
  return awaited;
}

int Ledger::release(JobIndex job, const Allocation& gpus, Demand demand, Instant now,
                    const std::function<void(JobIndex)>& received) {
  int freed = 0;
  const bool needs_more = !demand.is_zero();
  for_each_share(gpus, demand, [&](const ServerGpus& part, const ResourceVector& share) {
    GpuSet now_free, still_shared;
    part.gpus.for_each([&](int gpu) {
      Tenancy& here = tenants_[part.server][static_cast<std::size_t>(gpu)];
      if (here.next == job) here.next = JobIndex::none();
      const auto jobs = here.jobs.items();
      const auto at = static_cast<std::size_t>(std::ranges::find(jobs, job) - jobs.begin());
      if (at == jobs.size()) return;
      here.jobs.erase(at);
      if (here.jobs.empty() && here.next.valid()) {
        const JobIndex next = std::exchange(here.next, JobIndex::none());
        here.jobs.insert(0, next);
        here.started = now;
        received(next);
      } else if (here.jobs.empty()) {
        now_free |= GpuSet::only(gpu);
        --in_use_;
      } else {
        still_shared |= GpuSet::only(gpu);
      }
    });
    if (needs_more) servers_[part.server].used -= share;
    const GpuSet offered = now_free & usable(part.server);
    free_.give(part.server, offered, share);
    if (free_.is_open(part.server)) freed += (offered | still_shared).count();
  });
  publish_if_without_gpus(gpus);
  return freed;
}

void Ledger::check_invariants(const JobTable& jobs) const {
  int held = 0;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const ServerIndex server(static_cast<std::uint32_t>(i));
    GpuSet occupied_here;
    for (std::size_t gpu = 0; gpu < tenants_[server].size(); ++gpu) {
      const Tenancy& here = tenants_[server][gpu];
      if (here.jobs.empty()) {
        SL_CHECK(!here.next.valid(), "a promised GPU has a tenant that leaves");
        continue;
      }
      ++held;
      occupied_here |= GpuSet::only(static_cast<int>(gpu));
      for (const JobIndex job : here.jobs.items()) {
        SL_CHECK(is_active(jobs[job].state), "only an active job holds a GPU");
        const GpuSet mine = jobs[job].allocation.on(server) | jobs[job].target.on(server);
        SL_CHECK(mine.has(static_cast<int>(gpu)), "the ledger and the job agree on who holds a GPU");
        SL_CHECK(here.count() == 1 || jobs[job].request.shareable, "only shareable jobs share a GPU");
      }
    }
    SL_CHECK((free_.on(server) & occupied_here).empty(), "no held GPU counts as free");
    SL_CHECK(free_.on(server) == usable(server) - occupied_here, "every usable GPU that no job holds counts as free");
  }
  SL_CHECK(held == in_use_, "the number of GPUs in use is the number of GPUs with a tenant");
  check_resources(jobs);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const ServerIndex server(static_cast<std::uint32_t>(i));
    SL_CHECK(servers_[server].frozen_bytes == frozen_on(server), "a server knows what frozen jobs hold in its GPUs");
  }
  for (const auto& [index, memory] : frozen_) {
    const Job& job = jobs[index];
    SL_CHECK(job.state == JobState::suspended || job.state == JobState::stopping,
             "only jobs that stand still, or soon will, hold memory of GPUs without the GPUs");
    const Allocation& on = job.frozen_on ? *job.frozen_on : job.allocation;
    SL_CHECK(on.on(memory.gpus.server) == memory.gpus.gpus, "a frozen job holds memory where its processes are");
  }
}

void Ledger::check_resources(const JobTable& jobs) const {
  std::vector<ResourceVector> used(servers_.size());
  for (const Job& job : jobs) {
    if (!is_active(job.state) || job.request.demand.is_zero()) continue;
    for_each_share(job.allocation, job.request,
                   [&](const ServerGpus& part, const ResourceVector& share) { used[part.server.value] += share; });
    for_each_excess(job.allocation, job.target, job.request,
                    [&](ServerIndex server, const ResourceVector& excess) { used[server.value] += excess; });
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    const ResourceVector& kept = servers_[ServerIndex(static_cast<std::uint32_t>(i))].used;
    for (std::size_t d = 0; d < resource_count; ++d) {
      const double tolerance = 1e-6 * (1 + std::abs(used[i].amount[d]));
      SL_CHECK(std::abs(kept.amount[d] - used[i].amount[d]) <= tolerance,
               "the resources in use are those that active jobs asked for");
    }
  }
}

}  // namespace sl
