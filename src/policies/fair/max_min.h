// Max-min fairness over GPU types (policies.md 12, Gavel's rule): the job that gets least, relative to an equal share,
// gets as much as possible.
//
// clang-format off
//   1 jobs that are alike (GPUs, weight, types they may use, measured speed on each type) form one class; each job of a
//     class is due the same, which costs nothing
//   2 a linear program, solved exactly: fractions x of time on each type so that the smallest value of
//     GPUs * sum_j(speed_j * x_j) / (weight * speed of an equal share) is as large as possible; no job gets more than
//     all its time, no type gives more GPUs than it has. What remains is given out by a second, far smaller term: total throughput
//   3 at the beginning of each round of `round_s`: pairs of a job and a type in order of priority = x / fraction of its
//     life that the job has run on that type (never: first of all), then time missed there, then x. The first pairs
//     that fit, one for each job, form the round: running jobs that are not among them are preempted, those that are
//     due on another type move there
//   4 within a round, free GPUs go to waiting jobs in that order
// clang-format on
//
// Ties: (submission, id). Speeds by type are those that jobs report, else those of their profile; unknown ones count as
// the mean of the known. A job wider than every type takes any mix of types. The policy's memory holds which round was
// divided last. Preemptive, rigid. Source: Narayanan et al., OSDI 2020; Gavel's code.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry max_min_entry();

}  // namespace sl
