// A policy that forgets all it knows before every nth decision, as if it had just been chosen.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "policies/registry.h"
#include "policy/policy_wrapper.h"

namespace sl::test {

class Forgetful : public PolicyWrapper {
 public:
  Forgetful(const std::string& name, int every) : PolicyWrapper(fresh(name)), name_(name), every_(every) {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (++decisions_ % every_ == 0) {
      policy_ = fresh(name_);
      policy_->attach(snapshot);
    }
    policy_->decide(snapshot, plan);
  }

 private:
  static std::unique_ptr<Policy> fresh(const std::string& name) { return std::move(*make_policy(name)); }
  std::string name_;
  int every_;
  int decisions_ = 0;
};

}  // namespace sl::test
