// Tetris against FIFO on 20 servers (report S002; policies.md 7). There a job is 30 tasks; here each task is a job on a
// GPU of its own and the tasks of one job share a user, so a job completes with its last task.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reproduce/charts.h"
#include "reproduce/registry.h"
#include "reproduce/simulations.h"

namespace sl::reproduce {
namespace {

constexpr double gibibyte = 1024.0 * 1024 * 1024;

struct Contender {
  const char* key;
  const char* title;
  const char* policy;
  GivenParameters parameters;
};

std::vector<Contender> contenders() {
  const auto packing = [](const char* score, const char* order) {
    return GivenParameters{{"score", score}, {"order", order}, {"srtf_weight", "0"}};
  };
  return {{"fifo", "FIFO", "fifo", {}},
          {"first_fit", "first fit, skipping", "fifo_first_fit", {}},
          {"tetris", "Tetris", "tetris", packing("dot", "node_major")},
          {"cosine", "Tetris, cosine", "tetris", packing("cosine", "node_major")},
          {"by_task", "Tetris, job by job", "tetris", packing("dot", "task_major")}};
}

// GPUs are not a resource in that report: each server has as many as it may, so that they limit nothing.
sim::Cluster twenty_servers() {
  sim::Cluster cluster = sim::Cluster::uniform(20, 64);
  ResourceVector& capacity = cluster.kinds.front().capacity;
  capacity[Resource::cpu] = 16;
  capacity[Resource::memory] = 64 * gibibyte;
  capacity[Resource::disk] = 3000 * gibibyte;
  capacity[Resource::network] = 5e9;
  return cluster;
}

std::vector<double> completion_of_whole_jobs(const Simulated& simulated) {
  std::map<std::uint32_t, double> by_job;
  for (const JobTimes& task : simulated.jobs) {
    double& jct = by_job[task.user];
    jct = std::max(jct, task.finished_s - task.submitted_s);
  }
  std::vector<double> values;
  for (const auto& [_, jct] : by_job) values.push_back(jct);
  return values;
}

plot::Figure completion_chart(const std::vector<Sample>& spread, int seeds) {
  return figure_of(
      "Job completion time, Tetris and FIFO",
      fmt::format("Completion: last of a job's 30 tasks to finish - submission. n = {} jobs each: 40 jobs, "
                  "seeds 1 to {}, all policies on the same workloads.",
                  spread.front().values.size(), seeds),
      {cumulative_panel("Job completion time", plot::Unit::seconds, spread)});
}

plot::Figure makespan_chart(const Findings& findings) {
  std::vector<Sample> makespans = {published("FIFO", 7083), published("Tetris", 5519)};
  std::vector<Sample> completions = {published("FIFO", 2415), published("Tetris", 2230)};
  for (const Contender& contender : contenders()) {
    const std::string key = contender.key;
    makespans.push_back({contender.title, findings.sample(key + ".makespan_s")});
    completions.push_back({contender.title, findings.sample(key + ".jct_s")});
  }
  return figure_of(
      "Makespan and mean job completion time",
      "Whiskers: 95 % interval of the mean over seeds (Student's t). Published: one run each, on different "
      "workloads.",
      {bar_panel({"Makespan", plot::Unit::seconds}, makespans),
       bar_panel({"Mean job completion time", plot::Unit::seconds}, completions)});
}

void add_changes(Findings& findings) {
  const auto add = [&](const std::string& key, const std::string& before, const std::string& after) {
    const auto &from = findings.sample(before), &to = findings.sample(after);
    for (std::size_t i = 0; i < from.size(); ++i) findings.add(key, 100 * (to[i] - from[i]) / from[i]);
  };
  add("makespan_change_pct", "fifo.makespan_s", "tetris.makespan_s");
  add("jct_change_pct", "fifo.jct_s", "tetris.jct_s");
  add("first_fit_jct_change_pct", "tetris.jct_s", "first_fit.jct_s");
}

Result<Findings> run_tetris_vs_fifo(const Request& request) {
  std::vector<Scenario> scenarios;
  for (const Contender& contender : contenders()) {
    for (const std::uint64_t seed : seeds_up_to(request.seeds))
      scenarios.push_back({"tetris", twenty_servers(), contender.policy, contender.parameters, seed});
  }
  const auto simulated = simulate_all(scenarios);
  if (!simulated.ok()) return simulated.error();
  Findings findings;
  std::vector<Sample> spread;
  std::size_t next = 0;
  for (const Contender& contender : contenders()) {
    const std::string key = contender.key;
    spread.push_back({contender.title, {}});
    for (int i = 0; i < request.seeds; ++i) {
      const Simulated& one = (*simulated)[next++];
      const std::vector<double> jct = completion_of_whole_jobs(one);
      findings.add(key + ".makespan_s", one.metrics.makespan_s);
      findings.add(key + ".jct_s", estimate(jct).mean);
      spread.back().values.insert(spread.back().values.end(), jct.begin(), jct.end());
    }
  }
  add_changes(findings);
  findings.charts.push_back({"completion", completion_chart(spread, request.seeds)});
  findings.charts.push_back({"makespan", makespan_chart(findings)});
  return findings;
}

// Three standard deviations of a figure of both.
std::string widths(const Findings& f, const char* figure) {
  const auto width = [&](const std::string& policy) { return 3 * f.deviation(policy + figure); };
  return fmt::format("± {:.0f} s for Tetris, ± {:.0f} s for FIFO", width("tetris"), width("fifo"));
}

}  // namespace

Experiment tetris_vs_fifo() {
  Experiment e;
  e.name = "tetris-vs-fifo";
  e.title = "Tetris against FIFO on 20 servers";
  e.source = "course report on Tetris and Gandiva (code: brian-yu/tetris-scheduler-simulator)";
  e.seeds = 20;
  e.method =
      "20 servers of 16 cores, 64 GiB, 3000 GiB disk, 5 Gb/s; 40 jobs of 30 equal tasks of 260 s, one random demand "
      "per "
      "job, "
      "submitted within 3000 s. The production policies under the virtual clock, every policy on the same workload of "
      "a "
      "seed. Tetris is the normalised dot product, server by server, without the shortest-first term.";
  e.choices = {{"Tetris: normalised dot product, server by server, without the shortest-first term",
                "the report's code; its text names cosine similarity, which runs too"},
               {"jobs arrive within 3000 s", "the report; its code has 1000 s"},
               {"demands: 1 to 8 cores, 1 to 32 GiB, up to 1500 GiB of disk, 1 or 2 Gb/s, drawn evenly for each job",
                "the workload `tetris`; no demand is larger than half a server"}};
  e.notes = {
      "Nothing is fitted.",
      "The report names cosine similarity; its code uses the normalised dot product, allocates the task it looked at "
      "last instead of the best one, does not check that it fits, and gives each policy a different workload. None of "
      "this is copied.",
      "Jobs arrive within 3000 s as the report says; its code has 1000 s."};
  e.measures = {
      {"tetris.makespan_s", "makespan, Tetris", "s", 5519, "", Basis::predicted,
       "theirs is one run, which puts more on a server than fits"},
      {"fifo.makespan_s", "makespan, FIFO", "s", 7083, "", Basis::predicted, "theirs is one run on another workload"},
      {"makespan_change_pct", "makespan, Tetris against FIFO", "%", -22.1, "", Basis::predicted,
       "theirs compares two workloads; ours is paired seed by seed"},
      {"tetris.jct_s", "mean completion, Tetris", "s", 2230, "", Basis::predicted, "theirs is one run"},
      {"fifo.jct_s", "mean completion, FIFO", "s", 2415, "", Basis::predicted, "theirs is one run"},
      {"jct_change_pct", "mean completion, Tetris against FIFO", "%", -7.7, "", Basis::predicted,
       "theirs compares two workloads"},
      {"first_fit.makespan_s", "makespan, first fit that skips", "s", std::nullopt, "not in the report",
       Basis::predicted, "the baseline the report lacks"},
      {"first_fit.jct_s", "mean completion, first fit that skips", "s", std::nullopt, "not in the report",
       Basis::predicted, "it beats Tetris's mean completion without packing anything"},
      {"cosine.makespan_s", "makespan, Tetris with cosine", "s", std::nullopt, "named, not run", Basis::predicted,
       "what the report describes"},
      {"by_task.jct_s", "mean completion, Tetris job by job", "s", std::nullopt, "", Basis::predicted,
       "the report's wording: each task chooses a server"}};
  e.claims = {{"Tetris finishes the whole workload sooner than FIFO",
               [](const Findings& f) { return f.of("makespan_change_pct").high < 0; }},
              {"the published makespans are within 3 standard deviations of ours",
               [](const Findings& f) {
                 return f.is_within_three_deviations("tetris.makespan_s", 5519) &&
                        f.is_within_three_deviations("fifo.makespan_s", 7083);
               },
               {},
               [](const Findings& f) { return widths(f, ".makespan_s"); }},
              {"the published completion times are within 3 standard deviations of ours",
               [](const Findings& f) {
                 return f.is_within_three_deviations("tetris.jct_s", 2230) &&
                        f.is_within_three_deviations("fifo.jct_s", 2415);
               },
               {},
               [](const Findings& f) { return widths(f, ".jct_s"); }},
              {"first fit that skips has a shorter mean completion than Tetris",
               [](const Findings& f) { return f.mean("first_fit.jct_s") < f.mean("tetris.jct_s"); }}};
  e.run = run_tetris_vs_fifo;
  return e;
}

}  // namespace sl::reproduce
