// Why jobs are left when nothing more happens.
#pragma once

#include <string>

#include "core/core.h"
#include "engine/progress.h"
#include "trace/trace.h"

namespace sl::sim {

// The first waiting job that no server can run, as they are now and as the policy would place it, and what it lacks: "a:
// under this policy it needs 4 GPUs, all servers together have 2". If there is none, the first that waits: "a: the policy
// left it waiting". Empty: none waits.
std::string first_unfinished(const Core& core, const trace::Trace& trace);

// Why a policy that stops the job of this order again and again is given up: "job a (about 4m 05s left on 2 GPUs, by its
// own estimate) was preempted 1000 times in a row before any of its work was done; likewise b, c".
std::string interrupted_in_vain(const Command& order, const Progress& progress, const Core& core,
                                const trace::Trace& trace, Instant now);

}  // namespace sl::sim
