// The controller as a state machine: requests, agents' messages, commits and time go in; answers, orders and commits
// come out. One thread calls it; it never blocks, sleeps or reads a clock.
//
//   on_…(…)   one input
//   turn(now) once the inputs at hand are in: decide, record, send
//
// Rules of order: an answer that promises something is sent after the promise is durable; the same holds for every
// order to an agent.
//
// It consists of rooms with one task each and connects them; every input passes through here, so that a tape can record
// it:
//
//   submissions.h       submitting, cancelling, changing jobs; idempotency keys
//   interventions.h     what users do to jobs that wait or run: suspend, resume, migrate, scale
//   sessions.h          who speaks for a server, missing reports, leases
//   reconciler.h        what agents report of attempts, and agreeing with them again
//   orders.h            what agents are told to do
//   checkpoints.h       where the newest checkpoint of each job is, and bringing it to where the job starts
//   images.h            the images of jobs in containers
//   strangers.h         attempts that run and should not
//   server_health.h     servers that fail jobs
//   drains.h            servers that an admin has taken out of service
//   progress_reports.h  what running jobs and their GPUs tell
//   policy_life.h       the policy in force, its past, its failures
//   stopping.h          how jobs end when the program ends that runs their servers
//   restart.h           what the database knew
//   recorder.h          durability
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "controller/images.h"
#include "controller/interventions.h"
#include "controller/policy_life.h"
#include "controller/sessions.h"
#include "controller/stopping.h"
#include "controller/submissions.h"
#include "controller/turn_times.h"

namespace sl::controller {

class Outlook;  // outlook.h

struct LogicSettings {
  std::string version = "0.1.0";
  std::string policy = "fifo";                          // if the store knows none
  double lease_s = 30;                                  // how long an agent's attempts may rely on a contact
  std::size_t queue_max = 1'000'000;                    // unfinished jobs accepted
  std::size_t user_bytes_max = std::size_t{512} << 20;  // of what the unfinished jobs of one user were submitted with
};

// Receives every input that may decide anything, before it takes effect.
class Tape {
 public:
  virtual ~Tape() = default;
  virtual void input(Instant at, std::string_view kind, boost::json::object data) = 0;
};

class Logic {
 public:
  Logic(LogicSettings settings, Outside& outside, const store::Loaded& loaded, Instant now);

  // From now on `tape` receives all inputs; it must outlive this object.
  void record_to(Tape& tape) { tape_ = &tape; }

  // ---- inputs ----
  void on_agent_message(SessionId session, const wire::AgentMessage& message, Instant now);
  void on_agent_closed(SessionId session, Instant now);
  void on_committed(const Status& status, Instant now);
  void on_policy_made(Result<MadePolicy> made, Instant now);  // for the first of those that Outside was asked to make
  void turn(Instant now);
  // When turn() wants to be called even without an input.
  Instant next_wake() const;

  // ---- what the routes call (api.cpp): see submissions.h, sessions.h, policy_life.h ----
  using Submission = controller::Submission;
  using Done = Submissions::Done;
  using Told = std::function<void(const Status&)>;
  void submit(Submission submission, Instant now, Done done);
  Status check(const wire::JobSpec& spec, const PastStates& past = {}) const { return submissions_.check(spec, past); }
  Status check(const Submission& submission, std::size_t others) { return submissions_.check(submission, others); }
  JobRequest request_of(const wire::JobSpec& spec, Instant now) const { return submissions_.request_of(spec, now); }
  void cancel(JobId job, const std::string& by, Instant now, Done done, const wire::Cancellation& wanted = {});
  Result<Submissions::Edit> plan_edit(JobId job, const wire::JobChange& change, Instant now) const {
    return submissions_.plan_edit(job, change, now);
  }
  // See interventions.h.
  void signal(JobId job, const std::string& signal, const std::string& by, Instant now, Done done);
  void edit(JobId job, const wire::JobChange& change, const std::string& by, Instant now, Done done);
  // See interventions.h.
  void intervene(JobId job, const wire::Intervention& wanted, const std::string& by, Instant now, Done done);
  Result<Effect> preview(JobId job, const wire::Intervention& wanted) { return interventions_.preview(job, wanted); }
  void declare_lost(const std::string& server, const std::string& by, Instant now, Told done);
  void remove_server(const std::string& server, const std::string& by, Instant now, Told done);
  void release_server(const std::string& server, const std::string& by, Instant now, Told done);
  // See drains.h.
  void drain_server(const std::string& server, const DrainRequest& wanted, const std::string& by, Instant now,
                    Told done);
  void undrain_server(const std::string& server, const std::string& by, Instant now, Told done);
  // See stopping.h.
  StopPlan stop_jobs(std::vector<std::string> servers, const std::string& why, Instant now,
                     std::function<void(const Status&)> done);
  bool is_stopping() const { return stopping_.has_begun(); }
  void set_policy(PolicyChange change, const std::string& by, Instant now, Told done);
  void undo_policy(const std::string& by, Instant now, Told done);
  void plan_policy(PolicyChange change, Instant at, const std::string& by, Instant now, Told done);
  void call_off_policy(const std::string& by, Instant now, Told done);
  // Stores a valid profile, replacing the family's previous one, for jobs submitted from now on; `done` is called when
  // it is durable.
  void put_profile(wire::TrainingProfile profile, const std::string& by, Instant now, Told done);
  void remove_profile(const std::string& family, const std::string& by, Instant now, Told done);
  // For the retention rule: these jobs and events are deleted for good, and an event says so.
  void remove_history(store::Removal removal, Instant now, Told done);
  // Events, and settings of others, that change nothing here; `done` is called when they are durable.
  void note(const std::vector<store::EventRow>& events, Instant now, Told done,
            const std::vector<store::SettingRow>& settings = {});

  // ---- what is shown ----
  const LogicSettings& settings() const { return settings_; }
  Instant started() const { return started_; }
  const Core& core() const { return core_; }
  const JobBook& book() const { return book_; }
  // A member of a group that has not come up, as it would be; nothing: there is no such member.
  std::optional<JobEntry> member_to_come(JobId job) const;
  const ProfileBook& profiles() const { return profiles_; }
  const Agents& agents() const { return agents_; }
  const Incarnations& incarnations() const { return incarnations_; }
  const Requeues& requeues() const { return requeues_; }
  const Checkpoints& checkpoints() const { return checkpoints_; }
  const Images& images() const { return images_; }
  const ServerHealth& health() const { return health_; }
  const Drains& drains() const { return drains_; }
  const Recorder& recorder() const { return recorder_; }
  Recorder& recorder() { return recorder_; }
  Logs& logs() { return logs_; }
  const PolicyLife& policies() const { return policies_; }
  const TurnTimes& turn_times() const { return turn_times_; }
  TurnTimes& turn_times() { return turn_times_; }  // measured by the caller of turn()
  // What is known of the future, only to be shown; null: nothing. It must outlive this object.
  const Outlook* outlook() const { return outlook_; }
  void set_outlook(const Outlook* outlook) { outlook_ = outlook; }

 private:
  void restore(const store::Loaded& loaded, Instant now);

  LogicSettings settings_;
  Tape* tape_ = nullptr;  // null: not recording
  RequestEstimates estimates_;
  Core core_;
  JobBook book_;
  ProfileBook profiles_;
  Agents agents_;
  Requeues requeues_;
  JobNumbers numbers_;
  Incarnations incarnations_;
  Strangers strangers_;
  Recorder recorder_;
  Checkpoints checkpoints_;
  Images images_;
  Orders orders_;
  Engine engine_;
  Logs logs_;
  ServerHealth health_;
  Drains drains_;
  Reconciler reconciler_;
  ProgressReports progress_reports_;
  Sessions sessions_;
  Submissions submissions_;
  Interventions interventions_;
  PolicyLife policies_;
  Stopping stopping_;
  Instant started_;
  TurnTimes turn_times_;
  const Outlook* outlook_ = nullptr;
};

}  // namespace sl::controller
