// Baseline of `lyapunov` (policies.md 11.5): strict FIFO, every job on one GPU, or on its minimum if that is more.
// Non-preemptive.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry one_gpu_entry();

}  // namespace sl
