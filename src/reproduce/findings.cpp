#include <cmath>

#include "base/check.h"
#include "reproduce/experiment.h"

namespace sl::reproduce {

const std::vector<double>& Findings::sample(const std::string& key) const {
  const auto found = samples_.find(key);
  SL_CHECK(found != samples_.end(), "an experiment provides all numbers that its measures and claims name");
  return found->second;
}

double Findings::deviation(const std::string& key) const {
  const std::vector<double>& values = sample(key);
  const double middle = mean(key);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
}

bool Findings::is_within_three_deviations(const std::string& key, double published) const {
  return std::abs(mean(key) - published) <= 3 * deviation(key);
}

}  // namespace sl::reproduce
