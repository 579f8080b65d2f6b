// Run times for policies that need one for every job: what the estimates know, else what finished jobs like it took
// (policies.md 4.1): the mean of the same user and family, else of the same family and GPU count, else the median of
// all that succeeded, else a default.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "policy/history_reader.h"

namespace sl {

class RunTimes {
 public:
  explicit RunTimes(Duration default_estimate = Duration::whole_seconds(300)) : default_(default_estimate) {}

  // Takes in what has finished since the last call. Call before the others at every decision.
  void learn(const Snapshot& snapshot);
  // The whole run, and what is left of it, on `gpus` GPUs. Never negative, never NaN, at most a century.
  Duration total(const Snapshot& snapshot, const Job& job, int gpus);
  Duration remaining(const Snapshot& snapshot, const Job& job, int gpus);
  // What is left on one GPU; where the speed-up is unknown it counts as linear.
  Duration remaining_serial(const Snapshot& snapshot, const Job& job);
  // Whether a figure has been asked for that only history could give; it changes whenever a job ends.
  bool has_guessed() const { return guessed_; }
  void reset();

 private:
  struct Mean {
    double sum_s = 0;
    std::int64_t count = 0;
  };
  using Means = boost::unordered_flat_map<std::uint64_t, Mean>;
  void forget();
  void add(const FinishedJob& job);
  double guess_s(const Job& job);
  static Duration bounded(double seconds);

  Duration default_;
  Means by_user_, by_width_;
  std::vector<double> sorted_s_;
  HistoryReader reader_;
  bool guessed_ = false;
};

}  // namespace sl
