// What jobs have used: run time and service of each, when a time limit runs out, and what is remembered of finished
// jobs.
#pragma once

#include <queue>
#include <tuple>
#include <vector>

#include "core/jobs.h"

namespace sl {

// Brings run time and attained service up to `now`. Call before the state or the allocation of a job changes.
inline void accrue(Job& job, Instant now) {
  if (job.is_accruing()) {
    job.attained_gpu_us = job.attained_at(now);
    job.run = job.run_at(now);
  }
  job.accounted = now;
}

// Divides the run time that accrue() is about to count among the types of GPU the job holds.
void accrue_by_gpu_type(Job& job, const ServerTable& servers, Instant now);

// Restarts the count of service and run time since the last promotion (Tiresias).
inline void note_promotion(Job& job, Instant now) {
  job.run_at_promotion = job.run_at(now);
  job.attained_at_promotion_gpu_us = job.attained_at(now);
}

// When running jobs must be stopped. Entries of attempts that have ended, or whose limit was edited, are skipped.
class TimeLimits {
 public:
  void set(const Job& job, Instant now);  // does nothing if the job has no limit
  Instant next() const { return limits_.empty() ? Instant::never() : limits_.top().at; }
  // A running job that has used up its limit by `now`; none if there is no other.
  JobIndex pop_overdue(Jobs& jobs, Instant now);

 private:
  struct Limit {
    Instant at;
    JobId job;
    int attempt;
    friend bool operator>(const Limit& a, const Limit& b) { return std::tie(a.at, a.job) > std::tie(b.at, b.job); }
  };
  std::priority_queue<Limit, std::vector<Limit>, std::greater<>> limits_;
};

// The latest finished jobs with GPUs, oldest first: at most `max`, and at least half of that once there were as many.
class History {
 public:
  explicit History(std::size_t max) : max_(max) {}
  // `curve`: how the job's speed depends on its GPUs.
  void add(const Job& job, bool succeeded, const SpeedCurve& curve, Instant now);
  void restore(std::vector<FinishedJob> jobs) { jobs_ = std::move(jobs); }
  const std::vector<FinishedJob>& jobs() const { return jobs_; }

 private:
  std::size_t max_;
  std::vector<FinishedJob> jobs_;
};

}  // namespace sl
