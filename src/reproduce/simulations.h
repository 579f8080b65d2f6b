// Many small simulations at once, each with the times of its jobs: what the experiments are made of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policies/registry.h"
#include "sim/metrics.h"
#include "sim/world.h"

namespace sl::reproduce {

struct Scenario {
  std::string trace;  // a workload or a file
  sim::Cluster cluster;
  std::string policy;
  GivenParameters parameters = {};
  std::uint64_t seed = 1;
  sim::TraceOptions options = {};
  std::function<void(sim::Trace&)> adapt = {};  // changes the trace before it is run; may be empty
  std::string events_file = {};                 // empty: events are not kept
  bool like_live = false;                       // sim::SimulationSettings
};

struct JobTimes {
  double submitted_s = 0, started_s = 0, finished_s = 0;
  std::uint32_t user = 0;
  bool has_finished = false;
};

struct Simulated {
  sim::Metrics metrics;
  std::vector<JobTimes> jobs;  // in order of submission
  std::vector<double> jct_s() const;
};

// On all cores; results in the order of the scenarios, the same for the same scenarios. Errors: of a trace, a policy or
// a file.
Result<std::vector<Simulated>> simulate_all(const std::vector<Scenario>& scenarios);

// The seeds 1 to `count`.
std::vector<std::uint64_t> seeds_up_to(int count);

}  // namespace sl::reproduce
