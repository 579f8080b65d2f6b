// Elastic Tiresias (policies.md 5.4): Tiresias' order, with the remaining GPUs going where they gain most.
//
//   1 in tiresias's order (queue, first start, submission, id), every job for which enough GPUs are left gets the
//     number it asks for
//   2 if more than `compaction_threshold` jobs got none, jobs in the second queue and below shrink to their minimum
//   3 the remaining GPUs go step by step where they gain most: one more for a job that has some, the whole minimum for
//     one that has none (gain per GPU); ties: queue, then (submission, id)
//
// A job with GPUs may take one more even if fewer are left than its minimum (Voda drops it then). Preemptive, elastic.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry elastic_tiresias_entry();

}  // namespace sl
