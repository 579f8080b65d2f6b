// Elastic Tiresias (policies.md 5.4): tiresias's order, and GPUs that are left go where they gain most.
//
//   1 in tiresias's order (queue, first start, submission, id): every job for which there are enough gets the GPUs it
//     asks for
//   2 when more than `compaction_threshold` jobs got none, jobs in the second queue and below shrink to their minimum
//   3 what is left goes step by step where it gains most: one GPU more for a job that has some, its minimum at once for
//     one that has none (gain per GPU); ties: queue, then (submission, id)
//
// A job with GPUs may take one more even when fewer are left than its minimum (Voda drops it then). Preemptive,
// elastic.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry elastic_tiresias_entry();

}  // namespace sl
