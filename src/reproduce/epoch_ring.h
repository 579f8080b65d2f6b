// Gandiva's small version as the report states it (policies.md 8.2), a model of its own: the quantum is an epoch, the
// master keeps a ring of unfinished jobs, and a free worker takes the first that is not running. A job that was
// elsewhere before has its checkpoint fetched first.
#pragma once

#include <vector>

namespace sl::reproduce {

struct RingJob {
  int epochs = 1;
  double epoch_s = 1;
};

struct RingOutcome {
  std::vector<double> finished_s;  // of each job; all come at 0
  int fetches = 0;
};

RingOutcome run_epoch_ring(const std::vector<RingJob>& jobs, int workers, double fetch_s);

}  // namespace sl::reproduce
