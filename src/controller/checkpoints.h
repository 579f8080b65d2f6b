// Where the newest checkpoint of each job is, and what an order to start must say of it: a job that starts on another
// server than that of the last attempt that ran has its checkpoint brought there.
//
// That server is asked first to offer the checkpoint; the order to start waits for its answer. While the server is away,
// the job waits in `starting` for its return, until an admin says that it is lost (or its lease is over, if the job
// said that it must not wait for a server that is cut off): then it continues from the newest of the other checkpoints,
// or from what its new server has. What is known of checkpoints is kept with the placements (store::PlacementRow).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/agents.h"
#include "controller/recorder.h"

namespace sl::controller {

// "1.2 of 4.0 GiB"
std::string share_text(std::int64_t done, std::int64_t all);

class Checkpoints {
 public:
  Checkpoints(Core& core, JobBook& book, Agents& agents, Recorder& recorder, Outside& outside)
      : core_(core), book_(book), agents_(agents), recorder_(recorder), outside_(outside) {}

  // The job's present attempt is about to be ordered to start. True if it must wait: somebody will have the order given
  // again. Else the order says where its checkpoint is, if it has to be fetched.
  bool holds_back(JobEntry& entry, const Job& job, wire::StartAttempt& order, Instant now);

  // ---- inputs; the orders to start of the jobs that they return are to be given (again) ----
  std::optional<JobId> on_offered(const Agent& agent, const wire::CheckpointOffered& offered);
  std::vector<JobId> on_joined(const std::string& server);
  std::vector<JobId> on_lease_over(const std::string& server) const { return waiting_for(server); }
  // A job that is to continue from a checkpoint on this server; none: there is no such job.
  std::optional<JobId> job_with_newest_on(const std::string& server) const;
  std::vector<JobId> on_server_lost(const std::string& server, Instant now);

  void on_progress(const wire::CheckpointProgress& progress);
  // Of the job's present attempt.
  void on_report(JobEntry& entry, store::PlacementRow& placement, const wire::AttemptReport& report, Instant now);

  // What a starting job's checkpoint waits for, or how far it has come.
  struct Transfer {
    std::string from;                                // the server
    int attempt = 0;                                 // that it is for
    std::optional<wire::CheckpointOffered> offered;  // in the session of its agent then; used by one order
    bool is_ordered = false;                         // the order to start has been given
    std::int64_t bytes_done = 0, bytes = 0;
    bool through_controller = false;
  };
  // Null: the job is not starting, or nothing is to be brought.
  const Transfer* find(const JobEntry& entry) const;
  // "copying its checkpoint from a: 1.2 of 4.0 GiB"; "waits for a, where its checkpoint is".
  std::string text_of(const Transfer& transfer) const;

 private:
  const store::PlacementRow* newest(JobEntry& entry, const std::string& target) const;
  bool is_given_up(JobEntry& entry, const store::PlacementRow& placement) const;
  void note_left(const JobEntry& entry, const store::PlacementRow& left, const char* why,
                 const store::PlacementRow* next, Instant now);
  bool start_without(JobEntry& entry, const Job& job, const std::string& from, const std::string& why, Instant now);
  std::vector<JobId> waiting_for(const std::string& server) const;

  Core& core_;
  JobBook& book_;
  Agents& agents_;
  Recorder& recorder_;
  Outside& outside_;
  std::map<JobId, Transfer> transfers_;
};

}  // namespace sl::controller
