// Run times for policies that need one for every job: the estimate if there is one, else what similar finished jobs
// took (policies.md 4.1): the mean of the same user and family, else of the same family and GPU count, else the median
// of all that succeeded, else a default.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/history_reader.h"

namespace sl {

class RunTimes {
 public:
  explicit RunTimes(Duration default_estimate = Duration::whole_seconds(300)) : default_(default_estimate) {}

  // The length of the whole run, and of what is left of it, on `gpus` GPUs (at least one). Never negative, never NaN,
  // at most a century.
  Duration total(const View& view, const Job& job, int gpus);
  Duration remaining(const View& view, const Job& job, int gpus);
  // For Policy::standing(): "about 4m 05s left on 2 GPUs, by its own estimate". Changes nothing.
  std::string standing(const View& view, const Job& job, int gpus) const;
  // Whether a figure was asked for that only history provides; such a figure changes whenever a job ends.
  bool has_guessed() const { return guessed_; }
  void reset();

 private:
  struct Mean {
    double sum_s = 0;
    std::int64_t count = 0;
    double value() const { return sum_s / static_cast<double>(count); }
  };
  using Means = boost::unordered_flat_map<std::uint64_t, Mean>;
  void forget();
  void add(const FinishedJob& job);
  struct Guess {
    double run_s;
    const char* from;  // completes "about 4m 05s left, "
  };
  Guess guess(const View& view, const Job& job);
  double guess_s(const View& view, const Job& job) {
    guessed_ = true;
    return guess(view, job).run_s;
  }
  static Duration bounded(double seconds);

  Duration default_;
  Means by_user_, by_width_;
  std::vector<double> sorted_s_;
  HistoryReader reader_;
  bool guessed_ = false;
};

}  // namespace sl
