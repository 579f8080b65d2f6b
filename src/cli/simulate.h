// `schedulearn sim run` and `sim compare`: from options to a table, JSON, CSV or a folder of results.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "study/choices.h"

#include "base/result.h"

namespace sl::cli {

struct SimulationOptions {
  std::string trace;
  std::string servers = "1x8";                   // see read_cluster
  std::vector<std::string> policies = {"fifo"};  // "all": every policy
  std::vector<std::string> parameters;  // [POLICY.]NAME=VALUE, several values separated by commas: one run per value
  std::string seeds = "1";              // 7, 1..10, 1,3,5
  std::string job_counts;               // 10,20,40: only this many jobs from the start; empty: all
  std::string loads;                    // 0.5,0.8: made to come in these densities; empty: as they come
  std::vector<std::string> switches;    // TIME=POLICY: switch to POLICY this long after the first submission
  std::string metrics;                  // names of columns; empty: the usual ones; "all"
  std::string elastic;                  // 0.5..2: jobs run on half to twice the GPUs they ask for
  std::string profile;                  // their speedup
  std::vector<std::string> profiles;    // files with profiles of trainings that the trace names by their family
  std::string jobs_out, events_out, folder;
  bool events = false;
  bool keep_cpu_jobs = false;     // those without a GPU
  std::string oversize = "drop";  // jobs that do not fit the cluster: drop, fail, clip
  int gpus_max = 0;               // leave out wider jobs; 0: those that do not fit the cluster
  double duration_min_s = 0;
  double duration_max_s = 0;   // 0: no limit
  std::string costs;           // file of measured costs (docs/formats/costs.md); empty: none
  double restart_cost_s = -1;  // below 0: from the cluster file
  std::string semantics;       // the published simulator to reproduce (published.h); empty: ours
  bool blind = false;          // policies know only what users state and running jobs report
  bool json = false, plain = false;
  std::size_t columns = 0;  // of the terminal; 0: it is none
  bool notes = false;       // the table prints all notes
  std::string command;      // as typed, for the results' origin
  std::function<bool()> interrupted = [] { return false; };
  study::PolicyReader read_policy = {};  // reads "./mine.py"; empty: only built-in policies
  bool show_progress = false;            // on standard error, as a line that is overwritten
  bool report_progress = false;          // there, as JSON lines
};

// Runs everything on all cores and prints it. False: interrupted; what was finished is printed. Wrong input is an error
// before anything runs; after the failure of one simulation what was finished is printed first.
Result<bool> compare(const SimulationOptions& options, std::ostream& out);

}  // namespace sl::cli
