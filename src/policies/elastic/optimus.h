// Optimus (policies.md 10.4): each GPU goes where it saves most of the time that trainings still need.
//
// clang-format off
//   1 in order (submission, id) every job gets its minimum, as far as the GPUs suffice
//   2 repeatedly, one more GPU goes to the job with the largest gain (Q/f(g) - Q/f(g+1)) per share of the cluster; Q is
//     the work left, f the speed on g GPUs. A job that cannot take another is dropped, the others continue
//   3 counts become GPUs and running jobs are resized as in every elastic policy, at most every `resize_min_run_s`,
//     which is Optimus' interval
// clang-format on
//
// Q and f come from fits to what jobs report: the fall of their loss towards its target, and speeds in several
// configurations (policy/training_estimates.h); without reports, from estimates and history. Gains of jobs that have
// reported fewer than five epochs are multiplied by 0.95 (from memory of the paper, with low confidence). Only workers
// are scheduled: parameter servers hold no GPU, and their number is the one the job asked for. No estimate alone stops
// a job. Preemptive, elastic. Source: Peng et al., EuroSys 2018.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry optimus_entry();

}  // namespace sl
