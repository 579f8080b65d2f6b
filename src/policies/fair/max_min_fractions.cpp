#include "policies/fair/max_min_fractions.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "policy/linear_program.h"

namespace sl {

namespace {

struct Mean {
  double sum = 0, count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / count : 0; }
};

std::vector<Mean> reported_speeds(const Job& job, const GpuTypeColumns& types) {
  std::vector<Mean> speeds(types.size());
  if (!job.telemetry) return speeds;
  for (const SpeedSample& sample : job.telemetry->speeds) {
    const auto at = types.find(sample.gpu_type);
    if (at != types.end() && !sample.neighbour.valid() && sample.steps_per_s > 0)
      speeds[at->second].add(sample.steps_per_s / sample.workers);
  }
  return speeds;
}
std::vector<Mean> stated_speeds(const Job& job, const GpuTypeColumns& types) {
  std::vector<Mean> speeds(types.size());
  if (!job.request.model) return speeds;
  for (const GpuTypeSpeed& stated : job.request.model->speed_by_gpu_type) {
    const auto at = types.find(stated.gpu_type);
    const double speed = stated.on_one_gpu * stated.curve.speed_on(job.request.gpus) / job.request.gpus;
    if (at != types.end() && speed > 0) speeds[at->second].add(speed);
  }
  return speeds;
}

// What a job of a class gains on a type by all of its time there, relative to an equal share; 0: it cannot run there.
double gain_of(const FairClass& of_class, std::size_t type, double equal_share) {
  return equal_share > 0 ? of_class.gpus * of_class.speed[type] / (of_class.weight * equal_share) : 0;
}

double equal_share_of(const FairClass& of_class, const std::vector<double>& gpus_by_type, double gpus) {
  double equal = 0;
  for (std::size_t j = 0; j < gpus_by_type.size(); ++j) equal += of_class.speed[j] * gpus_by_type[j] / gpus;
  return equal;
}

// One variable of the program: the fraction of time that a class gets on a type.
struct TimeShare {
  std::size_t of_class, type;
  double value;
};

// Only what can be more than zero: most classes may use few of many types.
std::vector<TimeShare> shares_of(const std::vector<FairClass>& classes, const std::vector<double>& gpus_by_type) {
  const double gpus = std::accumulate(gpus_by_type.begin(), gpus_by_type.end(), 0.0);
  std::vector<TimeShare> shares;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double equal = equal_share_of(classes[c], gpus_by_type, gpus);
    for (std::size_t j = 0; j < gpus_by_type.size(); ++j) {
      const double value = gain_of(classes[c], j, equal);
      if (value > 0) shares.push_back({c, j, value});
    }
  }
  return shares;
}

}  // namespace

std::vector<int> speeds_by_type(const Job& job, const GpuTypeColumns& types) {
  std::vector<Mean> speeds = reported_speeds(job, types);
  const std::vector<Mean> stated = stated_speeds(job, types);
  Mean scale;  // factor from the profile's relative speeds to steps per second
  for (std::size_t j = 0; j < speeds.size(); ++j) {
    if (speeds[j].count > 0 && stated[j].count > 0) scale.add(speeds[j].value() / stated[j].value());
  }
  const bool nothing_reported = std::all_of(speeds.begin(), speeds.end(), [](const Mean& m) { return m.count == 0; });
  if (nothing_reported) scale.add(1);
  Mean all;
  double fastest = 0;
  for (std::size_t j = 0; j < speeds.size(); ++j) {
    if (speeds[j].count == 0 && stated[j].count > 0 && scale.count > 0)
      speeds[j].add(stated[j].value() * scale.value());
    if (speeds[j].count == 0) continue;
    all.add(speeds[j].value());
    fastest = std::max(fastest, speeds[j].value());
  }
  std::vector<int> hundredths(speeds.size(), 100);
  for (std::size_t j = 0; j < speeds.size() && fastest > 0; ++j) {
    const double speed = speeds[j].count > 0 ? speeds[j].value() : all.value();
    hundredths[j] = std::max(1, static_cast<int>(speed / fastest * 100 + 0.5));
  }
  return hundredths;
}

std::vector<std::vector<double>> max_min_fractions(const std::vector<FairClass>& classes,
                                                   const std::vector<double>& gpus_by_type) {
  constexpr double tie_weight = 1e-5;  // weight of total throughput relative to the share of the poorest job
  using Terms = std::vector<std::pair<std::size_t, double>>;
  const std::vector<TimeShare> shares = shares_of(classes, gpus_by_type);
  std::vector<std::vector<double>> fractions(classes.size(), std::vector<double>(gpus_by_type.size(), 0.0));
  if (shares.empty()) return fractions;  // without any job's row `least` would have no limit
  double jobs = 0;
  for (const FairClass& c : classes) jobs += c.jobs;
  const std::size_t least = shares.size();  // the share of the poorest job
  LinearProgram program(least + 1);
  program.set_objective(least, 1);
  std::vector<Terms> use(gpus_by_type.size());
  for (std::size_t v = 0; v < shares.size();) {
    const std::size_t of_class = shares[v].of_class;
    const FairClass& c = classes[of_class];
    Terms gets{{least, 1.0}}, time;
    for (; v < shares.size() && shares[v].of_class == of_class; ++v) {
      gets.emplace_back(v, -shares[v].value);
      time.emplace_back(v, 1.0);
      use[shares[v].type].emplace_back(v, c.jobs * c.gpus);
      program.set_objective(v, tie_weight * shares[v].value * c.jobs / jobs);
    }
    program.add_row(std::move(gets), 0);
    program.add_row(std::move(time), 1);
  }
  for (std::size_t j = 0; j < gpus_by_type.size(); ++j) program.add_row(std::move(use[j]), gpus_by_type[j]);
  const auto x = program.solve();
  for (std::size_t v = 0; x && v < shares.size(); ++v)
    fractions[shares[v].of_class][shares[v].type] = std::clamp((*x)[v], 0.0, 1.0);
  return fractions;
}

}  // namespace sl
