#include "forecast/choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sl::forecast {
namespace {

constexpr double futures_least = 0.75;  // of them, in which it must be cheaper

double mean_cost(const Trial& trial, Objective objective) {
  double sum = 0;
  for (const Costs& costs : trial.costs) sum += cost(costs, objective);
  return sum / static_cast<double>(trial.costs.size());
}

std::string figure(double value, Objective objective) {
  const bool is_time = objective == Objective::mean_jct || objective == Objective::makespan;
  std::array<char, 40> text{};
  if (!is_time) {
    std::snprintf(text.data(), text.size(), "%.2f", value);
  } else if (value < 120) {
    std::snprintf(text.data(), text.size(), "%.1f s", value);
  } else if (value < 7'200) {
    std::snprintf(text.data(), text.size(), "%.1f min", value / 60);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f h", value / 3'600);
  }
  return text.data();
}

const char* what_is_small(Objective objective) {
  switch (objective) {
    case Objective::mean_jct:
      return "mean time to the end";
    case Objective::makespan:
      return "time until all have ended";
    case Objective::deadlines:
      return "missed deadlines, looking back,";
    case Objective::fairness:
      return "unfairness";
  }
  return "";
}

}  // namespace

void PastCosts::window_began() {
  for (auto& [name, late] : earlier_) late /= 2;
  for (const auto& [name, late] : latest_) earlier_[name] += late / 2;
  latest_.clear();
}

void PastCosts::add_to(std::vector<Trial>& trials) {
  latest_.clear();
  for (Trial& trial : trials) {
    if (trial.failure || trial.costs.empty()) continue;
    latest_[trial.name] = mean_cost(trial, Objective::deadlines);
    const auto earlier = earlier_.find(trial.name);
    for (Costs& costs : trial.costs) costs.late += earlier == earlier_.end() ? 0 : earlier->second;
  }
}

std::optional<Choice> choose(const std::vector<Trial>& trials, const ChoiceRules& rules, Instant now,
                             Instant last_change) {
  const auto counts = [](const Trial& trial) { return !trial.failure && !trial.costs.empty(); };
  if (now < last_change + rules.hold || trials.empty() || !counts(trials.front())) return std::nullopt;
  const Trial& acting = trials.front();
  const Trial* best = &acting;
  for (const Trial& trial : trials) {
    if (counts(trial) && mean_cost(trial, rules.objective) < mean_cost(*best, rules.objective)) best = &trial;
  }
  const double before = mean_cost(acting, rules.objective), after = mean_cost(*best, rules.objective);
  // Deadlines are missed by few jobs: most windows see none, and what tells policies apart then is a small difference of
  // how close jobs come to theirs.
  const double gain = looks_back(rules.objective) ? 0 : rules.gain;
  if (best->name == acting.name || !(after < before * (1 - gain))) return std::nullopt;
  const std::size_t futures = std::min(acting.costs.size(), best->costs.size());
  std::size_t cheaper = 0;
  for (std::size_t i = 0; i < futures; ++i)
    cheaper += cost(best->costs[i], rules.objective) < cost(acting.costs[i], rules.objective);
  if (static_cast<double>(cheaper) < futures_least * static_cast<double>(futures)) return std::nullopt;
  return Choice{best->name, std::string(what_is_small(rules.objective)) + " " + figure(after, rules.objective) +
                                " with " + best->name + " instead of " + figure(before, rules.objective) + " with " +
                                acting.name + ", less in " + std::to_string(cheaper) + " of " +
                                std::to_string(futures) + " futures of " + std::to_string(acting.jobs) + " jobs"};
}

}  // namespace sl::forecast
