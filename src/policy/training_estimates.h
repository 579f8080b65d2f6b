// How fast a job trains on other numbers of GPUs and how long it still will, for policies that fit what jobs tell: a
// speed model of its samples, the convergence of its loss. Else what the estimates and the history know (run_times.h).
#pragma once

#include "estimate/convergence.h"
#include "estimate/quadratic_utility.h"
#include "estimate/speed_model.h"
#include "policy/run_times.h"

namespace sl {

class TrainingEstimates {
 public:
  explicit TrainingEstimates(RunTimes& run_times) : run_times_(run_times) {}

  // Against one GPU. Where nothing is known: linear up to what it asks for, nothing beyond.
  double speedup(const Snapshot& snapshot, JobIndex index, int gpus);
  // Seconds left on one GPU: until the loss meets its target, where the job has one and its curve says when; never
  // negative, never NaN.
  double remaining_serial_s(const Snapshot& snapshot, JobIndex index);
  // Fewer than five epochs were seen: what rests on them counts a little less (Optimus).
  bool is_early(const Snapshot& snapshot, JobIndex index);
  // Progress a second, as a part of the whole training, on so many workers and the job's servers; unknown: not
  // measured.
  Figure utility(const Snapshot& snapshot, JobIndex index, int workers);

  static int servers_of(const Job& job);  // parameter servers it runs; 0: all-reduce

 private:
  struct Fit {  // of one job; made anew when it has told more
    JobId job;
    std::size_t samples = 0, epochs = 0;
    std::optional<SpeedModel> speed;
    std::optional<QuadraticUtility> utility;
    EpochsLeft left;
  };
  Fit& fit(const Snapshot& snapshot, JobIndex index);

  RunTimes& run_times_;
  IndexedVector<JobIndex, Fit> fits_;
};

}  // namespace sl
