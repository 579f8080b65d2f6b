// Trainings on a live cluster and their simulated twins: the same jobs submitted at the same moments under the virtual
// clock, each as long as it took alone. The difference is what the simulator leaves out. The caller runs the real ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plot/history.h"
#include "reproduce/simulations.h"
#include "wire/job_spec.h"

namespace sl::reproduce {

struct LiveRun {
  std::string policy;
  wire::GpuRange gpus;  // of each training
  std::int64_t count = 1;
  double interval_s = 0;  // between two submissions
};

struct LiveJob {
  JobTimes times;                    // by any clock; all jobs have finished
  std::vector<plot::GpuPiece> gpus;  // empty: on a server that is not in the setup
};
using RunLive = std::function<Result<std::vector<LiveJob>>(const LiveRun&)>;  // in order of submission

struct LiveSetup {
  std::vector<plot::HistoryServer> servers;
  std::string training;              // its name
  wire::GpuRange gpus;               // that it can run on; one server has that many
  std::vector<std::int64_t> counts;  // numbers of trainings, one run for each
  std::string folder;                // keeps traces and events of the twins
  RunLive run;

  int gpus_total() const { return servers.back().gpu_first + servers.back().gpus; }
  int gpus_per_server_max() const;
};

// How long a training takes alone on each number of GPUs of a range.
struct Lengths {
  int gpus_min = 1;
  std::vector<double> seconds;  // [0]: on gpus_min
  double on(int gpus) const { return seconds[static_cast<std::size_t>(gpus - gpus_min)]; }
};
inline constexpr int runs_alone = 3;  // the mean is the length
Result<Lengths> measure_lengths(const LiveSetup& setup, wire::GpuRange gpus);

struct Pair {
  std::vector<LiveJob> simulated, real;  // seconds since the first submission
};
// Errors: "cluster-changed", and those of the run, of writing the trace, and of the policy.
Result<Pair> run_both(const LiveSetup& setup, const Lengths& lengths, const LiveRun& run);
// The jobs of a run if they are submitted at these moments. Round robin begins with server `first_server`.
Result<std::vector<LiveJob>> simulate_live(const LiveSetup& setup, const Lengths& lengths, const LiveRun& run,
                                           const std::vector<double>& submitted_s, int first_server = 0);

std::vector<JobTimes> times_of(const std::vector<LiveJob>& jobs);
plot::History history_of(const LiveSetup& setup, const std::vector<LiveJob>& jobs);
// Both count from the first start, as in the thesis.
double makespan_s(const std::vector<LiveJob>& jobs);
double turnaround_s(const std::vector<LiveJob>& jobs);  // mean

}  // namespace sl::reproduce
