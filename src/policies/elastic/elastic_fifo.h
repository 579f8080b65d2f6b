// Elastic FIFO (policies.md 3): first come, first served at the minimum size; then the remaining GPUs are shared.
//
//   1 in order (priority, submission, id), every job for which enough GPUs are left gets its minimum (`admit = strict`:
//     up to the first for which there are too few)
//   2 in the same order, round by round: one more GPU for each job that is below its maximum and gains by it
//   3 policy/elastic_policy.h turns counts into GPUs, and leaves alone jobs that have just started or will soon end
//
// A job never gets less than its minimum nor more than its maximum (Voda, with OR in place of AND, did both).
// Preemptive, elastic. Source: Voda, with its faults removed.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry elastic_fifo_entry();

}  // namespace sl
