// Makes the controller and its agents agree on which attempts exist: processes agents' reports, decides what happens to
// a job whose attempt has ended, and settles the differences when an agent reconnects.
#pragma once

#include <string>

#include "controller/images.h"
#include "controller/orders.h"
#include "controller/requeues.h"
#include "controller/server_health.h"

namespace sl::controller {

class Reconciler {
 public:
  Reconciler(Core& core, JobBook& book, Recorder& recorder, Engine& engine, Requeues& requeues, Strangers& strangers,
             Checkpoints& checkpoints, Images& images, Orders& orders, ServerHealth& health)
      : core_(core),
        book_(book),
        recorder_(recorder),
        engine_(engine),
        requeues_(requeues),
        strangers_(strangers),
        checkpoints_(checkpoints),
        images_(images),
        orders_(orders),
        health_(health) {}

  // An agent has connected and listed its attempts: their reports are processed; an attempt it should not have is
  // stopped; one it should have but does not is started (the order was lost) or ends (the attempt was lost).
  // `is_restored`: the database is older than what the agent has seen; an attempt that was to start may have run since.
  void on_hello(const Agent& agent, bool is_restored, Instant now);
  // An attempt has changed.
  void on_report(const Agent& agent, const wire::AttemptReport& report, Instant now);
  // The session of the server's agent is over.
  void on_agent_gone(const std::string& server);
  // An admin says that the server will not come back.
  void on_server_lost(const std::string& server, Instant now);
  // The server's lease is over: attempts that had to end with it have ended, and their jobs start elsewhere.
  void on_lease_over(const std::string& server, Instant now);
  // Gives the order to start that was held back, if the job still is to start: a stranger of it ran, or its checkpoint
  // could not be had.
  void start_held_back(JobId job);
  // An attempt that this agent holds, of a job that has it on another server; null: there is none.
  const store::PlacementRow* held_for_another(const wire::Hello& hello) const;
  // A job that has begun on this server, of which the agent knows nothing; none: there is no such job.
  std::optional<JobId> unknown_to(const wire::Hello& hello) const;
  // A job with an attempt on this server that should not be there, if one is known.
  std::optional<JobId> stranger_on(const std::string& server) const { return strangers_.job_on(server); }

 private:
  bool apply_report(const std::string& server, const wire::AttemptReport& report, Instant now);
  void apply_part(JobEntry& entry, const Job& job, int rank, const wire::AttemptReport& report, Instant now);
  void lose_part(JobEntry& entry, const Job& job, int rank, Instant now);
  void follow_up(JobEntry& entry, const Job& job, Instant now);
  void note_break(const JobEntry& entry, const Job& job, Instant now);
  void lose_parts_on(const std::string& server, Instant now);
  void settle_missing_part(JobEntry& entry, const Job& job, const store::PlacementRow& placement, bool is_held,
                           bool is_restored, Instant now);
  // `server`: where it ended, of several the one that ended it.
  void apply_exit(JobEntry& entry, const Job& job, const std::string& server, const wire::AttemptReport& report,
                  Instant now);
  std::optional<Instant> next_start(JobEntry& entry, const Job& job, const Exit& exit, Duration late, Instant now);
  void note_server_fault(const JobEntry& entry, const Job& job, const std::string& server, const Exit& exit,
                         const wire::AttemptReport& report, Instant now);
  void note_failed_attempt(JobEntry& entry, const Job& job, const std::string& server, const Exit& exit,
                           const wire::AttemptReport& report, Instant now);
  void end_or_retry(JobEntry& entry, const Job& job, const wire::JobSpec& spec, const std::string& server,
                    const Exit& exit, const wire::AttemptReport& report, Duration late, Instant now);
  bool is_of_same_job(const Incarnation& incarnation) const;
  void settle_missing(const Agent& agent, bool is_restored, Instant now);
  void note_foreign(const std::string& server, const Incarnation& incarnation, Instant now);
  void wait_before_retry(JobEntry& entry, const wire::JobSpec& spec, Instant now);
  void hold_until(JobId job, Instant until, Instant now);

  Core& core_;
  JobBook& book_;
  Recorder& recorder_;
  Engine& engine_;
  Requeues& requeues_;
  Strangers& strangers_;
  Checkpoints& checkpoints_;
  Images& images_;
  Orders& orders_;
  ServerHealth& health_;
};

}  // namespace sl::controller
