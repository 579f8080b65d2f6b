// The FfDL optimizer (policies.md 6.1): divide the GPUs so that the sum of speed-ups is largest.
//
//   1 take jobs in order (priority, submission, id) as long as the minima of all of them fit; the first that does not
//     ends it, so that nobody starves
//   2 P[j][k] = max over g of s_j(g) + P[j-1][k-g], g from the job's minimum to its maximum; on ties the smaller g
//   3 more than `exact_gpus` GPUs: hand out one by one where it gains most, which is the same where speed-ups are
//   concave
//
// Speed-ups that are unknown count as linear. Only throughput counts: a job that gains little stays at its minimum.
// Preemptive, elastic. Source: Saxena et al., MASCOTS 2020, and Voda with its faults removed (it ignored minima).
#pragma once

#include "policy/elastic_policy.h"

namespace sl {

// The exact division; `shares` all fit with their minimum.
void divide_by_throughput(const Snapshot& snapshot, std::vector<Share>& shares, int gpus);

PolicyEntry ffdl_entry();

}  // namespace sl
