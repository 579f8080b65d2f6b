// The queues of the Schedulearn thesis: arrivals of jobs, makespan and turnaround over the number of jobs, three
// ResNets, and how full the servers are. Times count from the first start, as in the thesis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/utilization.h"
#include "reproduce/charts.h"
#include "reproduce/interference.h"
#include "reproduce/registry.h"
#include "reproduce/thesis.h"
#include "trace/profiles.h"

namespace sl::reproduce {
namespace {

// ---- arrivals ----

Result<Findings> run_submission(const Request&) {
  Findings findings;
  std::vector<Line> arrivals, present;
  for (const int jobs : {5, 10, 15, 20}) {
    const auto simulated =
        simulate_all({{fmt::format("thesis/pytorch-mnist:jobs={}", jobs), thesis_cluster({}), "fifo"}});
    if (!simulated.ok()) return simulated.error();
    Line came{fmt::format("{} jobs", jobs), {}};
    for (const JobTimes& job : simulated->front().jobs)
      came.points.push_back({job.submitted_s, {static_cast<double>(came.points.size() + 1)}});
    Line here = in_system(came.name, simulated->front().jobs);
    findings.add(fmt::format("{}.last_s", jobs), came.points.back().x);
    findings.add(fmt::format("{}.most", jobs), highest(here));
    arrivals.push_back(std::move(came));
    present.push_back(std::move(here));
  }
  const AxisName time{"Time since the first submission", plot::Unit::seconds};
  findings.charts.push_back(
      {"submission",
       figure_of("Jobs over time in the four waves",
                 "One job every 10 s. Right: submitted and not yet finished, PyTorch MNIST on one GPU each, "
                 "FIFO, 12 GPUs.",
                 {line_panel(time, {"Jobs submitted"}, arrivals), line_panel(time, {"Jobs in the system"}, present)})});
  return findings;
}

// ---- three ResNets ----

Result<Findings> run_resnet(const Request&) {
  const auto fitted = fit_interference();
  if (!fitted.ok()) return fitted.error();
  Findings findings;
  std::vector<Sample> makespans = {published("fifo", 574.5), published("round_robin", 448.0)};
  std::vector<Sample> turnarounds = {published("fifo", 326.9), published("round_robin", 209.9)};
  for (const char* policy : thesis_policies) {
    const auto simulated = simulate_all({three_resnets(policy, *fitted)});
    if (!simulated.ok()) return simulated.error();
    const study::Metrics& m = simulated->front().metrics;
    findings.add(std::string(policy) + ".makespan_s", m.makespan_from_start_s);
    findings.add(std::string(policy) + ".turnaround_s", m.avg_turnaround_from_start_s);
    makespans.push_back({policy, {m.makespan_from_start_s}});
    turnarounds.push_back({policy, {m.avg_turnaround_from_start_s}});
  }
  const auto change = [&](const std::string& key, const std::string& figure) {
    const double fifo = findings.mean("fifo." + figure);
    findings.add(key, 100 * (findings.mean("round_robin." + figure) - fifo) / fifo);
  };
  change("makespan_change_pct", "makespan_s");
  change("turnaround_change_pct", "turnaround_s");
  findings.charts.push_back(
      {"resnets", figure_of("Three ResNets, two minutes apart",
                            "Makespan: last finish - first start. Turnaround: finish - first start, mean of three.",
                            {bar_panel({"Makespan", plot::Unit::seconds}, makespans),
                             bar_panel({"Turnaround", plot::Unit::seconds}, turnarounds)})});
  findings.remarks = {fitted_text(*fitted)};
  return findings;
}

// ---- servers over time ----

constexpr double beginning_s = 120;  // while jobs arrive and GPUs are still free

Result<plot::History> history_of(const std::string& framework, const std::string& policy, const std::string& folder) {
  const std::string file = folder + "/" + framework + "-" + policy + ".events.csv";
  const auto simulated =
      simulate_all({{fmt::format("thesis/{}:jobs=20", framework), thesis_cluster({}), policy, {}, 1, {}, {}, file}});
  if (!simulated.ok()) return simulated.error();
  return plot::read_history(file);
}

// Percentage points between the servers with the highest and the lowest share of GPUs held in the beginning.
double spread_of(const plot::History& history) {
  const std::vector<double> shares = plot::allocated_shares(history, {0, beginning_s});
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  return 100 * (*most - *least);
}

Result<Findings> run_utilization(const Request& request) {
  Findings findings;
  for (const char* framework : {"pytorch-mnist", "tf-mnist", "mxnet-mnist"}) {
    std::vector<plot::NamedHistory> histories;
    for (const char* policy : thesis_policies) {
      auto history = history_of(framework, policy, request.folder);
      if (!history.ok()) return history.error();
      findings.add(fmt::format("{}.{}.spread_pct", framework, policy), spread_of(*history));
      histories.push_back({policy, std::move(*history)});
    }
    auto figure = plot::utilization_figure(histories, plot::By::server, {});
    if (!figure.ok()) return figure.error();
    figure->title = fmt::format("GPUs held on each server, {}", framework);
    findings.charts.push_back({framework, std::move(*figure)});
  }
  return findings;
}

}  // namespace

Experiment schedulearn_submission() {
  Experiment e;
  e.name = "schedulearn-submission";
  e.title = "Submission pattern: 5, 10, 15, 20 jobs, one every 10 s";
  e.source = thesis_source;
  e.method = "The four waves of PyTorch MNIST trainings that the workload generates, and how many are in the system.";
  for (const int jobs : {5, 10, 15, 20})
    e.measures.push_back({fmt::format("{}.last_s", jobs), fmt::format("last of {} jobs is submitted at", jobs), "s",
                          10.0 * (jobs - 1), "", Basis::input, ""});
  e.measures.push_back({"20.most", "most jobs in the system at once, 20 jobs", "", std::nullopt, "", Basis::predicted,
                        "12 GPUs: more than that have to wait"});
  e.choices = {{"PyTorch MNIST on one GPU each, under FIFO", "the waves are the same for every training"}};
  e.notes = {"The thesis's results also mention a wave of 25 jobs that its method section does not have."};
  e.claims = {{"the wave of 20 jobs is more than the 12 GPUs can hold at once",
               [](const Findings& f) { return f.mean("20.most") > 12; }},
              {"in the wave of 10 jobs no job ever waits", [](const Findings& f) { return f.mean("10.most") <= 12; }}};
  e.run = run_submission;
  e.seeds = 1;
  return e;
}

Experiment schedulearn_resnet() {
  Experiment e;
  e.name = "schedulearn-resnet";
  e.title = "Three ResNets under FIFO and round robin";
  e.source = thesis_source;
  e.method =
      "Three PyTorch ResNet trainings on three GPUs each, two minutes apart, on 3 servers of 4 GPUs. FIFO by the "
      "thesis's "
      "rule: a GPU below 90 % utilization is usable, so all three share the first server's.";
  e.notes = {
      "The number of GPUs per job is not stated: three fit the table's round-robin turnaround best (216.2 s alone; "
      "four would "
      "be "
      "194.6 s, two 250.4 s).",
      "The makespan under FIFO and the turnaround under round robin are fitted; the other two figures of the table are "
      "predicted."};
  e.choices = {
      {"three GPUs per ResNet", "fitted to the turnaround under round robin, 209.9 s"},
      {"the speed that trainings on the same GPUs reach together", "fitted to the makespan under FIFO, 574.5 s"},
      {"a GPU counts as below 90 % utilization from 15 s after its last job's start",
       "the simulator knows no utilization"}};
  e.measures = {{"fifo.makespan_s", "makespan, FIFO", "s", 574.5, "", Basis::fitted,
                 "the speed that trainings sharing GPUs reach together"},
                {"fifo.turnaround_s", "turnaround, FIFO", "s", 326.9, "", Basis::predicted,
                 "equal shares are assumed; the one fitted number is the same for two and for three"},
                {"round_robin.makespan_s", "makespan, round robin", "s", 448.0, "", Basis::predicted,
                 "the profile says 216.2 s on three GPUs, their runs took 208 s"},
                {"round_robin.turnaround_s", "turnaround, round robin", "s", 209.9, "", Basis::fitted,
                 "the number of GPUs per job, of which three come nearest"},
                {"makespan_change_pct", "makespan, round robin against FIFO", "%", -22.0, "", Basis::predicted, ""},
                {"turnaround_change_pct", "turnaround, round robin against FIFO", "%", -35.8, "", Basis::predicted, ""},
                {"elastic_fifo.turnaround_s", "turnaround, elastic FIFO", "s", std::nullopt, "", Basis::predicted,
                 "each job grows to a whole server"}};
  e.claims = {
      {"round robin beats FIFO in makespan and turnaround",
       [](const Findings& f) { return f.mean("makespan_change_pct") < 0 && f.mean("turnaround_change_pct") < 0; }},
      {"the two predicted times are within 10 % of the published ones", [](const Findings& f) {
         const auto near = [&](const char* key, double published) {
           return std::abs(f.mean(key) - published) <= 0.1 * published;
         };
         return near("fifo.turnaround_s", 326.9) && near("round_robin.makespan_s", 448.0);
       }}};
  e.run = run_resnet;
  e.seeds = 1;
  return e;
}

Experiment schedulearn_utilization() {
  Experiment e;
  e.name = "schedulearn-utilization";
  e.title = "GPUs held on each server over time";
  e.source = thesis_source;
  e.method =
      "20 trainings of each of three frameworks, one every 10 s, 3 servers of 4 GPUs; the GPUs each policy holds on "
      "each server.";
  e.choices = {{"the first 2 minutes", "while jobs arrive and GPUs are still free"}};
  e.notes = {
      "The thesis draws the utilization its GPUs report; the simulator knows which GPUs are held. It can show "
      "where the work goes, not how busy a GPU is."};
  for (const char* policy : thesis_policies) {
    const std::string name = policy;
    const char* said = name == "fifo" ? "one after the other" : name == "round_robin" ? "evenly" : "";
    e.measures.push_back({"pytorch-mnist." + name + ".spread_pct", "PyTorch, first 2 min: between servers, " + name,
                          "% points", std::nullopt, said, Basis::predicted, ""});
  }
  e.claims = {
      {"FIFO fills one server after the other, round robin all equally, for long trainings (PyTorch, TensorFlow)",
       [](const Findings& f) {
         const auto spread = [&](const char* key) { return f.mean(std::string(key) + ".spread_pct"); };
         return spread("pytorch-mnist.fifo") > 2 * spread("pytorch-mnist.round_robin") &&
                spread("tf-mnist.fifo") > 2 * spread("tf-mnist.round_robin");
       }}};
  e.run = run_utilization;
  e.seeds = 1;
  return e;
}

}  // namespace sl::reproduce
