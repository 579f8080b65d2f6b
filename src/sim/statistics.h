// Means over seeds and how sure they are.
#pragma once

#include <vector>

namespace sl::sim {

struct Interval {
  double mean = 0;
  double half_width = 0;  // of the 95 % interval by Student's t; 0 below two values
  int values = 0;
};
Interval interval_of(const std::vector<double>& values);

// The change from `before` to `after`, pair by pair (equal seeds), in percent of `before`.
Interval paired_change_pct(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace sl::sim
