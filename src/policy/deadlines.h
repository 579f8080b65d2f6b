// What "late" means to policies that know deadlines (policies.md 4.2).
#pragma once

#include <algorithm>
#include <string>

#include "base/text.h"
#include "policy/plan.h"
#include "policy/run_times.h"

namespace sl {

// The last instant at which the job, if it ran alone on its maximum of GPUs from then on, would still meet its
// deadline.
inline Instant late_from(const View& view, const Job& job, RunTimes& run_times) {
  return job.request.deadline - run_times.remaining(view, job, job.request.gpus_max);
}

// Rejects a waiting job that has never started and is late. Returns whether it did.
inline bool reject_if_late(const Snapshot& snapshot, JobIndex index, RunTimes& run_times, Plan& plan) {
  const Job& job = snapshot.job(index);
  const bool is_new = job.state == JobState::pending && !job.first_start.happened();
  if (!is_new || job.request.deadline.is_never() || late_from(snapshot, job, run_times) >= snapshot.now) return false;
  plan.reject(index, ReasonCode::unsatisfiable);
  return true;
}

// When the next waiting job will have been late for `tolerance`.
inline Instant next_late(const Snapshot& snapshot, RunTimes& run_times, Duration tolerance = {}) {
  Instant next = Instant::never();
  for (const JobIndex index : snapshot.waiting) {
    const Job& job = snapshot.job(index);
    if (job.request.deadline.is_never()) continue;
    const Instant from = late_from(snapshot, job, run_times) + tolerance + Duration{1};
    if (from > snapshot.now) next = std::min(next, from);
  }
  return next;
}

// For Policy::standing().
inline std::string due_text(const View& view, const Job& job) {
  if (job.request.deadline.is_never()) return "no deadline";
  const double due_s = (job.request.deadline - view.now).to_seconds();
  return due_s < 0 ? "due " + duration_text(-due_s) + " ago" : "due in " + duration_text(due_s);
}

}  // namespace sl
