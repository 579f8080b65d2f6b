// When the policy is asked: events and the instants it named itself wake it, and it is asked once all events of an
// instant are in, at most once per `interval_min`.
#pragma once

#include <memory>

#include "policy/policy.h"

namespace sl {

class PolicyCaller {
 public:
  explicit PolicyCaller(Duration interval_min) : interval_min_(interval_min) {}

  void set(std::unique_ptr<Policy> policy, const Snapshot& snapshot);
  Policy* get() const { return policy_.get(); }  // null before the first
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) {
    if (policy_) policy_->notice(snapshot, kind, job);
  }

  // Ask it in this instant. The first reason counts.
  void wake(Trigger trigger) {
    if (!is_woken_) trigger_ = trigger;
    is_woken_ = true;
  }
  Trigger trigger() const { return trigger_; }
  // When it is to be asked next even without an event; never() if it is not.
  Instant next_wake(Instant now) const;
  // Asks it, if it has been woken and the interval has passed. Null: it was not asked.
  const Plan* ask(Snapshot& snapshot);

 private:
  Duration interval_min_;
  std::unique_ptr<Policy> policy_;
  Plan plan_;
  bool is_woken_ = false;
  Trigger trigger_ = Trigger::arrival;
  Instant wanted_at_ = Instant::never();  // requested by the policy itself
  Instant last_;
};

}  // namespace sl
