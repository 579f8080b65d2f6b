// Why jobs are left when nothing more happens.
#pragma once

#include <string>

#include "core/core.h"
#include "trace/trace.h"

namespace sl::sim {

// The first waiting job that no server can run, as they are now and as the policy would place it, and what it lacks: "a:
// under this policy it needs 4 GPUs, all servers together have 2". Empty: there is none.
std::string first_unfinished(const Core& core, const trace::Trace& trace);

}  // namespace sl::sim
