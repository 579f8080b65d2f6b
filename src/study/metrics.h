// The metrics of a simulation by their definitions (policies.md 14), and the bounds that no schedule can beat.
// `metric_infos` is the only list of them: JSON, tables, plots and docs/guide/simulator.md use it.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "sim/world.h"

namespace sl::study {

inline constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();  // there is nothing to measure

// Over finished jobs unless stated otherwise.
struct Metrics {
  double jobs = 0, unfinished = 0, failed = 0, idle_at_end_s = 0;
  double avg_jct_s = 0, p50_jct_s = 0, p95_jct_s = 0, p99_jct_s = 0;
  double avg_turnaround_from_start_s = 0;
  double avg_wait_s = 0, p95_wait_s = 0, avg_total_wait_s = 0;
  double avg_run_s = 0;
  double avg_slowdown = 0, p95_slowdown = 0;
  double makespan_s = 0, makespan_from_start_s = 0;
  double gpu_allocation_pct = 0, gpu_utilization_pct = 0, goodput_pct = 0;
  double fragmentation_pct = 0, demand_fragmentation_pct = 0;
  double p95_finish_time_fairness = 0, max_finish_time_fairness = 0, unfair_jobs_pct = 0;
  double jain_fairness = 0;
  double deadline_hit_pct = no_figure, avg_lateness_s = no_figure, avg_tardiness_s = no_figure;
  double preemptions = 0, resizes = 0, migrations = 0, failures = 0;
  double gpu_s_lost = 0;
  double server_losses = 0, decisions = 0, decisions_refused = 0;
  // Otherwise figures are of fewer jobs than those of other schedules of the trace.
  bool has_all_jobs() const { return unfinished + failed == 0; }
};

struct MetricInfo {
  std::string_view name;  // snake_case, unit last
  double Metrics::*value;
  std::string_view title;       // with the unit in brackets
  std::string_view definition;  // one sentence
  bool more_is_better = false;
};
std::span<const MetricInfo> metric_infos();

Metrics measure(const trace::Trace& trace, const sim::SimulationResult& result, const sim::Cluster& cluster);

struct LowerBounds {
  double makespan_s = 0;  // lower bound: no schedule ends before the last possible end of any job, nor does more work
                          // than the GPUs can
  double avg_jct_s = 0;   // lower bound: one pool of GPUs shared freely, shortest remaining work first; or each job
                          // alone at once
  friend bool operator==(const LowerBounds&, const LowerBounds&) = default;
};
LowerBounds lower_bounds(const trace::Trace& trace, const sim::Cluster& cluster);

// How a job fared compared with having its share alone: JCT / (its length on 1/contenders of the GPUs). Above 1: worse.
// no_figure of a job that has no length.
double finish_time_fairness(double jct_s, double length_s, int gpus, double contenders, double gpus_total);

}  // namespace sl::study
