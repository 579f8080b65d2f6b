// Jobs grow into GPUs that no other job wants, and give them back as soon as one does.
#include <algorithm>

#include "policies/packing/gandiva_turn.h"
#include "policy/placer.h"

namespace sl {

bool GandivaTurn::start_by_shrinking(JobIndex index, const Job& job) {
  for (const JobIndex big_index : grown_) {
    const Job& big = snapshot_.job(big_index);
    const std::size_t mark = trial_.mark();
    Allocation kept;
    int left = big.request.gpus;
    for (const ServerGpus& part : big.allocation.parts()) {
      const int here = std::min(left, part.gpus.count());
      if (here > 0) kept.append(part.server, part.gpus.lowest(here));
      left -= here;
    }
    trial_.give(difference(big.allocation, kept));
    auto gpus = place(trial_.free(), snapshot_.servers, job.request, job.request.gpus);
    if (!gpus) {
      trial_.rewind(mark);
      continue;
    }
    plan_.resize(big_index, std::move(kept));
    decided(big_index);
    start(index, std::move(*gpus));
    return true;
  }
  return false;
}

void GandivaTurn::grow() {
  for (const JobIndex index : to_grow()) {
    const Job& job = snapshot_.job(index);
    if (!may_stay_on(snapshot_, job, job.allocation)) continue;
    Allocation gpus =
        grown_in_place(trial_.free(), snapshot_.servers, job.request, job.allocation, job.request.gpus_max);
    if (gpus.count() == job.allocation.count()) continue;
    trial_.take_more(job.allocation, gpus, job.request);
    plan_.resize(index, std::move(gpus));
  }
}

// Jobs that have run for long enough to grow, in order of submission.
std::vector<JobIndex> GandivaTurn::to_grow() {
  std::vector<JobIndex> elastic;
  for (const JobIndex index : snapshot_.active) {
    const Job& job = snapshot_.job(index);
    if (job.allocation.count() >= job.request.gpus_max || !job.request.preemptible ||
        job.request.capability != Capability::checkpoint || job.allocation.parts().size() != 1 ||
        changed_.contains(index))
      continue;
    const bool runs = job.state == JobState::running;
    const Instant ripe = (runs ? job.last_start : snapshot_.now) + settings_.grow_idle;
    if (ripe > snapshot_.now) look_again_at(ripe);
    if (runs && ripe <= snapshot_.now && !has_tenants_besides(snapshot_, job)) elastic.push_back(index);
  }
  std::sort(elastic.begin(), elastic.end(),
            [&](JobIndex a, JobIndex b) { return submitted_before(snapshot_.job(a), snapshot_.job(b)); });
  return elastic;
}

}  // namespace sl
