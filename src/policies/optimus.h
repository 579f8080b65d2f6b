// Optimus (policies.md 10.4): each GPU goes where it saves most of the time that trainings still need.
//
//   1 in order (submission, id) every job gets its minimum, as far as the GPUs go
//   2 again and again one more GPU for the job with the largest gain (Q/f(g) - Q/f(g+1)) per share of the cluster; Q is
//     the work left, f the speed on g GPUs. A job that cannot take another is dropped, the others go on
//   3 counts become GPUs and running jobs are resized as in every elastic policy, at most every `resize_min_run_s`,
//   which
//     is Optimus' interval
//
// Q and f come from fits to what jobs tell: the convergence of their loss towards its target, speeds in several
// configurations (estimate/). While fewer than five epochs were seen, gains count 0.95. Else estimates and history.
// Only workers are scheduled: parameter servers hold no GPU and stay as many as the job asked for. No estimate alone
// stops a job. Preemptive, elastic. Source: Peng et al., EuroSys 2018.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry optimus_entry();

}  // namespace sl
