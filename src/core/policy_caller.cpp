#include "core/policy_caller.h"

#include <algorithm>

namespace sl {

void PolicyCaller::set(std::unique_ptr<Policy> policy, const Snapshot& snapshot) {
  policy_ = std::move(policy);
  wanted_at_ = Instant::never();
  policy_->attach(snapshot);
  wake(Trigger::policy);
}

Instant PolicyCaller::next_wake(Instant now) const {
  if (!is_woken_ || !policy_) return wanted_at_;
  return last_.happened() ? last_ + interval_min_ : now;
}

const Plan* PolicyCaller::ask(Snapshot& snapshot) {
  if (snapshot.now >= wanted_at_) wake(Trigger::timer);
  if (!is_woken_ || !policy_) return nullptr;
  if (last_.happened() && snapshot.now < last_ + interval_min_) return nullptr;
  is_woken_ = false;
  wanted_at_ = Instant::never();
  last_ = snapshot.now;
  snapshot.trigger = trigger_;
  plan_.clear();
  policy_->decide(snapshot, plan_);
  for (const Instant at : plan_.wakes()) {
    if (at > snapshot.now) wanted_at_ = std::min(wanted_at_, at);
  }
  return &plan_;
}

}  // namespace sl
