// Means over seeds and how sure they are.
#pragma once

#include <vector>

namespace sl::plot {

struct Estimate {
  double mean = 0;
  double low = 0, high = 0;  // 95 % interval of the mean by Student's t; equal to the mean for a single value
  std::size_t count = 0;
};
// Values are at least one.
Estimate estimate(const std::vector<double>& values);

// Nearest rank: the least value that at least this share of all reaches. `sorted` holds at least one value.
double percentile(const std::vector<double>& sorted, double share);

}  // namespace sl::plot
