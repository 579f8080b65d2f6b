// Baseline of `lyapunov` (policies.md 11.5): strict FIFO, every job on a number of GPUs drawn uniformly from its
// minimum to its maximum (at most what one server has, if it stays on one). One draw per job: the seed of all draws
// comes from the core and is kept in the policy's memory. Non-preemptive.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry random_gpu_entry();

}  // namespace sl
