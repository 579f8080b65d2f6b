// A comparison: policies × parameters × seeds × numbers of jobs, each a simulation of its own, on all cores.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policies/registry.h"
#include "sim/metrics.h"
#include "sim/requests.h"
#include "sim/results.h"

namespace sl::sim {

struct PolicyChoice {
  std::string name;
  GivenParameters parameters;
  std::shared_ptr<const PolicyEntry> entry = {};  // of a policy that is no built-in one
};
Result<std::unique_ptr<Policy>> make_policy(const PolicyChoice& choice);
const PolicyEntry& entry_of(const PolicyChoice& choice);  // built in or not

struct PolicySwitchChoice {
  Duration after;  // the first submission
  PolicyChoice policy;
};

// Jobs that ask for a fixed number of GPUs become elastic: from `low` to `high` times as many.
struct Elastic {
  double low = 1, high = 1;
  std::string profile = "linear";  // of jobs whose speed is not known
};

struct ExperimentSettings {
  std::string trace;  // a file, or a workload (workloads.h)
  TraceOptions trace_options;
  Cluster cluster;
  std::string semantics;  // reproduce a published simulator (published.h); empty: ours
  std::vector<PolicyChoice> policies;
  std::vector<std::uint64_t> seeds = {1};
  std::vector<std::int64_t> job_counts = {0};  // only the first so many; 0: all
  std::vector<PolicySwitchChoice> switches;
  std::optional<Elastic> elastic;
  bool knows_durations = true;
  std::string folder;                  // where results go; empty: nowhere
  bool events = false;                 // with the events of every simulation
  std::string jobs_file, events_file;  // instead of a folder, of one simulation
};

struct ExperimentRow {
  PolicyChoice policy;
  std::uint64_t seed = 1;
  std::int64_t jobs_asked = 0;
  bool done = false;  // false: interrupted before its end
  Metrics metrics;
  LowerBounds bounds;
  std::string jobs_file, events_file;  // relative to the folder; empty: none
};

struct ExperimentResult {
  std::vector<ExperimentRow> rows;  // by policy, parameters, number of jobs, seed, as they were asked for
  TraceReport report;
  std::int64_t jobs = 0;  // in the trace, of the first row
  MissingFacts missing;   // of those jobs
  bool interrupted = false;
};

// Told a few times a second.
struct ExperimentProgress {
  std::size_t rows_done = 0, rows = 0;
  double part = 0;  // of all jobs of all rows
};

// Errors before anything runs: of the trace, a policy, a file that cannot be written. `keep_on` is asked a few times a
// second; once it says no, what is finished is kept.
Result<ExperimentResult> run_experiment(const ExperimentSettings& settings,
                                        const std::function<bool(const ExperimentProgress&)>& keep_on);

}  // namespace sl::sim
