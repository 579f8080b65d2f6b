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
  if (is_frozen(job)) return slice_on(index, job, job.last_server);
  ServerIndex last;
  for (auto at = ripe_.begin(); at != ripe_.end(); ++at) {
    const ServerIndex server = snapshot_.job(std::get<JobIndex>(*at)).allocation.parts().front().server;
    if (server == last) continue;
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
    trial_.give(snapshot_.job(there[i]).allocation, snapshot_.job(there[i]).request);
    victims.push_back(there[i]);
    gpus = place_there(job, server);
  }
  if (!gpus) {
    trial_.rewind(mark);
    return false;
  }
  spare_unneeded(job, server, victims, *gpus);
  for (const JobIndex victim : victims) displace(victim);
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
    trial_.give(snapshot_.job(candidate).allocation, snapshot_.job(candidate).request);
    victims.push_back(candidate);
    gpus = place(trial_.free(), snapshot_.servers, job.request, job.request.gpus);
    if (gpus) break;
  }
  if (!gpus) {
    trial_.rewind(mark);
    return false;
  }
  for (const JobIndex victim : victims) displace(victim);
  start(index, std::move(*gpus));
  return true;
}

void GandivaTurn::displace(JobIndex index) {
  decided(index);
  displaced_.push_back(index);
  if (!settings_.epoch_ring) plan_.suspend(index);
}

}  // namespace sl
