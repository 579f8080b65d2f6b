// What a scheduling policy is: a function from a snapshot to a plan. It never blocks, sleeps, reads a clock or keeps a
// fact that the snapshot does not hold. Private indexes are allowed: attach() builds them from any state, notice()
// keeps them up, and a policy attached late must decide as one that was there from the start (that is hot swap, restart
// and what-if at once; a property test holds every policy to it).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/needs.h"
#include "policy/plan.h"
#include "policy/snapshot.h"

namespace sl {

enum class NoticeKind : std::uint8_t {
  waiting,   // the job entered the queue: submitted, released, preempted, suspended, requeued
  active,    // it left the queue: it got GPUs, or it was suspended and is being ended
  running,   // its attempt runs (again): started, resumed, moved, resized
  stopping,  // it is on its way out of its GPUs: cancelled, out of time, stopped or suspended for others
  ended,     // it left the core: finished, cancelled, failed; or it is held. Its slot is still readable
  edited,    // its request changed while it waits or runs
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void attach(const Snapshot& snapshot) = 0;
  virtual void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) = 0;
  virtual void decide(const Snapshot& snapshot, Plan& plan) = 0;
  // Why this waiting job waits; called when a user asks, not at every decision. Code `none`: the core works it out.
  virtual Reason explain(const Snapshot&, JobIndex) const { return {}; }
  // Jobs that are served before this one, if the policy has an order; for "position in line".
  virtual std::vector<JobIndex> queue_order(const Snapshot& snapshot) const;
  // Why this policy cannot go on; it decides nothing any more, and who set it puts another in its place. Built-in ones
  // always can; those of users run in a process that may die.
  virtual std::optional<Error> failure() const { return std::nullopt; }
};

// ---- What a policy says of itself, and its parameters ----

enum class ParameterType : std::uint8_t { number, integer, boolean, choice };

struct ParameterInfo {
  std::string name;
  ParameterType type = ParameterType::number;
  std::string unit;
  std::string default_value;
  double min = 0;
  double max = 0;  // min == max: unbounded
  std::vector<std::string> choices;
  std::string help;
};

struct PolicyInfo {
  std::string name;  // snake_case
  std::string title;
  std::string summary;  // one sentence
  std::string good_for;
  std::string weak_for;
  std::vector<Need> needs;  // facts it cannot do well without, and what it does without them
  std::vector<std::string> aliases;
  std::vector<ParameterInfo> parameters;
  bool preemptive = false;
  bool elastic = false;
  bool work_conserving = false;  // never leaves a GPU idle that a waiting job could take
};

// By its name however it is spelled (case, `_`, `-`); nullptr when the policy has no such parameter.
const ParameterInfo* find_parameter(const PolicyInfo& info, std::string_view name);

using GivenParameters = std::vector<std::pair<std::string, std::string>>;  // name, value as it was typed

// Values of parameters by name; absent ones have their default. Checked against the info before a policy is made.
class Parameters {
 public:
  Parameters() = default;
  static Result<Parameters> parse(const PolicyInfo& info, const GivenParameters& given);

  double number(std::string_view name) const;
  int integer(std::string_view name) const { return static_cast<int>(number(name)); }
  bool boolean(std::string_view name) const { return text(name) == "true"; }
  const std::string& text(std::string_view name) const;
  const GivenParameters& all() const { return values_; }

 private:
  GivenParameters values_;  // every parameter of the info, in its order
};

using PolicyFactory = std::function<std::unique_ptr<Policy>(const Parameters&)>;

struct PolicyEntry {
  PolicyInfo info;
  PolicyFactory make;
};

// What a text that a user wrote is as a policy. `name` is that of the file. Errors tell the line.
using PolicyLoader = std::function<Result<PolicyEntry>(const std::string& name, const std::string& source)>;

// A policy ready to decide, and what it says of itself.
struct MadePolicy {
  PolicyInfo info;
  std::unique_ptr<Policy> policy;
};
// Makes one of a text that a user wrote. It may take seconds, and it lives no longer than the thread that made it.
using OwnPolicyMaker =
    std::function<Result<MadePolicy>(const std::string& name, const std::string& source, const GivenParameters& given)>;

}  // namespace sl
