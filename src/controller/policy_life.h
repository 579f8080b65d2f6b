// The current policy and earlier ones: switching, now or at a time, undoing, restoring all of it after a restart, and what
// happens when a user's own policy fails.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "controller/recorder.h"
#include "policies/registry.h"

namespace sl::controller {

struct PolicyChange {
  std::string name;
  GivenParameters parameters = {};
  std::string source = {};  // of a user's own policy; empty: a built-in one
  std::string reason = {};  // why, for the history; empty: a user chose it
};
// A change that takes effect later.
struct PlannedChange {
  PolicyChange change;
  std::string by;
  Instant at, planned;
};
// A policy that failed and was replaced.
struct PolicyFailure {
  std::string name, code, text;
  std::int64_t at_us = 0;
};

class PolicyLife {
 public:
  // `fallback`: the policy of a new installation, and the last resort.
  PolicyLife(std::string fallback, Core& core, Recorder& recorder, Engine& engine, Outside& outside)
      : fallback_(std::move(fallback)), core_(core), recorder_(recorder), engine_(engine), outside_(outside) {}

  // Call once the core knows servers and jobs.
  void restore(const store::Loaded& loaded, Instant now);

  using Told = std::function<void(const Status&)>;
  // Takes effect at once, or, for a user's own policy, when it has been made; `done` is called when it is durable. A
  // change that a later one has overtaken has no effect ("policy-overtaken").
  void set(PolicyChange change, const std::string& by, Instant now, Told done);
  // Whether the change would change nothing: the same policy with the same values of all parameters is current, and no
  // other has been requested. set() then makes no entry.
  bool is_in_force(const PolicyChange& change) const;
  // The change back to the previous policy with its parameters. It is a change like any other: undoing it again brings
  // the current policy back. Errors: "nothing-to-undo", "undo-too-late".
  Result<PolicyChange> undo(Instant now) const;
  // Until when the last change may be undone; never() if there is none to undo.
  Instant undo_until() const;

  // Takes effect at `at`, or when the controller is back after it, instead of what was planned before. Kept in the store;
  // `done` is called when it is durable. A user's own policy is made once, to see that it can be. What is chosen in the
  // meantime changes nothing about it. Errors: those of set(); "bad-time".
  void plan(PolicyChange change, Instant at, const std::string& by, Instant now, Told done);
  // Error "nothing-planned".
  void call_off(const std::string& by, Instant now, Told done);
  const std::optional<PlannedChange>& planned() const { return planned_; }
  // Makes the change whose time has come. Called before each decision.
  void carry_out_plan(Instant now);
  Instant next_plan() const;  // when that wants to be called; never: nothing is planned, or the store refuses

  // For the first of the policies that Outside was asked to make.
  void on_made(Result<MadePolicy> made, Instant now);
  // Call after a decision. Whether another policy is current now and must decide instead.
  bool replace_failed(Instant now);

  const store::PolicyRow& in_force() const { return history_.back(); }
  PolicyChange change_in_force() const;  // with its parameters, as they were given
  // What the policy in force replaced when it was chosen: changes that the policy `auto` made by itself do not count. Null:
  // nothing.
  const store::PolicyRow* previous() const { return chosen() > 0 ? &history_[chosen() - 1] : nullptr; }
  const PolicyInfo& info() const { return info_; }  // of the current policy
  // Since a user last chose a policy.
  const std::optional<PolicyFailure>& failure() const { return failure_; }
  // Oldest first, the current one last; the latest hundred.
  const std::deque<store::PolicyRow>& history() const { return history_; }

 private:
  // A user's own policy that is being made, and the purpose.
  struct MakeOrder {
    enum class Purpose { asked, fresh, replacement, planned } purpose;
    PolicyChange change;
    std::int64_t number;  // `asked`: of the change; else of the current policy
    std::string by = "schedulearn";
    Told done = {};                     // `asked`, `planned`
    Instant at = {};                    // `planned`
    std::optional<Error> failure = {};  // `replacement`: why the current policy is replaced
  };
  void make_own(MakeOrder order);
  void change_to(MakeOrder order, MadePolicy made, Instant now);
  void restore_plan(const std::string& kept);
  void keep_plan(MakeOrder order, const PolicyInfo& info, Instant now);
  void replace(const Error& failure, const PolicyChange& change, MadePolicy made, Instant now);
  void adopt(store::PolicyRow row, MadePolicy made, Instant now);
  std::size_t chosen() const;  // position in history_ of the latest choice
  // These return whether another policy is current now.
  bool on_fault(const Error& fault, Instant now);
  bool give_up(const Error& failure, Instant now);

  std::string fallback_;
  Core& core_;
  Recorder& recorder_;
  Engine& engine_;
  Outside& outside_;
  std::deque<store::PolicyRow> history_;
  PolicyInfo info_;
  std::optional<PolicyFailure> failure_;
  std::optional<PlannedChange> planned_;
  std::set<std::string> failed_sources_;  // also since then
  std::deque<Instant> faults_;            // of the current policy, the latest
  std::deque<MakeOrder> make_orders_;
  std::int64_t asked_ = 0;   // changes are numbered in the order of their requests
  std::int64_t number_ = 0;  // of the current policy
};

}  // namespace sl::controller
