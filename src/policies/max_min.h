// Max-min fairness over GPU types (policies.md 12, Gavel's rule): the job that gets least, measured against an equal
// share, gets as much as possible.
//
//   1 jobs that are alike (GPUs, weight, types they may use, measured speed on each type) are one class; what a class
//     gets is the same for each of its jobs, which loses nothing
//   2 a linear program, solved exactly: fractions x of time on each type so that the least of
//     GPUs * sum_j(speed_j * x_j) / (weight * speed of an equal share) is largest; no job more than all its time, no
//     type more GPUs than there are. What is left over is given out by a second, far smaller term: total throughput
//   3 at the beginning of each round of `round_s`: jobs in order of priority = x / fraction of its life it has run so
//   far
//     (never run: first of all), then time missed, then x; running jobs that are not among the first that fit are
//     preempted
//   4 within a round, free GPUs go to waiting jobs in that order
//
// Ties: (submission, id). Speeds by type come from what jobs tell; unknown ones count as equal. That the present round
// has been divided is kept in the policy's memory. Preemptive, rigid. Source: Narayanan et al., OSDI 2020; Gavel's
// code.
#pragma once

#include <vector>

#include "policy/policy.h"

namespace sl {

struct FairClass {
  double jobs = 1;  // how many are alike
  double gpus = 1;  // of each
  double weight = 1;
  std::vector<double> speed;  // by type; 0: cannot use it
};

// By class and type: the fraction of time each job of the class gets there.
std::vector<std::vector<double>> max_min_fractions(const std::vector<FairClass>& classes,
                                                   const std::vector<double>& gpus_by_type);

PolicyEntry max_min_entry();

}  // namespace sl
