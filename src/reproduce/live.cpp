#include "reproduce/live.h"

#include <fmt/format.h>

#include <algorithm>

#include "reproduce/charts.h"
#include "sim/trace_file.h"

namespace sl::reproduce {
namespace {

double first_start(const std::vector<JobTimes>& jobs) {
  return std::min_element(jobs.begin(), jobs.end(),
                          [](const JobTimes& a, const JobTimes& b) { return a.started_s < b.started_s; })
      ->started_s;
}

double makespan(const std::vector<JobTimes>& jobs) {
  double last = 0;
  for (const JobTimes& job : jobs) last = std::max(last, job.finished_s);
  return last - first_start(jobs);
}

double turnaround(const std::vector<JobTimes>& jobs) {
  double sum = 0;
  for (const JobTimes& job : jobs) sum += job.finished_s - job.started_s;
  return sum / static_cast<double>(jobs.size());
}

std::string trace_of(const LiveRun& run, double alone_s) {
  std::string text = "job_id,submit_time_s,gpus,duration_s\n";
  double first = run.jobs.front().submitted_s;
  for (const JobTimes& job : run.jobs) first = std::min(first, job.submitted_s);
  for (std::size_t j = 0; j < run.jobs.size(); ++j)
    text += fmt::format("{},{:.3f},1,{:.3f}\n", j + 1, run.jobs[j].submitted_s - first, alone_s);
  return text;
}

Line line_of(const std::vector<LiveRow>& rows, const std::string& metric, const std::string& policy, bool real) {
  Line line{policy + (real ? ", real" : ", simulated"), {}};
  for (const LiveRow& row : rows) {
    if (row.metric == metric && row.policy == policy)
      line.points.push_back({static_cast<double>(row.jobs), {real ? row.real_s : row.simulated_s}});
  }
  return line;
}

}  // namespace

Result<std::vector<LiveRow>> compare_live(const sim::Cluster& cluster, double alone_s, const std::vector<LiveRun>& runs,
                                          const std::string& folder) {
  std::vector<Scenario> scenarios;
  for (const LiveRun& run : runs) {
    const std::string path = fmt::format("{}/{}-{}.trace.csv", folder, run.policy, run.jobs.size());
    if (Status written = sim::write_text(path, trace_of(run, alone_s)); !written.ok()) return written.error();
    scenarios.push_back({path, cluster, run.policy});
  }
  const auto simulated = simulate_all(scenarios);
  if (!simulated.ok()) return simulated.error();
  std::vector<LiveRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto &virtual_jobs = (*simulated)[i].jobs, &real_jobs = runs[i].jobs;
    rows.push_back({runs[i].policy, real_jobs.size(), "makespan", makespan(virtual_jobs), makespan(real_jobs)});
    rows.push_back({runs[i].policy, real_jobs.size(), "turnaround", turnaround(virtual_jobs), turnaround(real_jobs)});
  }
  return rows;
}

std::string live_table(const std::vector<LiveRow>& rows) {
  std::string text = fmt::format("  {:<12}  {:>4}  {:<10}  {:>11}  {:>8}  {:>8}\n", "POLICY", "JOBS", "", "SIMULATED s",
                                 "REAL s", "GAP %");
  for (const LiveRow& row : rows)
    text += fmt::format("  {:<12}  {:>4}  {:<10}  {:>11.2f}  {:>8.2f}  {:>+8.1f}\n", row.policy, row.jobs, row.metric,
                        row.simulated_s, row.real_s, row.gap_pct());
  return text;
}

std::string live_csv(const std::vector<LiveRow>& rows) {
  std::string text = "policy,jobs,metric,simulated_s,real_s,gap_pct\n";
  for (const LiveRow& row : rows)
    text += fmt::format("{},{},{},{:.6g},{:.6g},{:.6g}\n", row.policy, row.jobs, row.metric, row.simulated_s,
                        row.real_s, row.gap_pct());
  return text;
}

plot::Figure live_figure(const std::vector<LiveRow>& rows, const std::string& caption) {
  std::vector<std::string> policies;
  for (const LiveRow& row : rows) {
    if (std::find(policies.begin(), policies.end(), row.policy) == policies.end()) policies.push_back(row.policy);
  }
  std::vector<plot::Panel> panels;
  for (const char* metric : {"makespan", "turnaround"}) {
    std::vector<Line> lines;
    for (const std::string& policy : policies) {
      lines.push_back(line_of(rows, metric, policy, false));
      lines.push_back(line_of(rows, metric, policy, true));
    }
    panels.push_back(line_panel({"Jobs", plot::Unit::none, true},
                                {metric == std::string("makespan") ? "Makespan" : "Turnaround", plot::Unit::seconds},
                                lines));
  }
  return figure_of("Simulated beside real", caption, std::move(panels));
}

}  // namespace sl::reproduce
