// Which waiting jobs stand in the line that policies see: those that could run now if no other job ran. The others are
// set aside until a server joins or returns, so that a job for which there is no server blocks nobody. While no server
// takes jobs nothing is set aside: nothing could run instead. Also set aside are suspended jobs that their users hold, jobs
// that wait for others to end or for a time, groups, the members of groups that are held, and jobs without GPUs, which the
// core starts itself (core/without_gpus.h).
#pragma once

#include <vector>

#include "core/jobs.h"
#include "core/ledger.h"
#include "policy/policy.h"
#include "policy/waiting_lines.h"

namespace sl {

class LineGate {
 public:
  LineGate(const Ledger& ledger, const Jobs& jobs) : ledger_(ledger), jobs_(jobs) {}

  // The servers have changed: states, GPUs, resources.
  void refresh() { is_stale_ = true; }
  // `policy` decides how many GPUs the job needs; null: there is none yet, and the job is taken at its least.
  bool admits(const Job& job, const Policy* policy, Instant now) {
    return job.request.needs_gpus() && could_start(job, policy, now);
  }
  // Whether a waiting job could start if no other job ran.
  bool could_start(const Job& job, const Policy* policy, Instant now);
  // The same, from the servers alone.
  bool admits_afresh(const Job& job, const Policy* policy, Instant now) const;
  // Whether the job's prerequisites are fulfilled.
  bool is_ready(const JobRequest& request, Instant now) const {
    return !request.prerequisites || is_fulfilled(request, now);
  }
  bool awaits_jobs(const JobRequest& request) const;
  // Whether this member of a group may not begin before others have ended (Group::last_admitted).
  static bool is_over_limit(const Job& member, const Job& group);
  // About how many jobs with this request the servers that are up could run if no other job ran.
  int at_once(const JobRequest& request) const;

 private:
  static int gpus_of(const Job& job, const Policy* policy) {
    return policy && job.request.needs_gpus() ? policy->gpus_least(job) : job.request.gpus_min;
  }
  void look() const;
  bool is_intact(const Allocation& gpus) const;
  bool is_possible(const JobRequest& request, int gpus);
  bool is_fulfilled(const JobRequest& request, Instant now) const;
  bool may_start(const Job& job, Instant now) const;

  const Ledger& ledger_;
  const Jobs& jobs_;
  // What the servers have, looked at when it is first asked for, since thousands may join before a job does. A core and
  // its gate belong to one thread.
  mutable bool is_stale_ = false;
  mutable bool any_up_ = false;
  mutable int most_ = 0, total_ = 0;  // GPUs that work, on the largest server and on all that are up
  mutable double cpus_ = 0;           // of all that are up
  Shapes shapes_;
  mutable std::vector<signed char> possible_;  // by shape; -1: not known
};

}  // namespace sl
