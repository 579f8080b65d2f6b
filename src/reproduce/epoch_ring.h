// The report's small version of Gandiva (policies.md 8.2), as a separate model: the quantum is an epoch, the master
// keeps a ring of unfinished jobs, and a free worker takes the first that is not running. If the job last ran on
// another worker, its checkpoint is fetched first.
#pragma once

#include <vector>

namespace sl::reproduce {

struct RingJob {
  int epochs = 1;
  double epoch_s = 1;
};

struct RingOutcome {
  std::vector<double> finished_s;  // by job; all arrive at 0
  int fetches = 0;
};

RingOutcome run_epoch_ring(const std::vector<RingJob>& jobs, int workers, double fetch_s);

}  // namespace sl::reproduce
