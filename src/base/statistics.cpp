#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"

namespace sl {
namespace {

// Two-sided 95 % points of Student's t (any table, e.g. NIST/SEMATECH e-Handbook 1.3.6.7.2), by degrees of freedom.
double student_t95(std::size_t freedom) {
  static constexpr double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                     2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                     2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= std::size(table)) return table[freedom - 1];
  return 1.96 + 2.4 / static_cast<double>(freedom);  // within 0.005 of the table from 30 on
}

}  // namespace

Estimate estimate(const std::vector<double>& values) {
  Estimate result;
  result.count = values.size();
  if (values.empty()) return result;
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  result.mean = sum / n;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  if (values.size() > 1) result.half_width = student_t95(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  result.low = result.mean - result.half_width;
  result.high = result.mean + result.half_width;
  return result;
}

Estimate paired_change_pct(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> changes;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] != 0) changes.push_back(100 * (after[i] - before[i]) / before[i]);
  }
  return estimate(changes);
}

std::size_t nearest_rank(double share, std::size_t count) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count)));
  return std::clamp<std::size_t>(rank, 1, count) - 1;
}

double percentile(const std::vector<double>& sorted, double share) {
  SL_CHECK(!sorted.empty(), "a percentile needs at least one value");
  return sorted[nearest_rank(share, sorted.size())];
}

}  // namespace sl
