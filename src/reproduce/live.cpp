#include "reproduce/live.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/text_file.h"

namespace sl::reproduce {
namespace {

constexpr double shortest_s = 0.001;  // clusters report times in milliseconds

// Server `first` comes first, the others follow in their order.
sim::Cluster cluster_of(const std::vector<plot::HistoryServer>& servers, int first) {
  sim::Cluster cluster;
  for (const plot::HistoryServer& server : servers) cluster.kinds.emplace_back().gpus = server.gpus;
  std::rotate(cluster.kinds.begin(), cluster.kinds.begin() + first, cluster.kinds.end());
  return cluster;
}

// Speeds relative to the smallest number of GPUs it can run on; it never runs on fewer.
std::string profile_of(const Lengths& lengths, int gpus_max) {
  std::string profile = "speedup:1";
  for (int g = 2; g <= gpus_max; ++g)
    profile += fmt::format("|{:.6g}", lengths.seconds.front() / lengths.on(std::max(g, lengths.gpus_min)));
  return profile;
}

// Policies that do not resize give the maximum, as the controller does.
std::string trace_of(const Lengths& lengths, const LiveRun& run, const std::vector<double>& submitted_s) {
  std::string text = "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,profile\n";
  for (std::size_t j = 0; j < submitted_s.size(); ++j)
    text += fmt::format("{},{:.3f},{},{:.3f},{},{},{}\n", j + 1, submitted_s[j], run.gpus.max, lengths.on(run.gpus.max),
                        run.gpus.min, run.gpus.max, profile_of(lengths, run.gpus.max));
  return text;
}

double first_start(const std::vector<LiveJob>& jobs) {
  double first = jobs.front().times.started_s;
  for (const LiveJob& job : jobs) first = std::min(first, job.times.started_s);
  return first;
}

void count_from_first_submission(std::vector<LiveJob>& jobs) {
  double first = jobs.front().times.submitted_s;
  for (const LiveJob& job : jobs) first = std::min(first, job.times.submitted_s);
  for (LiveJob& job : jobs) {
    for (double* time : {&job.times.submitted_s, &job.times.started_s, &job.times.finished_s}) *time -= first;
  }
}

}  // namespace

int LiveSetup::gpus_per_server_max() const {
  int most = 0;
  for (const plot::HistoryServer& server : servers) most = std::max(most, server.gpus);
  return most;
}

Result<Lengths> measure_lengths(const LiveSetup& setup, wire::GpuRange gpus) {
  Lengths lengths{gpus.min, {}};
  for (int g = gpus.min; g <= gpus.max; ++g) {
    double sum = 0;
    for (int i = 0; i < runs_alone; ++i) {
      const auto jobs = setup.run({"fifo", {g, g}, 1, 0});
      if (!jobs.ok()) return jobs.error();
      sum += jobs->front().times.finished_s - jobs->front().times.started_s;
    }
    lengths.seconds.push_back(std::max(sum / runs_alone, shortest_s));
  }
  return lengths;
}

Result<std::vector<LiveJob>> simulate_live(const LiveSetup& setup, const Lengths& lengths, const LiveRun& run,
                                           const std::vector<double>& submitted_s, int first_server) {
  const std::string name = fmt::format("{}/{}-{}-on-{}", setup.folder, run.policy, submitted_s.size(), run.gpus.max);
  Scenario scenario{name + ".trace.csv", cluster_of(setup.servers, first_server), run.policy};
  scenario.events_file = name + ".events.csv";
  scenario.like_live = true;
  if (Status written = trace::write_text(scenario.trace, trace_of(lengths, run, submitted_s)); !written.ok())
    return written.error();
  const auto simulated = simulate_all({scenario});
  if (!simulated.ok()) return simulated.error();
  const auto history = plot::read_history(scenario.events_file);
  if (!history.ok()) return history.error();
  const int servers = static_cast<int>(setup.servers.size());
  std::vector<LiveJob> jobs;
  for (const JobTimes& times : simulated->front().jobs) jobs.push_back({times, {}});
  for (const plot::Holding& holding : history->holdings) {
    LiveJob& job = jobs[std::stoul(holding.job) - 1];
    job.gpus = holding.gpus;  // from start to end, since nothing interrupts it
    for (plot::GpuPiece& piece : job.gpus) piece.server = (piece.server + first_server) % servers;
  }
  return jobs;
}

Result<Pair> run_both(const LiveSetup& setup, const Lengths& lengths, const LiveRun& run) {
  auto real = setup.run(run);
  if (!real.ok()) return real.error();
  if (std::any_of(real->begin(), real->end(), [](const LiveJob& job) { return job.gpus.empty(); }))
    return conflict("cluster-changed", "a training ran on a server that was not up when the experiment began")
        .hint("run it again");
  count_from_first_submission(*real);
  std::vector<double> submitted_s;
  for (const LiveJob& job : *real) submitted_s.push_back(job.times.submitted_s);
  // The live cluster's round robin continues where it last was.
  const int first_server = run.policy == "round_robin" ? real->front().gpus.front().server : 0;
  auto simulated = simulate_live(setup, lengths, run, submitted_s, first_server);
  if (!simulated.ok()) return simulated.error();
  return Pair{std::move(*simulated), std::move(*real)};
}

std::vector<JobTimes> times_of(const std::vector<LiveJob>& jobs) {
  std::vector<JobTimes> times;
  for (const LiveJob& job : jobs) times.push_back(job.times);
  return times;
}

plot::History history_of(const LiveSetup& setup, const std::vector<LiveJob>& jobs) {
  plot::History history;
  history.servers = setup.servers;
  history.jobs = jobs.size();
  for (const LiveJob& job : jobs) {
    history.holdings.push_back({"", job.times.started_s, job.times.finished_s, job.gpus});
    history.end = std::max(history.end, job.times.finished_s);
  }
  return history;
}

double makespan_s(const std::vector<LiveJob>& jobs) {
  double last = 0;
  for (const LiveJob& job : jobs) last = std::max(last, job.times.finished_s);
  return last - first_start(jobs);
}

double turnaround_s(const std::vector<LiveJob>& jobs) {
  double sum = 0;
  for (const LiveJob& job : jobs) sum += job.times.finished_s - job.times.started_s;
  return sum / static_cast<double>(jobs.size());
}

}  // namespace sl::reproduce
