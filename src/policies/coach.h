// Coach (policies.md 10.4): each GPU goes to the training whose progress it speeds up most, within what the job may
// cost.
//
//   1 in order (submission, id) every job gets its minimum, as far as the GPUs go
//   2 again and again one more GPU for the job with the largest gain f(g+1) - f(g); f is progress a second, from the
//     quadratic utility fitted to its speeds, else from speed-up and run time
//   3 a job with a budget grows only as far as what it will still cost, GPUs * time left * `gpu_price`, stays within
//   what
//     is left of the budget; what it has cost is its GPU time so far. With nothing left it is stopped at a checkpoint
//     and turned away
//
// Only workers are scheduled: parameter servers hold no GPU and stay as many as the job asked for. Coach's own defects
// are not copied: the gain is new minus old, what was spent is counted, nobody waits for the slowest job's tuning.
// Preemptive, elastic. Source: Coach thesis (S003).
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry coach_entry();

}  // namespace sl
