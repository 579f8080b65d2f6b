// Run times for policies that need one for every job: the estimate if there is one, else what finished jobs like it took
// (estimate/run_time_history.h), else a default.
#pragma once

#include <string>

#include "estimate/run_time_history.h"
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

  // What history provides is the same for all jobs of a kind.
  static RunTimeHistory::Kind kind_of(const Job& job);
  double guess_s(const View& view, const RunTimeHistory::Kind& kind);

 private:
  double guess_s(const View& view, const Job& job);
  std::optional<RunTimeHistory::Guess> guess(const View& view, const RunTimeHistory::Kind& kind);
  std::string origin(const View& view, const Job& job);
  static Duration bounded(double seconds);

  Duration default_;
  RunTimeHistory history_;
  HistoryReader reader_;
  bool guessed_ = false;
};

}  // namespace sl
