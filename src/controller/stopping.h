// How the jobs of some servers end when the program that runs these servers ends (`up`):
//
//   A job that can save its state (checkpoint.dir), and one that has not started yet, is stopped as if the policy had
//   preempted it, and goes back to the queue. Any other job is cancelled, and its reason says why.
//
// From then on nothing starts anywhere. What is decided here is durable before a job is signalled: if the program dies
// in the middle, the next one carries it out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/recorder.h"
#include "controller/stop_plan.h"

namespace sl::controller {

class Stopping {
 public:
  Stopping(const Core& core, JobBook& book, Recorder& recorder, Engine& engine)
      : core_(core), book_(book), recorder_(recorder), engine_(engine) {}

  // `done` is called once no job holds GPUs on these servers and that is durable, or cannot be written (the disk is full):
  // then it is learnt from the agents when the controller starts again. To be called once.
  StopPlan begin(std::vector<std::string> servers, const std::string& why, Instant now,
                 std::function<void(const Status&)> done);
  // Before each decision: drains servers, also those that have joined in the meantime.
  void drain(Instant now);
  // After each decision.
  void look();
  bool has_begun() const { return is_stopping_; }

 private:
  bool must_end(const Job& job) const;
  StopReason stop(JobEntry& entry, const Job& job, const std::string& why, Instant now);

  const Core& core_;
  JobBook& book_;
  Recorder& recorder_;
  Engine& engine_;
  bool is_stopping_ = false;
  std::vector<std::string> servers_;
  std::function<void(const Status&)> done_;  // null once all have ended
};

}  // namespace sl::controller
