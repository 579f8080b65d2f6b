#include "study/speed_scores.h"

#include <map>

#include "estimate/speed_model.h"
#include "trace/profiles.h"

namespace sl::study {
namespace {

using SpeedsByGpus = std::map<int, double>;

// Gavel's on 8 GPUs are the only ones beyond four; all count as one server.
std::vector<SpeedsByGpus> published_speeds(bool of_gavel) {
  std::vector<SpeedsByGpus> all;
  for (const auto& [family, profile] : trace::published_profiles()) {
    if (family.starts_with("gavel-") != of_gavel) continue;
    std::map<std::string, SpeedsByGpus> by_type;
    for (const wire::ProfileSpeed& speed : profile->speeds) {
      if (speed.servers == 1 || of_gavel) by_type[speed.gpu_type][speed.gpus] = speed.steps_per_s;
    }
    for (const auto& [type, speeds] : by_type) all.push_back(speeds);
  }
  if (of_gavel) return all;
  for (const trace::MeasuredProfile& profile : trace::measured_profiles()) {
    SpeedsByGpus& speeds = all.emplace_back();
    for (std::size_t i = 0; i < profile.run_time_s.size(); ++i)
      speeds[static_cast<int>(i) + 1] = 1 / profile.run_time_s[i];
  }
  return all;
}

void ask_about_speeds(const SpeedsByGpus& speeds, Scoring& model_score, Scoring& linear_score) {
  if (!speeds.contains(1) || !speeds.contains(2)) return;
  std::vector<SpeedSample> known;
  for (const int gpus : {1, 2}) {
    SpeedSample& sample = known.emplace_back();
    sample.workers = gpus;
    sample.steps_per_s = speeds.at(gpus);
  }
  const SpeedModel model(known, TrainingMode::all_reduce);
  for (const auto& [gpus, truth] : speeds) {
    if (gpus <= 2) continue;
    const SpeedModel::Range range = model.range({gpus, 0, false});
    model_score.add(truth, model.steps_per_s({gpus, 0, false}).value, Scoring::Range{range.low, range.high});
    linear_score.add(truth, speeds.at(1) * gpus);
  }
}

}  // namespace

ScoreTable score_speeds() {
  ScoreTable table{"Speed on more GPUs, from 1 and 2", {}};
  for (const bool of_gavel : {true, false}) {
    Scoring model(by_speed_model), linear(linear_speed);
    for (const SpeedsByGpus& speeds : published_speeds(of_gavel)) ask_about_speeds(speeds, model, linear);
    const std::string when = of_gavel ? "Gavel" : "others";
    table.rows.push_back({when, model.score()});
    table.rows.push_back({when, linear.score()});
  }
  return table;
}

}  // namespace sl::study
