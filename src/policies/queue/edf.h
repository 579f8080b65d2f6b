// Earliest deadline first (policies.md 4.2).
//
//   1 a job is late when it could not meet its deadline even alone on its maximum of GPUs from now on
//   2 order: jobs that can meet their deadline, by deadline; jobs without one, by submission; late ones, by deadline
//     (`late_mode`: demote; keep: late ones stay among the first; reject: those that have never started are rejected)
//   3 jobs run in that order, preempting those behind them (policy/preemptive_policy.h)
//
// `order = least_slack` puts the job with the least time to spare first instead. Ties: a running job before a waiting
// one, then (submission, id). Preemptive, rigid. Without a separate class for late jobs, an overloaded cluster would
// miss one deadline after another.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry edf_entry();

}  // namespace sl
