// Makespan and turnaround of the Schedulearn thesis's policies over the number of jobs, and of 30 mixed jobs. Times
// count from the first start, as in the thesis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reproduce/charts.h"
#include "reproduce/interference.h"
#include "reproduce/registry.h"
#include "reproduce/thesis.h"
#include "trace/profiles.h"

namespace sl::reproduce {
namespace {

constexpr const char* frameworks[] = {"pytorch-mnist", "tf-mnist", "keras-mnist", "mxnet-mnist"};

std::string title_of(const std::string& profile) {
  for (const trace::MeasuredProfile& known : trace::measured_profiles()) {
    if (known.name == profile) return known.title;
  }
  return profile;
}

// The three policies and FIFO by the thesis's rule, which shares GPUs.
constexpr const char* lines[] = {"fifo", "fifo, sharing", "round_robin", "elastic_fifo"};

Scenario scenario_of(const std::string& line, const std::string& trace, const sim::Interference& interference) {
  Scenario scenario{trace, thesis_cluster(interference), line};
  return line == "fifo, sharing" ? with_sharing_fifo(std::move(scenario)) : scenario;
}

Status add_framework(Findings& findings, const std::string& framework, const sim::Interference& interference) {
  const std::vector<int> counts = {1, 5, 10, 15, 20};
  std::vector<Line> makespans, turnarounds;
  for (const char* line : lines) {
    std::vector<Scenario> scenarios;
    for (const int jobs : counts)
      scenarios.push_back(scenario_of(line, fmt::format("thesis/{}:jobs={}", framework, jobs), interference));
    const auto simulated = simulate_all(scenarios);
    if (!simulated.ok()) return simulated.error();
    makespans.push_back({line, {}});
    turnarounds.push_back({line, {}});
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const study::Metrics& m = (*simulated)[i].metrics;
      makespans.back().points.push_back({1.0 * counts[i], {m.makespan_from_start_s}});
      turnarounds.back().points.push_back({1.0 * counts[i], {m.avg_turnaround_from_start_s}});
    }
    findings.add(framework + "." + line + ".turnaround_20_s", turnarounds.back().points.back().values.front());
  }
  const AxisName jobs{"Jobs", plot::Unit::none, true};
  findings.charts.push_back(
      {framework,
       figure_of(title_of(framework) + ": makespan and turnaround by number of jobs",
                 "Makespan: last finish - first start. Turnaround: finish - first start, mean over jobs. One job "
                 "every 10 s on 1 GPU (elastic_fifo: 1 to 4), 3 servers of 4 GPUs. fifo and round_robin lie on "
                 "each other.",
                 {line_panel(jobs, {"Makespan", plot::Unit::seconds}, makespans),
                  line_panel(jobs, {"Turnaround", plot::Unit::seconds}, turnarounds)})});
  return {};
}

Status add_mixed(Findings& findings, const sim::Interference& interference, int seeds) {
  for (const char* policy : {"fifo", "elastic_fifo"}) {
    std::vector<Scenario> scenarios;
    for (const std::uint64_t seed : seeds_up_to(seeds))
      scenarios.push_back({"thesis/mixed:jobs=30", thesis_cluster(interference), policy, {}, seed});
    const auto simulated = simulate_all(scenarios);
    if (!simulated.ok()) return simulated.error();
    for (const Simulated& one : *simulated) findings.add(std::string(policy) + ".mixed_s", one.metrics.makespan_s);
  }
  return {};
}

Result<Findings> run_turnaround(const Request& request) {
  const auto fitted = fit_interference();
  if (!fitted.ok()) return fitted.error();
  Findings findings;
  for (const char* framework : frameworks) {
    if (Status added = add_framework(findings, framework, *fitted); !added.ok()) return added.error();
  }
  if (Status added = add_mixed(findings, *fitted, request.seeds); !added.ok()) return added.error();
  for (std::size_t i = 0; i < findings.sample("fifo.mixed_s").size(); ++i) {
    const double fifo = findings.sample("fifo.mixed_s")[i];
    findings.add("elastic_mixed_change_pct", 100 * (findings.sample("elastic_fifo.mixed_s")[i] - fifo) / fifo);
  }
  const auto change = [&](const std::string& key, const std::string& line, const std::string& than) {
    for (const std::string framework : frameworks) {
      const double before = findings.mean(framework + "." + than + ".turnaround_20_s");
      const double after = findings.mean(framework + "." + line + ".turnaround_20_s");
      findings.add(framework + "." + key, 100 * (after - before) / before);
    }
  };
  change("change_pct", "round_robin", "fifo");
  change("sharing_change_pct", "round_robin", "fifo, sharing");
  change("elastic_change_pct", "elastic_fifo", "fifo");
  findings.remarks = {fitted_text(*fitted)};
  return findings;
}

}  // namespace

Experiment schedulearn_turnaround() {
  Experiment e;
  e.name = "schedulearn-turnaround";
  e.title = "Makespan and turnaround of FIFO, round robin and elastic FIFO over 1 to 20 jobs";
  e.source = thesis_source;
  e.method =
      "One training every 10 s on 3 servers of 4 GPUs, four frameworks, one GPU per job; and 30 jobs mixed from the "
      "five "
      "trainings, as in the experiment databases of the thesis's repository. FIFO twice: one job per GPU, and by the "
      "thesis's "
      "rule, under which trainings share GPUs.";
  e.choices = {{"the speed that trainings on the same GPUs reach together",
                "fitted to another experiment's figure, the makespan of three ResNets under FIFO"},
               {"a GPU counts as below 90 % utilization from 15 s after its last job's start",
                "the simulator knows no utilization"},
               {"the 30 mixed jobs are drawn at random, once per seed", "which jobs the thesis drew is unknown"}};
  e.notes = {
      "The thesis shows these curves as pictures; the only numbers we have of this kind are the makespans of 30 mixed "
      "jobs "
      "in its "
      "repository's databases.",
      "Sharing FIFO is a bound: the simulator knows no utilization, so every GPU whose last job started 15 s ago or "
      "longer "
      "counts as below 90 %. Four small networks on one GPU may well slow each other down less than the ResNets did."};
  e.measures = {
      {"fifo.mixed_s", "makespan of 30 mixed jobs, FIFO", "s", 560.5, "", Basis::predicted,
       "mean over draws; which jobs the thesis drew is unknown. No slowdown by neighbours is needed to match it"},
      {"elastic_fifo.mixed_s", "makespan of 30 mixed jobs, elastic FIFO", "s", 779.9, "", Basis::predicted,
       "theirs never changes a job's GPUs: it stops the job that started last and restarts it from scratch"}};
  e.measures.push_back({"elastic_mixed_change_pct", "makespan of 30 mixed jobs, elastic FIFO against FIFO", "%", 39.1,
                        "", Basis::predicted, "theirs compares two draws of jobs, and restarts from scratch"});
  for (const char* framework : frameworks) {
    const std::string title = title_of(framework), key = framework;
    e.measures.push_back({key + ".sharing_change_pct",
                          "turnaround of 20 " + title + ", round robin against sharing FIFO", "%", std::nullopt,
                          "a picture", Basis::predicted, "a bound, see the note"});
  }
  e.measures.push_back({"pytorch-mnist.change_pct", "turnaround of 20 PyTorch MNIST, round robin against FIFO", "%",
                        std::nullopt, "a picture", Basis::predicted,
                        "with one job per GPU it makes no difference where a job runs"});
  e.measures.push_back({"pytorch-mnist.elastic_change_pct", "turnaround of 20 PyTorch MNIST, elastic FIFO against FIFO",
                        "%", std::nullopt, "a picture", Basis::predicted, ""});
  e.claims = {
      {"by the thesis's own rule, round robin's turnaround of 20 jobs is shorter than FIFO's in all four frameworks",
       [](const Findings& f) {
         return std::all_of(std::begin(frameworks), std::end(frameworks),
                            [&](const std::string framework) { return f.mean(framework + ".sharing_change_pct") < 0; });
       },
       {},
       nullptr,
       "our FIFO that shares GPUs is a bound, the most sharing that the rule allows"},
      {"round robin's turnaround is shorter than FIFO's also with one job per GPU",
       [](const Findings& f) { return f.mean("pytorch-mnist.change_pct") < -1; },
       "as far as we can tell, the two differ in the thesis because its FIFO shares GPUs"},
      {"their makespan of 30 mixed jobs under FIFO is within 3 standard deviations of ours",
       [](const Findings& f) { return f.is_within_three_deviations("fifo.mixed_s", 560.5); },
       {},
       [](const Findings& f) { return fmt::format("± {:.0f} s", 3 * f.deviation("fifo.mixed_s")); }},
      {"elastic FIFO needs more time than FIFO for 30 mixed jobs, as theirs does",
       [](const Findings& f) { return f.mean("elastic_fifo.mixed_s") > f.mean("fifo.mixed_s"); },
       "their slowdown comes from a defect, not from the idea"}};
  e.run = run_turnaround;
  e.seeds = 20;
  return e;
}

}  // namespace sl::reproduce
