// Which waiting jobs stand in the line that policies see: those that could run now if no other job ran. The others are
// set aside until a server joins or returns, so that a job for which there is no server blocks nobody. While no server
// takes jobs nothing is set aside: nothing could run instead. A suspended job that its user holds is set aside too.
#pragma once

#include <vector>

#include "core/jobs.h"
#include "core/ledger.h"
#include "policy/policy.h"
#include "policy/waiting_lines.h"

namespace sl {

class LineGate {
 public:
  explicit LineGate(const Ledger& ledger) : ledger_(ledger) {}

  // The servers have changed: states, GPUs, resources.
  void refresh();
  // `policy` decides how many GPUs the job needs; null: there is none yet, and the job is taken at its least.
  bool admits(const Job& job, const Policy* policy);
  // The same, from the servers alone.
  bool admits_afresh(const Job& job, const Policy* policy) const;

 private:
  static int gpus_of(const Job& job, const Policy* policy) {
    return policy ? policy->gpus_least(job) : job.request.gpus_min;
  }
  bool is_intact(const Allocation& gpus) const;
  bool is_possible(const JobRequest& request, int gpus);

  const Ledger& ledger_;
  bool any_up_ = false;
  int most_ = 0, total_ = 0;  // GPUs that work, on the largest server and on all that are up
  Shapes shapes_;
  std::vector<signed char> possible_;  // by shape; -1: not known
};

}  // namespace sl
