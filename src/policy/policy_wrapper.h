// A policy that passes everything on to another one: the base of policies that watch or change what another one does.
#pragma once

#include <memory>
#include <utility>

#include "policy/policy.h"

namespace sl {

class PolicyWrapper : public Policy {
 public:
  explicit PolicyWrapper(std::shared_ptr<Policy> policy) : policy_(std::move(policy)) {}
  void attach(const Snapshot& snapshot) override { policy_->attach(snapshot); }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    policy_->notice(snapshot, kind, job);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override { policy_->decide(snapshot, plan); }
  int gpus_least(const Job& job) const override { return policy_->gpus_least(job); }
  std::vector<JobIndex> queue_order(const View& view) const override { return policy_->queue_order(view); }
  std::vector<Reservation> reservations(const View& view) const override { return policy_->reservations(view); }
  std::string standing(const View& view, JobIndex job) const override { return policy_->standing(view, job); }
  std::optional<Error> failure() const override { return policy_->failure(); }

 protected:
  std::shared_ptr<Policy> policy_;
};

}  // namespace sl
