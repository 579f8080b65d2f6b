#include "plot/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace sl::plot {
namespace {

// Two-sided 95 % points of Student's t (any table, e.g. NIST/SEMATECH e-Handbook 1.3.6.7.2), by degrees of freedom.
double student_t95(std::size_t degrees) {
  constexpr double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                              2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                              2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= std::size(table)) return table[degrees - 1];
  return 1.96 + 2.4 / static_cast<double>(degrees);  // within 0.005 of the table from 30 on
}

}  // namespace

Estimate estimate(const std::vector<double>& values) {
  SL_CHECK(!values.empty(), "an estimate rests on at least one value");
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  const double half =
      values.size() < 2 ? 0 : student_t95(values.size() - 1) * std::sqrt(squares / (n - 1)) / std::sqrt(n);
  return {sum / n, sum / n - half, sum / n + half, values.size()};
}

double percentile(const std::vector<double>& sorted, double share) {
  SL_CHECK(!sorted.empty(), "a percentile is one of at least one value");
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace sl::plot
