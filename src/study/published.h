// Published simulators, reproduced to the second: their answers for the same policy name differ by rules that their
// papers do not mention. Each is a small world of its own, so that its quirks stay out of ours. Times are whole
// seconds.
//
//   tiresias         SymbioticLab/Tiresias, run_sim.py: all GPUs are one pool
//   tiresias-mended  its policy tiresias without its stale events: no job ends with work left
//   pollux           petuum/adaptdl, branch osdi21-artifact: rounds of a minute, trainings whose speed depends on where
//                    they run
//   lucid            S-Lab-System-Group/Lucid: servers, a clock that ticks every second, restarts that cost 40 or 60 s
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/world.h"

namespace sl::study {

// Errors: "bad-semantics": there is no such simulator; "semantics-policy": it has no such policy; "semantics-shape": it
// does not support this cluster; "semantics-trace": times that are not whole seconds; for pollux also a training that was
// not measured.
Status could_simulate_as(const std::string& semantics, const std::string& policy, const trace::Trace& trace,
                         const sim::Cluster& cluster);
Result<sim::SimulationResult> simulate_as(const std::string& semantics, const std::string& policy,
                                          const trace::Trace& trace, const sim::Cluster& cluster);

std::vector<std::string> published_simulators();

}  // namespace sl::study
