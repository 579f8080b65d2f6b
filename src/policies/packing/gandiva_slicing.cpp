// Jobs that have had their slice make room for waiting ones.
#include <algorithm>

#include "policies/packing/gandiva_turn.h"
#include "policy/placer.h"

namespace sl {

bool GandivaTurn::slice(JobIndex index, const Job& job) {
  if (ready_at(job) > snapshot_.now) {
    look_again_at(ready_at(job));
    return false;
  }
  // Where it ran before it goes on in place.
  if (slice_on(index, job, job.last_server)) return true;
  if (is_frozen(job)) return false;
  ServerIndex last;
  for (auto at = ripe_.begin(); at != ripe_.end(); ++at) {
    const ServerIndex server = snapshot_.job(std::get<JobIndex>(*at)).allocation.parts().front().server;
    if (server == last || server == job.last_server) continue;
    last = server;
    if (slice_on(index, job, server)) return true;  // that changed ripe_
  }
  return !job.request.single_server() && slice_anywhere(index, job);
}

std::optional<Allocation> GandivaTurn::place_there(const Job& job, ServerIndex server) const {
  return is_frozen(job) ? place(trial_.free(), snapshot_.servers, job, job.request.gpus)
                        : place_on(trial_.free(), snapshot_.servers, job.request, job.request.gpus, server);
}

// Suspends as many jobs on that server as necessary, those that ran longest first.
bool GandivaTurn::slice_on(JobIndex index, const Job& job, ServerIndex server) {
  if (!server.valid() || server.value >= ripe_on_.size() || !trial_.free().is_open(server)) return false;
  auto& there = ripe_on_[server.value];
  std::erase_if(there, [&](JobIndex i) { return !is_ripe(i); });
  std::sort(there.begin(), there.end(), [&](JobIndex a, JobIndex b) { return ran_longer(a, b); });
  const std::size_t mark = trial_.mark();
  std::vector<JobIndex> victims;
  std::optional<Allocation> gpus;
  for (std::size_t i = 0; i < there.size() && !gpus; ++i) {
    if (!can_leave_memory_to(job, snapshot_.job(there[i]))) continue;
    trial_.give(snapshot_.job(there[i]).allocation, snapshot_.job(there[i]).request);
    victims.push_back(there[i]);
    gpus = place_there(job, server);
  }
  if (!gpus) {
    trial_.rewind(mark);
    return false;
  }
  spare_unneeded(job, server, victims, *gpus);
  make_way(victims, job, *gpus);
  start(index, std::move(*gpus));
  return true;
}

// Gives back their GPUs to victims that the job does not need after all; `gpus` is updated to where the job then fits.
void GandivaTurn::spare_unneeded(const Job& job, ServerIndex server, std::vector<JobIndex>& victims, Allocation& gpus) {
  for (std::size_t i = 0; i + 1 < victims.size();) {
    const Job& spared = snapshot_.job(victims[i]);
    const std::size_t before = trial_.mark();
    trial_.take(spared.allocation, spared.request);
    auto without = place_there(job, server);
    if (!without) {
      trial_.rewind(before);
      ++i;
      continue;
    }
    gpus = std::move(*without);
    victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool GandivaTurn::slice_anywhere(JobIndex index, const Job& job) {
  const std::size_t mark = trial_.mark();
  std::vector<JobIndex> victims;
  std::optional<Allocation> gpus;
  for (const auto& [since, id, candidate] : ripe_) {
    if (!can_leave_memory_to(job, snapshot_.job(candidate))) continue;
    trial_.give(snapshot_.job(candidate).allocation, snapshot_.job(candidate).request);
    victims.push_back(candidate);
    gpus = place(trial_.free(), snapshot_.servers, job.request, job.request.gpus);
    if (gpus) break;
  }
  if (!gpus) {
    trial_.rewind(mark);
    return false;
  }
  make_way(victims, job, *gpus);
  start(index, std::move(*gpus));
  return true;
}

// Whether the next job has memory enough beside this one, once it stands still in the memory of its GPUs.
bool GandivaTurn::leaves_memory_if_frozen(const Job& next, const Job& victim) const {
  if (is_frozen(next) || !next.request.gpu_memory_bytes || !would_freeze(victim)) return true;
  if (has_tenants_besides(snapshot_, victim)) return false;  // they may be frozen too
  const ServerGpus& part = victim.allocation.parts().front();
  const std::int64_t both = *next.request.gpu_memory_bytes + memory_if_frozen(victim);
  return roomy(snapshot_.servers[part.server], part.gpus, both) == part.gpus &&
         both <= snapshot_.servers[part.server].description.gpu_memory_bytes.value_or(0);
}

bool GandivaTurn::can_leave_memory_to(const Job& next, const Job& victim) const {
  return victim.request.capability == Capability::checkpoint || leaves_memory_if_frozen(next, victim);
}

// What the frozen leave of their GPUs is for nobody in this turn: who fits beside them is known once they stand still.
void GandivaTurn::make_way(const std::vector<JobIndex>& victims, const Job& next, const Allocation& gpus) {
  for (const JobIndex victim : victims) {
    displace(victim, next);
    const Job& job = snapshot_.job(victim);
    if (would_freeze(job) && memory_if_frozen(job) > 0) trial_.take(difference(job.allocation, gpus));
  }
}

void GandivaTurn::displace(JobIndex index, const Job& next) {
  decided(index);
  displaced_.push_back(index);
  if (!leaves_memory_if_frozen(next, snapshot_.job(index))) unfreezable_.insert(index);
  if (!settings_.epoch_ring) suspend(index);
}

void GandivaTurn::suspend(JobIndex index) {
  unfreezable_.contains(index) ? plan_.preempt(index) : plan_.suspend(index);
}

}  // namespace sl
