#include "forecast/objective.h"

#include <array>

namespace sl::forecast {
namespace {

constexpr std::array<const char*, 4> names = {"mean_jct", "makespan", "deadlines", "fairness"};

}  // namespace

const char* to_string(Objective objective) { return names[static_cast<std::size_t>(objective)]; }

std::optional<Objective> parse_objective(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Objective>(i);
  }
  return std::nullopt;
}

double cost(const Costs& costs, Objective objective) {
  switch (objective) {
    case Objective::mean_jct:
      return costs.jct_s;
    case Objective::makespan:
      return costs.makespan_s;
    case Objective::deadlines:
      return costs.late;
    case Objective::fairness:
      return costs.unfair;
  }
  return 0;
}

}  // namespace sl::forecast
