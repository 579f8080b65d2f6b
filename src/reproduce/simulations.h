// Many small simulations at once, each with the times of its jobs: the building block of the experiments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policies/registry.h"
#include "sim/world.h"
#include "study/metrics.h"

namespace sl::reproduce {

struct Scenario {
  std::string trace;  // a workload or a file
  sim::Cluster cluster;
  std::string policy;
  GivenParameters parameters = {};
  std::uint64_t seed = 1;
  trace::TraceOptions options = {};
  std::function<void(trace::Trace&)> adapt = {};  // changes the trace before it runs; may be empty
  std::string events_file = {};                   // empty: events are not kept
  bool like_live = false;                         // sim::SimulationSettings
  bool knows_durations = true;                    // the same
};

struct JobTimes {
  double submitted_s = 0, started_s = 0, finished_s = 0;
  std::uint32_t user = 0;
  bool has_finished = false;
};

struct Simulated {
  study::Metrics metrics;
  std::vector<JobTimes> jobs;  // in order of submission
  std::vector<double> jct_s() const;
};

// Runs on all cores; results are in the order of the scenarios, and equal for equal scenarios. Errors: those of a
// trace, a policy or a file.
Result<std::vector<Simulated>> simulate_all(const std::vector<Scenario>& scenarios);

// The seeds 1 to `count`.
std::vector<std::uint64_t> seeds_up_to(int count);

}  // namespace sl::reproduce
