// The virtual world: the production engine and policies under a clock that jumps from event to event. A start becomes a
// completion by the job's duration; a preempted job keeps what it has done and pays `restart_cost` when it goes on.
// Deterministic: equal inputs give equal results.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/policy.h"
#include "sim/trace.h"

namespace sl::sim {

struct Shape {
  int servers = 1;
  int gpus_per_server = 8;
  int gpus() const { return servers * gpus_per_server; }
};

struct SimulationSettings {
  Shape shape;
  Duration restart_cost = Duration{0};  // GPU time lost each time a preempted job goes on
  bool knows_durations = true;  // policies see true durations; else the users' estimates, where the trace has them
  std::uint64_t seed = 1;
};

struct Outcome {    // of one trace job, same index
  Instant started;  // first start
  Instant finished;
  std::int32_t preemptions = 0;
};

struct SimulationResult {
  std::vector<Outcome> outcomes;
  std::int64_t gpu_us_allocated = 0;
  std::uint64_t decisions_refused = 0;
  std::int64_t unfinished = 0;  // jobs the policy never ran to their end
};

// Jobs that fit on one server stay on one; wider ones take whole servers first.
SimulationResult simulate(const Trace& trace, std::unique_ptr<Policy> policy, const SimulationSettings& settings);

}  // namespace sl::sim
