// AFS-L (policies.md 6.2): balance "short first" against "efficient first" by comparing jobs in pairs.
//
// clang-format off
//   1 all jobs start with no GPU; each further GPU goes to the winner of a tournament in order (submission, id)
//   2 of two jobs without GPUs, the one with less work left wins
//   3 else let S be the one that would end sooner with the GPUs it has, B the other: B wins exactly if its relative
//     gain (s(g+1) - s(g)) / s(g+1) exceeds that of S, (s(g+1) - s(g)) / s(g)
// clang-format on
//
// Of jobs with equal requests that have no GPUs, no more take part than the cluster can hold: the shortest.
//
// The first step of a job is its whole minimum of GPUs; a job whose minimum is no longer available takes no part. The
// relation is not transitive, so the order of visits is part of the rule. Each job's length is computed on its own GPUs
// (Voda used the other job's). Preemptive, elastic. Source: Hwang et al., NSDI 2021.
#pragma once

#include <functional>
#include <vector>

#include "policy/elastic_policy.h"

namespace sl {

// Of the nth job on g GPUs, g from its minimum to its maximum. Asked only for jobs that may win.
using AfsSpeedup = std::function<double(std::size_t n, int g)>;

// `jobs` in order of submission, ranked by the work left on one GPU, in microseconds; `shortest_first`: their numbers in
// order of work, then of submission.
void divide_by_tournament(std::vector<Share>& jobs, const std::vector<std::size_t>& shortest_first, Supply& supply,
                          const AfsSpeedup& speedup);

PolicyEntry afs_l_entry();

}  // namespace sl
