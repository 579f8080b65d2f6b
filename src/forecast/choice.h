// Which of several policies should decide from now on, by what each would cost in the same possible futures
// (what_if.h). Whoever runs a world asks now and then: the controller (controller/auto_policy.h) and the simulator
// (study/auto_policy.h).
//
// Deadlines are judged by looking back (shadow.h): how many of those that have passed since a window began each candidate
// would have missed, had it decided all that time. Forecasts from the present mislead there: what a policy puts off
// misses its deadline long after any horizon, and a policy that takes over first serves what the one before it had put off,
// so that whichever does not act looks better. Choices made that way swing, and miss more than every candidate alone.
//
// clang-format off
//   1 the candidate with the least mean cost is proposed
//   2 it takes over only if it saves that part of the cost, and is cheaper in three of four futures: another draw of
//     lengths would have said the same
//   3 and not sooner than `hold` after the last change: what a change itself costs is not in the forecast
// clang-format on
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "forecast/what_if.h"

namespace sl::forecast {

constexpr bool looks_back(Objective objective) { return objective == Objective::deadlines; }

// Jobs of a window; then another one begins. With 2,000, what a policy puts off was often still to come at its end (the trace
// with deadlines, November 2026), with more, each look back takes longer.
inline constexpr std::size_t window_jobs_most = 5'000;

// What candidates would have missed in earlier windows; each window counts half as much as the one after it.
class PastCosts {
 public:
  void window_began();  // the latest trials were the last of the window before
  void add_to(std::vector<Trial>& trials);

 private:
  std::map<std::string, double> earlier_, latest_;  // Costs::late
};

struct ChoiceRules {
  Objective objective = Objective::mean_jct;
  Duration hold;
  double gain = 0.05;  // part of the cost
};

struct Choice {
  std::string policy;
  std::string why;  // with figures
};

// `trials`: the policy that acts first, then the others; those that failed, or saw no future, do not count. Nothing: no
// change.
std::optional<Choice> choose(const std::vector<Trial>& trials, const ChoiceRules& rules, Instant now,
                             Instant last_change);

}  // namespace sl::forecast
