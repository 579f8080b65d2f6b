// Elastic FIFO (policies.md 3): first come, first served at the minimum size, then what is left is shared.
//
//   1 in order (priority, submission, id): every job for which there are enough gets its minimum of GPUs
//     (`admit = strict`: up to the first for which there are not)
//   2 in the same order, round by round: one GPU more for each that is below its maximum and gains by it
//   3 policy/elastic_policy.h makes GPUs of the counts, and leaves jobs alone that have just started or soon end
//
// A job never gets less than its minimum nor more than its maximum (Voda's OR in place of an AND did both). Preemptive,
// elastic. Source: Voda, with its faults removed.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry elastic_fifo_entry();

}  // namespace sl
