// What a scheduling policy is: a function from a snapshot to a plan. It never blocks, sleeps, reads a clock or keeps a
// fact that the snapshot does not hold. Private indexes are allowed: attach() builds them from any state, notice()
// updates them, and a policy attached late must decide like one that was there from the start (this gives hot swap,
// restart and what-if; a property test checks every policy). queue_order(), reservations() and standing() answer
// users' questions and may be called at any time: they change nothing, not even what a later decision does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameters.h"
#include "base/result.h"
#include "policy/needs.h"
#include "policy/plan.h"
#include "policy/snapshot.h"

namespace sl {

enum class NoticeKind : std::uint8_t {
  waiting,   // the job entered the queue: submitted, released, preempted, suspended, requeued
  active,    // it left the queue: it got GPUs, or it was suspended and is being ended; or it has stopped to start
             // again on the GPUs it was moving to
  running,   // its attempt runs (again): started, resumed, moved, resized
  stopping,  // it is giving up its GPUs: cancelled, out of time, or stopped or suspended for other jobs
  ended,     // it left the core: finished, cancelled, failed; or it is held. Its slot is still readable
  edited,    // its request changed while it waits or runs
};

// That many GPUs of one server.
struct ServerCount {
  ServerIndex server;
  int gpus = 0;
  friend bool operator==(const ServerCount&, const ServerCount&) = default;
};

// GPUs that a policy keeps for a waiting job. They may be busy until then.
struct Reservation {
  JobIndex job;
  Instant at;  // when the job starts if others end as expected
  std::vector<ServerCount> on;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void attach(const Snapshot& snapshot) = 0;
  virtual void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) = 0;
  virtual void decide(const Snapshot& snapshot, Plan& plan) = 0;
  // The least GPUs with which this policy would start the job, whatever the servers. A job that no server that is up
  // could run on that many is not among the snapshot's jobs until one can (core/line_gate.h).
  virtual int gpus_least(const Job& job) const { return job.request.gpus; }
  // The waiting jobs in the order in which the policy would serve them now. Default: the order of submission.
  virtual std::vector<JobIndex> queue_order(const View& view) const;
  // The GPUs the policy keeps for waiting jobs, if it plans ahead.
  virtual std::vector<Reservation> reservations(const View&) const { return {}; }
  // How the policy ranks an unfinished job, in a few words for its user ("queue 2 of 3"). Empty: nothing to say.
  virtual std::string standing(const View&, JobIndex) const { return {}; }
  // Why this policy cannot continue: it decides nothing any more and must be replaced. Built-in policies never fail;
  // users' own policies run in a process that may die.
  virtual std::optional<Error> failure() const { return std::nullopt; }
};

// ---- How a policy describes itself, and its parameters ----

struct PolicyInfo {
  std::string name;  // snake_case
  std::string title;
  std::string summary;  // one sentence
  std::string good_for;
  std::string weak_for;
  // Where it places a job: completes "job 5 runs on gpu3, ".
  std::string placement = "the server with the fewest free GPUs that suffice";
  std::vector<Need> needs;  // facts it needs to work well, and what it does without them
  std::vector<std::string> aliases;
  std::vector<ParameterInfo> parameters;
  bool preemptive = false;
  bool elastic = false;
  bool work_conserving = false;  // with its default parameters never leaves a GPU idle that a waiting job could take
};

// The values of a policy's parameters, checked against its info.
Result<Parameters> parse_parameters(const PolicyInfo& info, const GivenParameters& given);

using PolicyFactory = std::function<std::unique_ptr<Policy>(const Parameters&)>;

struct PolicyEntry {
  PolicyInfo info;
  PolicyFactory make;
};

// Reads a policy that a user wrote. `name` is the name of its file. Errors name the line.
using PolicyLoader = std::function<Result<PolicyEntry>(const std::string& name, const std::string& source)>;

// A policy ready to decide, and its description.
struct MadePolicy {
  PolicyInfo info;
  std::unique_ptr<Policy> policy;
};
// Makes a policy from source that a user wrote. This may take seconds. The policy must not outlive the thread that made
// it.
using OwnPolicyMaker =
    std::function<Result<MadePolicy>(const std::string& name, const std::string& source, const GivenParameters& given)>;

}  // namespace sl
