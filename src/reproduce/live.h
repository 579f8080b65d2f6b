// Simulated beside real: the jobs that ran on a live cluster run again under the virtual clock, handed in at the same
// moments, as long as one of them took alone. What differs is what the simulator leaves out.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"
#include "reproduce/simulations.h"

namespace sl::reproduce {

struct LiveRun {
  std::string policy;
  std::vector<JobTimes> jobs;  // all finished; seconds of any clock
};

struct LiveRow {
  std::string policy;
  std::size_t jobs = 0;
  std::string metric;  // "makespan", "turnaround"; both from the first start, as in the thesis
  double simulated_s = 0, real_s = 0;
  double gap_pct() const { return 100 * (real_s - simulated_s) / simulated_s; }
};

// `folder` keeps the trace of each run, NAME.trace.csv. Errors: of writing it, and of the policy.
Result<std::vector<LiveRow>> compare_live(const sim::Cluster& cluster, double alone_s, const std::vector<LiveRun>& runs,
                                          const std::string& folder);

std::string live_table(const std::vector<LiveRow>& rows);
std::string live_csv(const std::vector<LiveRow>& rows);
plot::Figure live_figure(const std::vector<LiveRow>& rows, const std::string& caption);

}  // namespace sl::reproduce
