#include "policies/fair/max_min_fractions.h"

#include <algorithm>

#include "policy/linear_program.h"

namespace sl {

std::vector<std::vector<double>> max_min_fractions(const std::vector<FairClass>& classes,
                                                   const std::vector<double>& gpus_by_type) {
  constexpr double tie_weight = 1e-5;  // weight of total throughput relative to the share of the poorest job
  const std::size_t types = gpus_by_type.size(), n = classes.size(), least = n * types;
  double gpus = 0, jobs = 0;
  for (const double count : gpus_by_type) gpus += count;
  for (const FairClass& c : classes) jobs += c.jobs;
  LinearProgram program(least + 1);
  program.set_objective(least, 1);
  std::vector<std::vector<std::pair<std::size_t, double>>> use(types);
  bool any_runs = false;
  for (std::size_t c = 0; c < n; ++c) {
    double equal = 0;
    for (std::size_t j = 0; j < types; ++j) equal += classes[c].speed[j] * gpus_by_type[j] / gpus;
    std::vector<std::pair<std::size_t, double>> gets{{least, 1.0}}, time;
    for (std::size_t j = 0; j < types; ++j) {
      if (classes[c].speed[j] <= 0 || equal <= 0) continue;
      const double value = classes[c].gpus * classes[c].speed[j] / (classes[c].weight * equal);
      gets.emplace_back(c * types + j, -value);
      time.emplace_back(c * types + j, 1.0);
      use[j].emplace_back(c * types + j, classes[c].jobs * classes[c].gpus);
      program.set_objective(c * types + j, tie_weight * value * classes[c].jobs / jobs);
    }
    if (time.empty()) continue;  // it can run nowhere and must not hold back the others
    program.add_row(gets, 0);
    program.add_row(time, 1);
    any_runs = true;
  }
  for (std::size_t j = 0; j < types; ++j) program.add_row(use[j], gpus_by_type[j]);
  const auto x = any_runs ? program.solve() : std::nullopt;  // without any job's row `least` is unbounded
  std::vector<std::vector<double>> fractions(n, std::vector<double>(types, 0.0));
  for (std::size_t v = 0; x && v < least; ++v) fractions[v / types][v % types] = std::clamp((*x)[v], 0.0, 1.0);
  return fractions;
}

}  // namespace sl
