#include "core/awaited.h"

namespace sl {

void Awaited::add(const JobRequest& request) {
  if (!request.prerequisites) return;
  for (const auto* jobs : {&request.prerequisites->after, &request.prerequisites->after_any}) {
    for (const JobId job : *jobs) dependents_[job].insert(request.id);
  }
  if (request.prerequisites->not_before.happened()) times_.insert({request.prerequisites->not_before, request.id});
}

std::vector<JobId> Awaited::between(JobId first, JobId end) const {
  std::vector<JobId> jobs;
  for (auto at = dependents_.lower_bound(first); at != dependents_.end() && at->first < end; ++at)
    jobs.push_back(at->first);
  return jobs;
}

std::vector<JobId> Awaited::take_dependents(JobId job) {
  const auto node = dependents_.extract(job);
  if (node.empty()) return {};
  return {node.mapped().begin(), node.mapped().end()};
}

std::vector<JobId> Awaited::take_due(Instant now) {
  std::vector<JobId> due;
  for (; next_due() <= now && !times_.empty(); times_.erase(times_.begin())) due.push_back(times_.begin()->second);
  return due;
}

}  // namespace sl
