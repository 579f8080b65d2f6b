// The controller as a state machine: requests, agents' messages, commits and time go in; answers, orders and commits
// come out. It owns the core and everything about jobs. One thread calls it; it never blocks, sleeps or reads a clock.
//
//   on_…(…)   one input
//   turn(now) once the inputs at hand are in: decide, record, send
//
// Rules of order: an answer that promises something is sent after the promise is durable; so is every order to an
// agent.
#pragma once

#include <boost/json/object.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/agents.h"
#include "controller/job_book.h"
#include "controller/logs.h"
#include "controller/recorder.h"
#include "controller/turn_times.h"
#include "engine/engine.h"
#include "net/http_server.h"
#include "policies/registry.h"

namespace sl::controller {

struct LogicSettings {
  std::string version = "0.1.0";
  std::string policy = "fifo";        // when the store knows none
  double lease_s = 30;                // how long an agent's attempts may count on a contact
  std::size_t queue_max = 1'000'000;  // unfinished jobs accepted
};

struct PolicyChange {
  std::string name;
  GivenParameters parameters = {};
  std::string source = {};  // of a user's own policy; empty: a built-in one
};
// A policy that could not go on, and was replaced.
struct PolicyFailure {
  std::string name, text;
  std::int64_t at_us = 0;
};

// Told of every input that may decide anything, before it takes effect.
class Tape {
 public:
  virtual ~Tape() = default;
  virtual void input(Instant at, std::string_view kind, boost::json::object data) = 0;
};

class Logic : private Fleet {
 public:
  Logic(LogicSettings settings, Outside& outside, const store::Loaded& loaded, Instant now);

  // `tape` hears of all inputs from now on and must outlive this.
  void record_to(Tape& tape) { tape_ = &tape; }

  // ---- inputs ----
  void on_agent_message(SessionId session, const wire::AgentMessage& message, Instant now);
  void on_agent_closed(SessionId session, Instant now);
  void on_committed(const Status& status, Instant now);
  void on_policy_made(Result<MadePolicy> made, Instant now);  // the first of those that Outside was asked to make
  void turn(Instant now);
  // When turn() wants to be called though nothing comes in.
  Instant next_wake() const;

  // ---- what the routes call (api.cpp) ----
  using Done = std::function<void(Result<JobId>)>;
  struct Submission {
    wire::JobSpec spec;
    std::string idempotency_key;  // empty: none
    std::string body_hash;
  };
  // `done` is called once the job is durable, or at once with why not. A key seen before gives the job it made.
  void submit(Submission submission, Instant now, Done done);
  // What submit would say, without doing it.
  Status check(const wire::JobSpec& spec) const;
  // An admin's word that a server will not come back: what ran there goes back to the queue.
  void declare_lost(const std::string& server, const std::string& by, Instant now,
                    std::function<void(const Status&)> done);
  void cancel(JobId job, const std::string& by, Instant now, Done done);
  using Told = std::function<void(const Status&)>;
  // Takes effect at once, a user's own policy when it has been made; `done` is called when it is durable. One that a
  // change asked for later has overtaken has no effect ("policy-overtaken").
  void set_policy(PolicyChange change, const std::string& by, Instant now, Told done);
  // Back to the policy before the one in force, with its parameters. That is a change like any other: undone again, it
  // comes back.
  void undo_policy(const std::string& by, Instant now, Told done);

  const Core& core() const { return core_; }
  const JobBook& book() const { return book_; }
  const Agents& agents() const { return agents_; }
  const Recorder& recorder() const { return recorder_; }
  Recorder& recorder() { return recorder_; }
  Logs& logs() { return logs_; }
  const store::PolicyRow& policy() const { return policy_history_.back(); }
  const PolicyInfo& policy_info() const { return policy_info_; }  // of the one in force
  // Since somebody last chose a policy.
  const std::optional<PolicyFailure>& policy_failure() const { return policy_failure_; }
  // Oldest first, the one in force last; the latest hundred.
  const std::deque<store::PolicyRow>& policy_history() const { return policy_history_; }
  // Until when the last change may be undone; never() when there is none to undo.
  Instant undo_until() const;
  const LogicSettings& settings() const { return settings_; }
  Instant started() const { return started_; }
  const TurnTimes& turn_times() const { return turn_times_; }
  TurnTimes& turn_times() { return turn_times_; }  // measured by who calls turn()

 private:
  // ---- Fleet ----
  void carry_out(const Core& core, std::vector<Command>& commands) override;
  void order_start(JobEntry& entry, const Job& job);
  void order_stop(JobEntry& entry, const Job& job);

  // One function per message.
  void on(SessionId session, const wire::Hello& hello, Instant now);
  void on(SessionId session, const wire::AttemptChanged& changed, Instant now);
  void on(SessionId session, const wire::Progress& progress, Instant now);
  void on(SessionId session, const wire::Telemetry& telemetry, Instant now);
  void on(SessionId session, const wire::LogChunk& chunk, Instant now);
  void on(SessionId session, const wire::Ping& ping, Instant now);

  // What an agent reports of one attempt. Returns whether it is one of ours at all.
  bool apply_report(const std::string& server, const wire::AttemptReport& report, Instant now);
  void apply_exit(JobEntry& entry, const Job& job, const wire::AttemptReport& report, Instant now);
  void reconcile(Agent& agent, Instant now);
  void requeue_missing(Agent& agent, Instant now);
  template <typename Order>
  void give_order(Agent& agent, Order order);
  bool is_next(Agent& agent, SessionId session, std::int64_t seq, Instant now);
  void drop_session(SessionId session, const std::string& why, Instant now);
  void end_session(SessionId session, Instant now);
  Status admit_newcomer(const wire::Hello& hello) const;
  void check_leases(Instant now);
  void end_lease(const std::string& server, Instant now);
  void repeat_order(JobId id, int attempt, JobState state);
  void stop_stranger(Agent& agent, const wire::AttemptReport& report);
  void forget_when_durable(const std::string& server, const wire::AttemptReport& report);
  void refuse_unwritten(JobId job, Instant now);
  void restore(const store::Loaded& loaded, Instant now);
  void restore_policy(const store::Loaded& loaded, Instant now);

  // A user's own policy that is being made, and what for.
  struct PolicyOrder {
    enum class Purpose { asked, fresh, replacement } purpose;
    PolicyChange change;
    std::int64_t number;  // `asked`: of the change; else of the policy in force
    std::string by = "schedulearn";
    Told done = {};                     // `asked`
    std::optional<Error> failure = {};  // `replacement`: why the policy in force is given up
  };
  void make_own(PolicyOrder order);
  void change_policy(PolicyOrder order, MadePolicy made, Instant now);
  void replace_policy(const Error& failure, const PolicyChange& change, MadePolicy made, Instant now);
  void adopt(store::PolicyRow row, MadePolicy made, Instant now);
  // These tell whether another policy is in force now.
  bool replace_failed_policy(Instant now);
  bool on_policy_fault(const Error& fault, Instant now);
  bool give_up_policy(const Error& failure, Instant now);

  void restore_unfinished(const store::JobRow& row, Instant now);
  void expire_keys(Instant now);

  LogicSettings settings_;
  Outside& outside_;
  Tape* tape_ = nullptr;  // null: nobody records
  RequestEstimates estimates_;
  Core core_;
  JobBook book_;
  Agents agents_;
  Recorder recorder_;
  Engine engine_;
  Logs logs_;
  std::deque<store::PolicyRow> policy_history_;
  PolicyInfo policy_info_;
  std::optional<PolicyFailure> policy_failure_;
  std::set<std::string> failed_sources_;  // since then too
  std::deque<Instant> policy_faults_;     // of the one in force, the latest
  std::deque<PolicyOrder> policy_orders_;
  std::int64_t policies_asked_ = 0;  // changes of policy are numbered as they are asked for
  std::int64_t policy_number_ = 0;   // of the one in force
  std::int64_t next_job_ = 1;
  Instant started_;
  TurnTimes turn_times_;
  Instant committed_at_;  // when the last commit ended: the time of what waits for it
  Instant next_lease_check_;

  struct Key {
    std::string body_hash;
    JobId job;
    Instant at;
    bool durable = false;
  };
  std::map<std::string, Key> keys_;
};

}  // namespace sl::controller
