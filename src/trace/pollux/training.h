// A training on its way, in whole seconds, by the rules of the simulator of Pollux's artifact (petuum/adaptdl, branch
// osdi21-artifact, simulator.py, Job): its progress per second is the number of steps times what a step of this batch is
// worth, by the noise of its gradient; at the end of an epoch the time is rounded to a second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/pollux/application.h"

namespace sl::trace {

class PolluxTraining {
 public:
  // A training of this name with this batch over all GPUs. Errors "semantics-trace": there is none, or the batch is none
  // that was measured.
  static Result<PolluxTraining> of(const std::string& application, int batch);

  // GPUs of each server from now on; empty: none. It first comes to itself for 30 s, also the first time. Error
  // "semantics-trace": its speed there was not measured.
  Status place(std::vector<int> gpus_by_server);
  // Lets `seconds` pass.
  void run(std::int64_t seconds);

  bool has_gpus() const { return gpus_ > 0; }
  // After how many seconds, counted from the first run(), it was done.
  std::optional<std::int64_t> done_after_s() const { return done_after_s_; }

  // Its length on servers of four GPUs that it has to itself, without the 30 s.
  static Result<std::int64_t> length_s(const std::string& application, int batch, int gpus);

 private:
  PolluxTraining(const PolluxApplication& application, std::string name, int batch)
      : application_(&application), name_(std::move(name)), batch_(batch) {}
  double progress_per_second() const;
  void choose_passes();

  const PolluxApplication* application_;
  std::string name_;
  int batch_ = 0;  // asked for
  int gpus_ = 0;
  int local_batch_ = 0;  // of one GPU in one pass
  int passes_ = 1;       // in a step
  StepTime time_;
  std::int64_t pause_s_ = 0;
  int epochs_done_ = 0;
  double progress_ = 0;
  std::int64_t passed_s_ = 0;
  std::optional<std::int64_t> done_after_s_;
};

}  // namespace sl::trace
