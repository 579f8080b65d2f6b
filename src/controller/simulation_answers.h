// What REST answers about simulations.
#pragma once

#include <optional>

#include "controller/answers.h"
#include "policies/catalogue.h"

namespace sl::controller::answers {

struct SimulatedPolicy {
  Text name;
  std::map<Text, std::vector<Text>> parameters;  // several values: a run with each; of a list, joined by commas
};
BOOST_DESCRIBE_STRUCT(SimulatedPolicy, (), (name, parameters))

struct SimulationProgress {
  double part = 0;  // of all jobs of all runs, 0 to 1
  int runs_done = 0, runs = 0;
};
BOOST_DESCRIBE_STRUCT(SimulationProgress, (), (part, runs_done, runs))

struct SimulationFault {
  Text code, detail;
  std::vector<Text> notes, hints;
};
BOOST_DESCRIBE_STRUCT(SimulationFault, (), (code, detail, notes, hints))

// The same as in run.json (docs/formats/results.md).
struct LeftOutJobs {
  Number oversize = 0, without_gpus = 0;
  std::map<Text, Number> impossible;  // that the servers can never run, by what they lack first: "the GPU type"
};
BOOST_DESCRIBE_STRUCT(LeftOutJobs, (), (oversize, without_gpus, impossible))

struct Simulation {
  Number id = 0;
  Text user, state;  // queued running succeeded failed
  Time created_at;
  std::optional<Time> started_at, finished_at;
  Text trace, servers;  // "poisson:jobs=100", "4x8"
  std::vector<SimulatedPolicy> policies;
  int seeds = 1;
  std::vector<Number> job_counts;  // of the runs with each setting, ascending; empty: one run with `jobs`
  std::vector<double> loads;       // likewise; empty: jobs come as the trace says
  bool keep_cpu_jobs = false;      // those without GPUs are simulated too
  Number jobs = 0;                 // of each run; once it has succeeded without those that the servers can never run
  Number left_out = 0;             // others, which ask for more GPUs than there are
  std::optional<LeftOutJobs> left_out_reasons;  // all jobs that were left out; null: not known yet
  int gpus = 0;                                 // of the servers
  double load = 0;                              // of the jobs on these GPUs, as the trace says
  Text command;                                 // that does the same, in a folder with the same files
  SimulationProgress progress;
  std::optional<SimulationFault> failure;
};
BOOST_DESCRIBE_STRUCT(Simulation, (),
                      (id, user, state, created_at, started_at, finished_at, trace, servers, policies, seeds,
                       job_counts, loads, keep_cpu_jobs, jobs, left_out, left_out_reasons, gpus, load, command,
                       progress, failure))

// A run: one policy with one set of parameters and one seed. docs/guide/simulator.md defines the figures.
struct SimulationResult {
  Text policy;
  std::map<Text, Text> parameters;
  Number seed = 1;
  std::optional<double> load;  // that its jobs were made to be; null: they come as the trace says
  Number jobs = 0, unfinished = 0, failed = 0;
  std::optional<double> avg_wait_s, p95_wait_s, avg_jct_s, p50_jct_s, p95_jct_s, p99_jct_s, avg_slowdown, makespan_s;
  std::optional<double> gpu_allocation_pct, gpu_utilization_pct, jain_fairness, avg_jct_bound_s, makespan_bound_s;
  Number preemptions = 0, resizes = 0, migrations = 0;
  std::optional<Text> standstill, first_unfinished;
};
BOOST_DESCRIBE_STRUCT(SimulationResult, (),
                      (policy, parameters, seed, load, jobs, unfinished, failed, avg_wait_s, p95_wait_s, avg_jct_s,
                       p50_jct_s, p95_jct_s, p99_jct_s, avg_slowdown, makespan_s, gpu_allocation_pct,
                       gpu_utilization_pct, jain_fairness, avg_jct_bound_s, makespan_bound_s, preemptions, resizes,
                       migrations, standstill, first_unfinished))

struct SimulationDetails : Simulation {
  std::vector<SimulationResult>
      results;  // in the order of the policies, their parameters, the numbers of jobs or loads, and the seeds
};
BOOST_DESCRIBE_STRUCT(SimulationDetails, (Simulation), (results))

// A job of a run, in seconds of its trace. Null: it has not started, or not ended.
struct SimulatedJob {
  Text job_id, user;
  Number gpus = 0;
  double submit_s = 0;
  std::optional<double> start_s, finish_s, jct_s, wait_s, run_s;
  Number preemptions = 0, resizes = 0, migrations = 0, failures = 0;
};
BOOST_DESCRIBE_STRUCT(SimulatedJob, (),
                      (job_id, user, gpus, submit_s, start_s, finish_s, jct_s, wait_s, run_s, preemptions, resizes,
                       migrations, failures))

struct RemovedSimulation {
  Number id = 0;
};
BOOST_DESCRIBE_STRUCT(RemovedSimulation, (), (id))

// A picture of results, and its numbers.
struct SimulationChart {
  Text kind, title;
  Text summary;  // one sentence for those who cannot see it
  Text caption;
  Text svg, csv;
};
BOOST_DESCRIBE_STRUCT(SimulationChart, (), (kind, title, summary, caption, svg, csv))

struct Workload {
  Text name, title, summary;
  std::vector<ParameterDescription> parameters;
};
BOOST_DESCRIBE_STRUCT(Workload, (), (name, title, summary, parameters))

// A percentile: so many percent of the jobs run no longer.
struct TraceDuration {
  double percent = 0, duration_s = 0;
};
BOOST_DESCRIBE_STRUCT(TraceDuration, (), (percent, duration_s))

// The jobs with so many GPUs.
struct TraceWidth {
  int gpus = 0;
  Number jobs = 0;
  double gpu_s = 0;
};
BOOST_DESCRIBE_STRUCT(TraceWidth, (), (gpus, jobs, gpu_s))

// What `trace info` counts.
struct TraceFigures {
  Number jobs = 0, users = 0;
  double first_submit_s = 0, last_submit_s = 0, span_s = 0, gap_mean_s = 0, gpu_days = 0, duration_mean_s = 0;
  std::vector<TraceDuration> durations;
  std::vector<TraceWidth> gpus;
  Number with_deadline = 0, with_estimate = 0, elastic = 0, sharing = 0, with_profile = 0;  // jobs
};
BOOST_DESCRIBE_STRUCT(TraceFigures, (),
                      (jobs, users, first_submit_s, last_submit_s, span_s, gap_mean_s, gpu_days, duration_mean_s,
                       durations, gpus, with_deadline, with_estimate, elastic, sharing, with_profile))

// A workload, or what a user has uploaded: then nothing of it can be set, and only then the following is known.
struct Trace : Workload {
  std::optional<Text> user;
  std::optional<Time> uploaded_at;
  std::optional<Number> bytes;          // of the file, as it was sent
  std::optional<TraceFigures> figures;  // of a workload with its defaults and the seed 1; null: not counted yet
};
BOOST_DESCRIBE_STRUCT(Trace, (Workload), (user, uploaded_at, bytes, figures))

// How much of a file that is being uploaded is here.
struct TraceUpload {
  Text name;
  Number bytes = 0, bytes_here = 0;
  std::optional<Trace> trace;  // once all of it is here and has been read
};
BOOST_DESCRIBE_STRUCT(TraceUpload, (), (name, bytes, bytes_here, trace))

struct RemovedTrace {
  Text name;
};
BOOST_DESCRIBE_STRUCT(RemovedTrace, (), (name))

}  // namespace sl::controller::answers
