// What users do with jobs: submit one, once per idempotency key; cancel it; change it. An answer that promises something
// is given once the promise is durable.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "controller/idempotency_keys.h"
#include "controller/job_numbers.h"
#include "controller/orders.h"
#include "controller/queue_moves.h"
#include "controller/recorder.h"
#include "wire/intervention.h"

namespace sl::controller {

// How jobs ended that are only in the database, by number; "": there is no such job.
using PastStates = std::map<std::int64_t, std::string>;

struct Submission {
  wire::JobSpec spec;
  std::string idempotency_key;  // empty: none
  std::string body_hash;
  PastStates past = {};  // of the jobs that the submission names and the book does not have
};

// The name of a job that is given none: the program it runs, or the script if that is an interpreter.
std::string default_name(const wire::CommandLine& command);

// The answer to a request to cancel a finished job.
Error already_ended(const store::JobRow& job);
// Of a job that is being stopped for good, only what does not concern its run can be changed.
Status may_still_change(const JobEntry& entry, const Job& job);

class Submissions {
 public:
  using Done = std::function<void(Result<JobId>)>;
  // At most `queue_max` unfinished jobs are accepted, and of one user no more once they take `user_bytes_max`.
  Submissions(std::size_t queue_max, std::size_t user_bytes_max, Core& core, JobBook& book, const ProfileBook& profiles,
              JobNumbers& numbers, Recorder& recorder, Orders& orders, Engine& engine)
      : queue_max_(queue_max),
        user_bytes_max_(user_bytes_max),
        core_(core),
        book_(book),
        profiles_(profiles),
        numbers_(numbers),
        recorder_(recorder),
        orders_(orders),
        engine_(engine) {}

  // Before anything is submitted: the keys still in force.
  void restore(const std::vector<store::IdempotencyRow>& keys, Instant now);

  // `done` is called once the job is durable, or at once with the refusal. A key seen before returns its job.
  void submit(Submission submission, Instant now, Done done);
  // What submit would answer, without doing it.
  Status check(const wire::JobSpec& spec, const PastStates& past = {}) const;
  // The same, after `others` new jobs have been accepted; with the key of the submission.
  Status check(const Submission& submission, std::size_t others);
  Status check_bytes(const std::string& user) const;  // "too-much-submitted"
  // What policies would be told of it; it has no number yet.
  JobRequest request_of(const wire::JobSpec& spec, Instant now) const;
  // Why nothing can be done with a job that the book does not have. Errors: "job-not-found", "member-to-come".
  Error no_job(JobId job) const;
  // Whether the numbers of GPUs that this job may have can be changed at all, and to those of `next`.
  Status may_have(const JobEntry& entry, const wire::JobSpec& next) const;
  // `wanted.reason` is shown as why it was cancelled; what was said last counts. One that is being stopped already can
  // still be hurried.
  void cancel(JobId job, const std::string& by, Instant now, Done done, const wire::Cancellation& wanted);
  // What a change would make of a job, and of others.
  struct Edit {
    wire::JobSpec next;
    bool gpus_differ = false;
    std::string what;              // "priority 0 → 7, gpus 1 → 2"; empty: all of that stays
    std::optional<bool> hold;      // whether it is held from now on; none: as before
    std::vector<Priority> others;  // jobs in front of its new place
  };
  // Errors: "job-not-found", "job-finished", "job-started", "job-held", "job-not-held", "nothing-to-change", those of a
  // submission and of queue_moves.h.
  Result<Edit> plan_edit(JobId job, const wire::JobChange& change, Instant now) const;
  // Changes an unfinished job; its GPUs, and whether it is held, only while it waits. Errors as above.
  void edit(JobId job, const wire::JobChange& change, const std::string& by, Instant now, Done done);

 private:
  std::optional<Result<JobId>> answer_known(const Submission& submission);
  void stop_with(JobId job, const std::string& signal);
  std::string state_of(JobId job, const PastStates& past) const;
  Status check_prerequisites(const wire::JobSpec& spec, const PastStates& past) const;
  void refuse_unwritten(JobId job, Instant now);
  void expire_keys(Instant now);
  void note_request(const char* kind, JobId job, const std::string& by, Instant now, std::string text = "");
  Result<int> priority_of_first(JobId job) const;
  Result<std::vector<Priority>> priorities_before(JobId job, JobId other, Instant now) const;
  Status may_hold(const JobEntry& entry, bool hold) const;
  void refuse_when_durable(Error refusal, Done done);
  void answer_when_durable(JobEntry& entry, Done done);
  void answer_when_durable(JobId job, Done done);

  std::size_t queue_max_, user_bytes_max_;
  Core& core_;
  JobBook& book_;
  const ProfileBook& profiles_;
  JobNumbers& numbers_;
  Recorder& recorder_;
  Orders& orders_;
  Engine& engine_;
  IdempotencyKeys keys_;
};

}  // namespace sl::controller
