// Published simulators, reproduced to the second: what they answer for a policy name differs from one to the next by
// rules their papers do not mention. Each is a small world of its own, so that none of its quirks gets near ours. Times
// are whole seconds.
//
//   tiresias  SymbioticLab/Tiresias, run_sim.py: all GPUs are one pool
//   lucid     S-Lab-System-Group/Lucid: servers, a clock that ticks every second, restarts that cost 40 or 60 s
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/world.h"

namespace sl::sim {

// Error "bad-semantics": there is no such simulator; "semantics-policy": it has no such policy; "semantics-shape": not
// its kind of cluster; "semantics-trace": times that are not whole seconds.
Result<SimulationResult> simulate_as(const std::string& semantics, const std::string& policy, const Trace& trace,
                                     const Cluster& cluster);

std::vector<std::string> published_simulators();

}  // namespace sl::sim
