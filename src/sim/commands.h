// `schedulearn sim run` and `sim compare`: from options to a table, JSON, CSV or a folder of results.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/choices.h"

#include "base/result.h"

namespace sl::sim {

struct SimulationOptions {
  std::string trace;
  std::string servers = "1x8";                   // see read_cluster
  std::vector<std::string> policies = {"fifo"};  // "all": every one
  std::vector<std::string> parameters;  // [POLICY.]NAME=VALUE, several values separated by commas: one run for each
  std::string seeds = "1";              // 7, 1..10, 1,3,5
  std::string job_counts;               // 10,20,40: only the first so many; empty: all
  std::vector<std::string> switches;    // TIME=POLICY: switched to at this many seconds after the first submission
  std::string metrics;                  // names of columns; empty: the usual ones; "all"
  std::string elastic;                  // 0.5..2: jobs run on so many times the GPUs they ask for
  std::string profile;                  // how fast then
  std::string jobs_out, events_out, folder;
  bool events = false;
  std::string oversize = "drop";  // jobs that do not fit the cluster: drop, fail, clip
  int gpus_max = 0;               // leave out wider jobs; 0: those that fit
  double duration_min_s = 0;
  double duration_max_s = 0;   // 0: as long as they are
  double restart_cost_s = -1;  // below 0: as the cluster file says
  std::string semantics;       // reproduce a published simulator (published.h); empty: ours
  bool blind = false;          // policies see users' estimates only
  bool json = false, plain = false;
  std::string command;  // as it was typed, for the results' origin
  std::function<bool()> interrupted = [] { return false; };
  PolicyReader read_policy = {};  // of "./mine.py"; empty: only built-in policies
  bool show_progress = false;     // on standard error, as one line that is written over
};

// Runs everything on all cores and prints it. False: interrupted, what was finished is printed. What cannot be done is
// an error before anything runs.
Result<bool> compare(const SimulationOptions& options, std::ostream& out);

}  // namespace sl::sim
