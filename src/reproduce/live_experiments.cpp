#include "reproduce/live_experiments.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "plot/text.h"
#include "plot/utilization.h"
#include "reproduce/charts.h"
#include "reproduce/scaling.h"
#include "reproduce/thesis.h"

namespace sl::reproduce {
namespace {

constexpr double interval_of_length = 10.0 / 157;  // the thesis: one every 10 s, with trainings of 157 s
constexpr double resnets_of_length = 120.0 / 216;  // the thesis's ResNets: one every 120 s, of 216 s

// Elastic policies choose from the whole range; the others give one GPU, or as few as it can run on.
wire::GpuRange gpus_under(const std::string& policy, const LiveSetup& setup) {
  return policy == "elastic_fifo" ? setup.gpus : wire::GpuRange{setup.gpus.min, setup.gpus.min};
}

std::string gpus_text(int gpus) { return plot::counted(static_cast<std::size_t>(gpus), "GPU"); }

std::string length_text(const Lengths& lengths, int gpus) {
  return fmt::format("{:.2f} s alone on {} (mean of {})", lengths.on(gpus), gpus_text(gpus), runs_alone);
}

Error too_few_gpus(const LiveSetup& setup, int wanted) {
  if (setup.gpus_per_server_max() < wanted)
    return conflict("cluster-too-small", fmt::format("no server that is up has {} GPUs", wanted))
        .note(fmt::format("the largest has {}", setup.gpus_per_server_max()))
        .hint(fmt::format("schedulearn up --simulate {}", wanted));
  return invalid("bad-job", fmt::format("the training does not run on {} GPUs", wanted))
      .hint("a job file with gpus = \"1..4\", such as examples/real-cnn.toml");
}

// ---- on more GPUs ----

Result<LiveResult> run_speedup(const LiveSetup& setup) {
  const int least = setup.gpus.min, most = setup.gpus.max;
  if (most == least) return too_few_gpus(setup, least + 1);
  const auto first = measure_lengths(setup, setup.gpus);
  if (!first.ok()) return first.error();
  const auto again = measure_lengths(setup, setup.gpus);
  if (!again.ok()) return again.error();
  Lengths simulated{least, {}};
  for (int g = least; g <= most; ++g) {
    const auto jobs = simulate_live(setup, *first, {"fifo", {g, g}, 1, 0}, {0});
    if (!jobs.ok()) return jobs.error();
    simulated.seconds.push_back(makespan_s(*jobs));
  }
  LiveResult result{"Training", "GPUs", true};
  for (int g = least; g <= most; ++g) {
    result.rows.push_back({setup.training, std::to_string(g), duration_metric, simulated.on(g), again->on(g)});
    result.rows.push_back({setup.training, std::to_string(g), speedup_metric, simulated.on(least) / simulated.on(g),
                           again->on(least) / again->on(g)});
  }
  result.caption = fmt::format(
      "alone on {} to {}, {} times each (mean); then all of it again. Simulated: with the durations of the first time. "
      "Real: the second time",
      least, gpus_text(most), runs_alone);
  return result;
}

Result<LiveResult> run_scalability(const LiveSetup& setup) {
  if (setup.gpus.min > 1)
    return invalid("bad-job", "the training does not run on one GPU").hint("a job file with gpus = \"1..4\"");
  if (setup.gpus.max < 3) return too_few_gpus(setup, 3);
  const auto lengths = measure_lengths(setup, setup.gpus);
  if (!lengths.ok()) return lengths.error();
  LiveResult result{"Training", "GPUs", true};
  Line ideal{"ideal", {}, 1}, predicted{"simulated", {}, 0, plot::Tone::pale}, measured{"real", {}, 0};
  for (int g = 1; g <= setup.gpus.max; ++g) {
    const double told = predicted_speedup(lengths->seconds, 2, g), truth = lengths->on(1) / lengths->on(g);
    if (g > 2) result.rows.push_back({setup.training, std::to_string(g), speedup_metric, told, truth});
    ideal.points.push_back({1.0 * g, {1.0 * g}});
    predicted.points.push_back({1.0 * g, {told}});
    measured.points.push_back({1.0 * g, {truth}});
  }
  result.panels = {line_panel({"GPUs", plot::Unit::none, true}, {"Speedup"}, {predicted, measured, ideal})};
  result.caption = fmt::format(
      "alone on 1 to {} GPUs, {} times each (mean). Simulated: the speed model, given only the durations on 1 and "
      "on 2 GPUs",
      setup.gpus.max, runs_alone);
  return result;
}

// ---- queues ----

Result<LiveResult> run_submission(const LiveSetup& setup) {
  const int gpus = setup.gpus.min;
  const auto lengths = measure_lengths(setup, {gpus, gpus});
  if (!lengths.ok()) return lengths.error();
  const double interval_s = lengths->on(gpus) * interval_of_length;
  LiveResult result{"Policy", "Jobs", true};
  std::vector<Line> lines;
  for (const std::int64_t count : setup.counts) {
    const auto pair = run_both(setup, *lengths, {"fifo", {gpus, gpus}, count, interval_s});
    if (!pair.ok()) return pair.error();
    const std::string x = std::to_string(count);
    const std::string jobs = plot::counted(static_cast<std::size_t>(count), "job");
    Line simulated = in_system(jobs + ", simulated", times_of(pair->simulated));
    Line real = in_system(jobs + ", real", times_of(pair->real));
    simulated.style = real.style = static_cast<int>(lines.size() / 2);
    simulated.tone = plot::Tone::pale;
    result.rows.push_back({"fifo", x, most_metric, highest(simulated), highest(real)});
    result.rows.push_back({"fifo", x, last_end_metric, simulated.points.back().x, real.points.back().x});
    lines.insert(lines.end(), {simulated, real});
  }
  result.panels = {line_panel({"Time since the first submission", plot::Unit::seconds}, {"Jobs in the system"}, lines)};
  result.caption = fmt::format("{}; one every {:.2f} s", length_text(*lengths, gpus), interval_s);
  return result;
}

Result<LiveResult> run_turnaround(const LiveSetup& setup) {
  const auto lengths = measure_lengths(setup, setup.gpus);
  if (!lengths.ok()) return lengths.error();
  const double interval_s = lengths->on(setup.gpus.min) * interval_of_length;
  LiveResult result{"Policy", "Jobs", true};
  for (const std::string policy : thesis_policies) {
    for (const std::int64_t count : setup.counts) {
      const auto pair = run_both(setup, *lengths, {policy, gpus_under(policy, setup), count, interval_s});
      if (!pair.ok()) return pair.error();
      result.rows.push_back(
          {policy, std::to_string(count), makespan_metric, makespan_s(pair->simulated), makespan_s(pair->real)});
      result.rows.push_back(
          {policy, std::to_string(count), turnaround_metric, turnaround_s(pair->simulated), turnaround_s(pair->real)});
    }
  }
  result.caption = fmt::format("{}; one every {:.2f} s", length_text(*lengths, setup.gpus.min), interval_s);
  return result;
}

Result<LiveResult> run_resnet(const LiveSetup& setup) {
  const int gpus = setup.gpus.max;
  const auto lengths = measure_lengths(setup, {gpus, gpus});
  if (!lengths.ok()) return lengths.error();
  const double interval_s = lengths->on(gpus) * resnets_of_length;
  LiveResult result{"Policy", ""};
  for (const std::string policy : {"fifo", "round_robin"}) {
    const auto pair = run_both(setup, *lengths, {policy, {gpus, gpus}, 3, interval_s});
    if (!pair.ok()) return pair.error();
    result.rows.push_back({policy, "", makespan_metric, makespan_s(pair->simulated), makespan_s(pair->real)});
    result.rows.push_back({policy, "", turnaround_metric, turnaround_s(pair->simulated), turnaround_s(pair->real)});
  }
  result.caption = fmt::format("{}; three of them, {:.2f} s apart", length_text(*lengths, gpus), interval_s);
  return result;
}

// ---- servers over time ----

// One panel per server, in the colour of the policy.
Result<std::vector<plot::Panel>> held_panels(const std::string& policy, int style, const plot::History& simulated,
                                             const plot::History& real) {
  if (real.servers.size() > plot::server_panels_max) return std::vector<plot::Panel>{};
  auto figure =
      plot::utilization_figure({{policy + ", simulated", simulated}, {policy + ", real", real}}, plot::By::server, {});
  if (!figure.ok()) return figure.error();
  for (plot::Panel& panel : figure->panels) {
    panel.y.name = policy + ", " + panel.y.name;
    for (plot::Series& series : panel.series) series.style = style;
    panel.series.front().tone = plot::Tone::pale;
  }
  return std::move(figure->panels);
}

// The time during which jobs arrive for all GPUs, as in the thesis: 12 GPUs, the first 120 s.
Result<LiveResult> run_utilization(const LiveSetup& setup) {
  const auto lengths = measure_lengths(setup, setup.gpus);
  if (!lengths.ok()) return lengths.error();
  const double interval_s = lengths->on(setup.gpus.min) * interval_of_length;
  const int count = setup.gpus_total() / setup.gpus.min;
  const plot::Range beginning = {0, count * interval_s};
  LiveResult result{"Policy", "Server"};
  int style = 0;
  for (const std::string policy : thesis_policies) {
    const auto pair = run_both(setup, *lengths, {policy, gpus_under(policy, setup), count, interval_s});
    if (!pair.ok()) return pair.error();
    const plot::History simulated = history_of(setup, pair->simulated), real = history_of(setup, pair->real);
    const auto simulated_shares = allocated_shares(simulated, beginning),
               real_shares = allocated_shares(real, beginning);
    for (std::size_t s = 0; s < setup.servers.size(); ++s)
      result.rows.push_back(
          {policy, setup.servers[s].name, held_metric, 100 * simulated_shares[s], 100 * real_shares[s]});
    auto panels = held_panels(policy, style++, simulated, real);
    if (!panels.ok()) return panels.error();
    result.panels.insert(result.panels.end(), panels->begin(), panels->end());
  }
  result.caption = fmt::format("{}; {} of them, one every {:.2f} s, held in the first {:.2f} s",
                               length_text(*lengths, setup.gpus.min), count, interval_s, beginning.high);
  return result;
}

}  // namespace

const std::vector<LiveExperiment>& live_experiments() {
  static const std::vector<LiveExperiment> list = {{"schedulearn-speedup", "", run_speedup},
                                                   {"schedulearn-scalability", "", run_scalability},
                                                   {"schedulearn-submission", "5,10", run_submission},
                                                   {"schedulearn-turnaround", "1,5,10", run_turnaround},
                                                   {"schedulearn-resnet", "", run_resnet},
                                                   {"schedulearn-utilization", "", run_utilization}};
  return list;
}

Result<const LiveExperiment*> find_live_experiment(const std::string& name) {
  std::vector<std::string> names;
  for (const LiveExperiment& experiment : live_experiments()) {
    if (experiment.name == name) return &experiment;
    names.emplace_back(experiment.name);
  }
  Error error =
      invalid("bad-flag", name + " does not run on a live cluster").note("--real is for " + plot::joined(names, ", "));
  const auto near = did_you_mean(name, {names.begin(), names.end()});
  error.hints.push_back(near ? "did you mean " + *near + "?"
                             : "schedulearn reproduce schedulearn-turnaround --real examples/real-mlp.toml");
  return error;
}

}  // namespace sl::reproduce
