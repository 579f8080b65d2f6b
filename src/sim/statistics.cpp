#include "sim/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace sl::sim {
namespace {

// The 97.5 % quantile of Student's t with so many degrees of freedom.
double student_t(std::size_t freedom) {
  static constexpr double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                     2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                     2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= std::size(table)) return table[freedom - 1];
  return 1.96 + 2.4 / static_cast<double>(freedom);  // within 0.002 of it
}

}  // namespace

Interval interval_of(const std::vector<double>& values) {
  Interval result;
  result.values = static_cast<int>(values.size());
  const auto n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.half_width = student_t(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return result;
}

Interval paired_change_pct(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> changes;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] != 0) changes.push_back(100 * (after[i] - before[i]) / before[i]);
  }
  return interval_of(changes);
}

}  // namespace sl::sim
