// On how many GPUs a job may run: the one rule, for policies and for the check of their plans. Any number from gpus_min
// to gpus_max; of a job that names the numbers (JobModel::gpu_counts_allowed), those alone.
#pragma once

#include <algorithm>

#include "model/job.h"

namespace sl {

// The largest of them that is at most `most`; 0: there is none.
inline int allowed_gpus(const JobRequest& request, int most) {
  int count = std::min(most, request.gpus_max);
  if (request.model && !request.model->gpu_counts_allowed.empty()) {
    const std::vector<int>& counts = request.model->gpu_counts_allowed;
    const auto above = std::upper_bound(counts.begin(), counts.end(), count);
    count = above == counts.begin() ? 0 : *(above - 1);
  }
  return count < request.gpus_min ? 0 : count;
}

// Whether the job may be asked for again with this range (one without GPUs stays one): both ends are numbers it names, if it names any, and its roles
// have members for them.
bool is_possible_range(const JobRequest& request, int least, int most);

inline bool may_run_on(const JobRequest& request, int gpus) {
  return (gpus > 0) == request.needs_gpus() && allowed_gpus(request, gpus) == gpus;
}

}  // namespace sl
