// Which of several policies should decide from now on, by what each would cost in the same possible futures
// (what_if.h). Whoever runs a world asks now and then: the controller (controller/auto_policy.h) and the simulator
// (study/auto_policy.h).
//
// clang-format off
//   1 the candidate with the least mean cost is proposed
//   2 it takes over only if it saves that part of the cost, and is cheaper in three of four futures: another draw of
//     lengths would have said the same
//   3 and not sooner than `hold` after the last change: what a change itself costs is not in the forecast
// clang-format on
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "forecast/what_if.h"

namespace sl::forecast {

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
