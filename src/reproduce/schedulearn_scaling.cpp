// How the Schedulearn thesis's trainings speed up on more GPUs: durations and speedups, and what fewer measurements
// would have predicted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/speed_model.h"
#include "reproduce/charts.h"
#include "reproduce/registry.h"
#include "reproduce/scaling.h"
#include "reproduce/simulations.h"
#include "reproduce/thesis.h"
#include "trace/profiles.h"

namespace sl::reproduce {
namespace {

constexpr int gpus_most = 4;

// One job alone on that many GPUs, through trace, queue, policy and virtual world.
Result<double> simulated_duration(const trace::MeasuredProfile& profile, int gpus) {
  const auto simulated = simulate_all(
      {{fmt::format("thesis/{}:jobs=1,gpus={}", profile.name, gpus), sim::Cluster::uniform(3, 4), "fifo"}});
  if (!simulated.ok()) return simulated.error();
  return simulated->front().metrics.makespan_s;
}

Result<Findings> run_speedup(const Request&) {
  Findings findings;
  std::vector<Sample> durations, speedups;
  for (const trace::MeasuredProfile& profile : trace::measured_profiles()) {
    double alone = 0, error = 0;
    for (int gpus = 1; gpus <= gpus_most; ++gpus) {
      const auto seconds = simulated_duration(profile, gpus);
      if (!seconds.ok()) return seconds.error();
      if (gpus == 1) alone = *seconds;
      const double measured = profile.run_time_s[static_cast<std::size_t>(gpus) - 1];
      error = std::max(error, std::abs(*seconds - measured));
      findings.add(fmt::format("{}.{}.s", profile.name, gpus), *seconds);
      findings.add(fmt::format("{}.{}.speedup", profile.name, gpus), alone / *seconds);
      const std::string name = fmt::format("{}, {}", profile.name, gpus);
      durations.push_back({name, {*seconds}});
      speedups.push_back({name, {alone / *seconds}});
    }
    findings.add("error_s", error);
  }
  findings.charts.push_back(
      {"durations",
       figure_of("Training duration and speedup on 1 to 4 GPUs",
                 "Training and number of GPUs. Speedup: duration on one GPU / duration. The "
                 "thesis's five trainings, one run each.",
                 {bar_panel({"Duration", plot::Unit::seconds}, durations), bar_panel({"Speedup"}, speedups)})});
  return findings;
}

double true_speedup(const trace::MeasuredProfile& profile, int gpus) {
  return SpeedCurve::from_run_times(profile.run_time_s).speed_on(gpus);
}

Result<Findings> run_scalability(const Request&) {
  Findings findings;
  std::vector<Line> lines;
  Line ideal{"ideal", {}};
  for (int gpus = 1; gpus <= gpus_most; ++gpus) ideal.points.push_back({static_cast<double>(gpus), {1.0 * gpus}});
  std::vector<Sample> errors;
  for (const trace::MeasuredProfile& profile : trace::measured_profiles()) {
    Line line{profile.title, {}};
    for (int gpus = 1; gpus <= gpus_most; ++gpus)
      line.points.push_back({static_cast<double>(gpus), {true_speedup(profile, gpus)}});
    lines.push_back(std::move(line));
    const double truth = true_speedup(profile, gpus_most), told = predicted_speedup(profile.run_time_s, 2, gpus_most);
    findings.add("each.speedup_4", truth);
    findings.add("each.part_of_ideal_pct", 100 * truth / gpus_most);
    findings.add("each.prediction_error_pct", 100 * (told - truth) / truth);
    errors.push_back({profile.title, {100 * (told - truth) / truth}});
  }
  for (const char* key : {"speedup_4", "part_of_ideal_pct", "prediction_error_pct"})
    findings.add(key, findings.mean(std::string("each.") + key));
  lines.push_back(std::move(ideal));
  findings.charts.push_back(
      {"scalability", figure_of("Speedup on more GPUs",
                                "Speedup: duration on one GPU / duration. Ideal: twice the GPUs, "
                                "half the time.",
                                {line_panel({"GPUs", plot::Unit::none, true}, {"Speedup"}, lines)})});
  findings.charts.push_back(
      {"prediction", figure_of("Speedup on 4 GPUs as predicted from 1 and 2",
                               "Error of the speed model: (predicted - measured) / measured.",
                               {bar_panel({"Error of the prediction", plot::Unit::percent}, errors)})});
  return findings;
}

}  // namespace

double predicted_speedup(const std::vector<double>& run_time_s, int known, int gpus) {
  std::vector<SpeedSample> samples;
  for (int g = 1; g <= known; ++g) {
    SpeedSample sample;
    sample.workers = g;
    sample.steps_per_s = 1 / run_time_s[static_cast<std::size_t>(g) - 1];
    samples.push_back(sample);
  }
  return SpeedModel(samples, TrainingMode::all_reduce).speedup(gpus, 0, false).value;
}

Experiment schedulearn_speedup() {
  Experiment e;
  e.name = "schedulearn-speedup";
  e.title = "Training duration and speedup on 1 to 4 GPUs";
  e.source = thesis_source;
  e.method =
      "Each of the five trainings alone on 1, 2, 3, 4 GPUs of an idle cluster of 3 servers of 4 GPUs, through trace, "
      "queue, policy and virtual world.";
  e.notes = {
      "The durations are inputs: getting them back tests the simulator, not the thesis. The speedups follow "
      "from them; one that the thesis prints does not."};
  const auto both_ends = [&](const char* profile, const char* title, double one, double four) {
    e.measures.push_back(
        {fmt::format("{}.1.s", profile), fmt::format("{} on 1 GPU", title), "s", one, "", Basis::input, ""});
    e.measures.push_back(
        {fmt::format("{}.4.s", profile), fmt::format("{} on 4 GPUs", title), "s", four, "", Basis::input, ""});
  };
  for (const trace::MeasuredProfile& profile : trace::measured_profiles())
    both_ends(profile.name.c_str(), profile.title.c_str(), profile.run_time_s.front(), profile.run_time_s.back());
  e.measures.push_back({"keras-mnist.4.speedup", "speedup of Keras MNIST on 4 GPUs", "x", 2.16, "", Basis::predicted,
                        "the thesis's own times, 107 s and 45 s, give 2.378"});
  e.claims = {{"every duration comes out of the simulator to the microsecond",
               [](const Findings& f) {
                 const auto& errors = f.sample("error_s");
                 return *std::max_element(errors.begin(), errors.end()) < 1e-6;
               }},
              {"the printed speedup of 2.16 for Keras follows from the printed times",
               [](const Findings& f) { return std::abs(f.mean("keras-mnist.4.speedup") - 2.16) < 0.005; },
               "107 / 45 = 2.378; an arithmetic slip in the thesis"}};
  e.run = run_speedup;
  e.seeds = 1;
  return e;
}

Experiment schedulearn_scalability() {
  Experiment e;
  e.name = "schedulearn-scalability";
  e.title = "Scalability, and how far two measurements predict it";
  e.source = thesis_source;
  e.method =
      "Speedup of the five trainings against the ideal line; and the production speed model, given the durations on 1 "
      "and "
      "2 GPUs only, asked for 4.";
  e.choices = {{"durations on 1 and 2 GPUs are known, the speed on 4 is asked for", "the smallest number of points"}};
  e.notes = {"The thesis shows the lines; the prediction is ours, and elastic policies use it."};
  e.measures = {{"speedup_4", "speedup on 4 GPUs, mean of the five trainings", "x", 2.007, "", Basis::input,
                 "from the thesis's durations"},
                {"part_of_ideal_pct", "fraction of the ideal speedup on 4 GPUs, mean", "%", std::nullopt,
                 "far below ideal", Basis::predicted, "small networks, large communication"},
                {"prediction_error_pct", "error of the speedup predicted from 1 and 2 GPUs, mean", "%", std::nullopt,
                 "", Basis::predicted, "a power of the number of GPUs through two points"}};
  e.claims = {{"none of the trainings reaches three quarters of the ideal speedup on 4 GPUs",
               [](const Findings& f) {
                 const auto& parts = f.sample("each.part_of_ideal_pct");
                 return *std::max_element(parts.begin(), parts.end()) < 75;
               }},
              {"two measurements predict the speedup on 4 GPUs within 15 %", [](const Findings& f) {
                 const auto& errors = f.sample("each.prediction_error_pct");
                 return std::all_of(errors.begin(), errors.end(), [](double error) { return std::abs(error) < 15; });
               }}};
  e.run = run_scalability;
  e.seeds = 1;
  return e;
}

}  // namespace sl::reproduce
