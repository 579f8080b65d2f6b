// A comparison: policies × parameters × seeds × numbers of jobs × loads, each combination a separate simulation, on all
// cores.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/registry.h"
#include "sim/requests.h"
#include "study/metrics.h"
#include "study/result_folder.h"
#include "study/results.h"

namespace sl::study {

struct PolicyChoice {
  std::string name;
  GivenParameters parameters;
  std::shared_ptr<const PolicyEntry> entry = {};  // of a policy that is not built in
};
Result<std::unique_ptr<Policy>> make_policy(const PolicyChoice& choice);
const PolicyEntry& entry_of(const PolicyChoice& choice);  // built in or not

struct PolicySwitchChoice {
  Duration after;  // since the first submission
  PolicyChoice policy;
};

// Jobs that ask for a fixed number of GPUs become elastic: from `low` to `high` times as many.
struct Elastic {
  double low = 1, high = 1;
  std::string profile = "linear";  // for jobs whose speed is not known
};

// What a simulation takes of the trace.
struct Arrivals {
  std::int64_t jobs = 0;  // only the first ones; 0: all
  double load = 0;  // closer together or further apart, until they are this load (trace::set_load); 0: as they come
  auto operator<=>(const Arrivals&) const = default;
};

struct ExperimentSettings {
  std::string trace;  // a file, or a workload (workloads.h)
  trace::TraceOptions trace_options;
  sim::Cluster cluster;
  std::string semantics;  // the published simulator to reproduce (published.h); empty: ours
  std::vector<PolicyChoice> policies;
  std::vector<std::uint64_t> seeds = {1};
  std::vector<Arrivals> arrivals = {{}};
  std::vector<PolicySwitchChoice> switches;
  std::optional<Elastic> elastic;
  bool knows_durations = true;
  std::string folder;                  // where results go; empty: nowhere
  bool events = false;                 // write the events of every simulation too
  std::string jobs_file, events_file;  // instead of a folder, for a single simulation
};

struct ExperimentRow {
  PolicyChoice policy;
  std::uint64_t seed = 1;
  Arrivals arrivals;
  bool done = false;  // false: interrupted before its end, or failed
  Status failure;     // of its policy, its trace or its files; then all others are interrupted
  Metrics metrics;
  std::optional<LowerBounds> bounds;   // of schedules that finish all jobs; nothing if this one did not
  double load = 0;                     // of its jobs on the cluster (trace/summary.h)
  std::string first_unfinished;        // as in sim/world.h
  std::string standstill;              // why the simulation gave up; empty: it did not (sim/world.h)
  std::string jobs_file, events_file;  // relative to the folder; empty: none
};

struct ExperimentResult {
  std::vector<ExperimentRow> rows;      // by policy, parameters, arrivals, seed, in the order requested
  const ExperimentRow* failed() const;  // the first, or null
  trace::TraceReport report;
  std::map<Lack, sim::Impossible> impossible;  // jobs of the trace that the cluster can never run
  std::int64_t jobs = 0;                       // in the trace, of the first row
  MissingFacts missing;                        // among those jobs
  bool interrupted = false;                    // or failed: some rows are not done
  ResultFolder folder;                         // if there is one: nobody else writes to it until this is destroyed
};

// Reported a few times per second, and at the end.
struct ExperimentProgress {
  std::size_t rows_done = 0, rows = 0;
  double part = 0;  // finished fraction of all jobs of all rows
};

// Errors before anything runs: those of the trace or a policy, or a file cannot be written. `keep_on` is called a few
// times per second; once it returns false, the run stops and keeps what is finished, as it does after a failure.
Result<ExperimentResult> run_experiment(const ExperimentSettings& settings,
                                        const std::function<bool(const ExperimentProgress&)>& keep_on);

}  // namespace sl::study
