// Fair share with decay, as in Slurm's multifactor priority (policies.md 12): users who have used little recently go
// first.
//
//   1 usage of a user: GPU time, halved every `half_life_h`; fair-share factor 2^(-U/S), with U its fraction of all
//     usage and S its weight's fraction of all weights (of users who have jobs or usage)
//   2 priority of a job: weight_fairshare * factor + weight_age * age (saturating at `age_max_h`) + weight_priority *
//     its own priority (relative to the highest that waits)
//   3 jobs start in that order; one that does not fit is passed over
//
// Ties: (submission, id). A user's own jobs keep the order (priority, submission, id). Usage is computed from the
// finished jobs that the core remembers. Non-preemptive, rigid. Source: Slurm's public documentation of the classic
// algorithm.
#pragma once

#include "policy/policy.h"

namespace sl {

// 2^(-U/S); 1 for a user who has used nothing.
double fair_share_factor(double usage, double usage_of_all, double weight, double weight_of_all);

PolicyEntry fair_share_entry();

}  // namespace sl
