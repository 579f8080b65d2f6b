// Shortest remaining service first, "2D" (policies.md 4.1): remaining time multiplied by GPUs.
//
//   1 order all jobs by remaining time x GPUs asked for
//   2 let them run in that order, preempting jobs that have more left (policy/preemptive_policy.h)
//
// Ties: a running job before a waiting one, then (submission, id). Preemptive, rigid. `preempt_margin_s` counts
// GPU-seconds here.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry srsf_entry();

}  // namespace sl
