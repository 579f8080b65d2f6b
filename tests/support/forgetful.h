// A policy that forgets all it knows before every nth decision, as if it had just been chosen.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "policies/registry.h"

namespace sl::test {

class Forgetful : public Policy {
 public:
  Forgetful(std::string name, int every) : name_(std::move(name)), every_(every), policy_(fresh()) {}
  void attach(const Snapshot& snapshot) override { policy_->attach(snapshot); }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    policy_->notice(snapshot, kind, job);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (++decisions_ % every_ == 0) {
      policy_ = fresh();
      policy_->attach(snapshot);
    }
    policy_->decide(snapshot, plan);
  }

 private:
  std::unique_ptr<Policy> fresh() const { return std::move(*make_policy(name_)); }
  std::string name_;
  int every_;
  std::unique_ptr<Policy> policy_;
  int decisions_ = 0;
};

}  // namespace sl::test
