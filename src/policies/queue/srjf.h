// Shortest remaining job first as Voda defines it (policies.md 4.1): jobs by remaining work on one GPU, each on its
// minimum of GPUs.
//
//   1 order all jobs by remaining serial time
//   2 let them run in that order on gpus_min GPUs each, preempting jobs with more work left
//
// Ties: a running job before a waiting one, then (submission, id). Preemptive, rigid. Never-profiled jobs do not look
// shortest, as they do in Voda: they count as long as finished jobs like them.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry srjf_entry();

}  // namespace sl
