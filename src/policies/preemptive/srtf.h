// Shortest remaining time first (policies.md 4.1): the jobs with the least wall time left run.
//
//   1 order all jobs by remaining time on the GPUs they ask for
//   2 let them run in that order, preempting jobs that have more left (policy/preemptive_policy.h)
//
// Ties: a running job before a waiting one, then (submission, id). Preemptive, rigid. Jobs without an estimate:
// policy/run_times.h; a job that outlives its estimate has a tenth of its run time left.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry srtf_entry();

}  // namespace sl
