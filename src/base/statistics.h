// Figures of a sample: means with confidence intervals, percentiles.
#pragma once

#include <cstddef>
#include <vector>

namespace sl {

// The mean with its 95 % interval by Student's t. Below two values the interval has no width.
struct Estimate {
  double mean = 0;
  double half_width = 0;
  double low = 0, high = 0;  // mean - half_width, mean + half_width
  std::size_t count = 0;     // number of values; 0: all figures are 0
};
Estimate estimate(const std::vector<double>& values);

// The mean change from `before` to `after`, pair by pair (equal seeds), in percent of `before`. Pairs whose first value
// is 0 are left out.
Estimate paired_change_pct(const std::vector<double>& before, const std::vector<double>& after);

// Nearest rank: the smallest value that at least `share` of all values do not exceed. `sorted` holds at least one
// value.
double percentile(const std::vector<double>& sorted, double share);
// The index of that value among `count` sorted values, from 0.
std::size_t nearest_rank(double share, std::size_t count);

}  // namespace sl
