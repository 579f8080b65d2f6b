// How fast a job trains on other numbers of GPUs and how long it still needs, for policies that fit models to jobs'
// reports: a speed model of its samples, and the fall of its loss. Without reports, run_times.h answers.
//
// Epochs left, the first of these that is known:
//   with a target loss                what the losses predict (estimate/epochs_left.h); with a number of epochs, only
//                                     if the confidence is more than low
//   with a number of epochs           those it has not reported yet
//   with an estimate of its run time  none are counted: the estimate is used
//   else                              until the loss hardly falls any more
#pragma once

#include "estimate/epochs_left.h"
#include "estimate/losses.h"
#include "estimate/quadratic_utility.h"
#include "estimate/speed_model.h"
#include "policy/run_times.h"

namespace sl {

class TrainingEstimates {
 public:
  explicit TrainingEstimates(RunTimes& run_times) : run_times_(run_times) {}

  // Speed relative to one GPU: by the speeds the job reports, else by its speed curve. A job without any measurement
  // gains nothing from more GPUs than it asks for (policies.md 10.3).
  double speedup(const View& view, JobIndex index, int gpus);
  // Seconds left on one GPU: the epochs left times the time of an epoch there; never negative, never NaN.
  double remaining_serial_s(const View& view, JobIndex index);
  // Time left for a running job on the GPUs it has.
  Duration time_left(const View& view, JobIndex index);
  // The time left is predicted from fewer than five epochs and counts a little less (Optimus).
  bool is_early(const View& view, JobIndex index);
  // The loss has met the job's target in three consecutive epochs: more GPUs gain nothing (Coach's rule for the end).
  bool has_met_target(const View& view, JobIndex index);
  // Progress per second on that many GPUs, as a fraction of the whole training: by the quadratic utility fitted to
  // speeds on three or more numbers of workers (two cannot tell its square from its linear term; beyond the largest
  // measured number it stays constant), else by speedup and length.
  double progress_per_s(const View& view, JobIndex index, int gpus);

  // For Policy::standing(): "about 10m 00s left on 2 GPUs, by the epochs it reported; one more GPU would save 2m 30s".
  static std::string standing(const View& view, JobIndex index, int gpus, RunTimes run_times);

  static int servers_of(const Job& job);  // parameter servers it runs; 0: all-reduce

 private:
  struct Fit {  // of one job; fitted again when it has reported more
    JobId job;
    std::size_t samples = 0, epochs = 0;
    std::size_t fitted_epochs = 0;  // how many `left` was predicted from
    bool met_target = false;
    std::optional<SpeedModel> speed;
    std::optional<QuadraticUtility> utility;
    int utility_workers_max = 0;  // the most it was measured on
    EpochsLeft left;
  };
  Fit& fit(const View& view, JobIndex index);
  static void fit_speeds(const Job& job, Fit& fit);
  static void fit_losses(const View& view, const Job& job, Fit& fit);
  static Figure epochs_left_of(const Job& job, const Fit& fit);
  double epoch_serial_s(const View& view, JobIndex index);
  double whole_serial_s(const View& view, JobIndex index);

  RunTimes& run_times_;
  IndexedVector<JobIndex, Fit> fits_;
};

}  // namespace sl
