// The FfDL optimizer (policies.md 6.1): divides the GPUs so that the sum of speedups is largest.
//
//   1 take jobs in order (priority, submission, id) as long as all their minimums fit; stop at the first that does not
//     fit, so that no job starves
//   2 P[j][k] = max over g of s_j(g) + P[j-1][k-g], g from the job's minimum to its maximum; on ties the smaller g
//   3 above `exact_gpus` GPUs, and if the jobs may not use the same servers: hand out one at a time where it gains most,
//     which gives the same result if speedups are concave
//
// Unknown speedups count as linear. Only throughput counts: a job that gains little stays at its minimum. Preemptive,
// elastic. Source: Saxena et al., MASCOTS 2020, and Voda with its faults removed (it ignored minimums).
#pragma once

#include "policy/elastic_policy.h"

namespace sl {

// The exact division; the minimums of all `shares` fit together.
void divide_by_throughput(const Snapshot& snapshot, std::vector<Share>& shares, int gpus);

PolicyEntry ffdl_entry();

}  // namespace sl
