// `schedulearn sim run` and `sim compare`: from options to a table or JSON.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "policies/registry.h"
#include "sim/metrics.h"

namespace sl::sim {

struct SimulationOptions {
  std::string trace;
  std::string servers = "1x8";                   // SERVERSxGPUS
  std::vector<std::string> policies = {"fifo"};  // "all": every one
  GivenParameters parameters;                    // of a single policy
  std::string jobs_out;           // CSV of every job; with several policies each gets its name before the ending
  std::string oversize = "drop";  // jobs that do not fit the cluster: drop, fail, clip
  int gpus_max = 0;               // leave out wider jobs; 0: those that fit
  double duration_min_s = 0;
  double duration_max_s = 0;  // 0: as long as they are
  double restart_cost_s = 0;
  std::string semantics;  // reproduce a published simulator (published.h); empty: ours
  bool blind = false;     // policies see users' estimates only
  bool json = false;
};

// Runs every policy on the trace, on all cores. What cannot be done is an error before anything runs.
Status compare(const SimulationOptions& options, std::ostream& out);

// "32x8". Error "bad-servers".
Result<Shape> parse_shape(const std::string& text);

}  // namespace sl::sim
