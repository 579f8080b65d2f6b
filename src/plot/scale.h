// From values to positions on paper: linear and logarithmic scales, and the round values written next to them.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"

namespace sl::plot {

// What a number measures, which decides how it is written.
enum class Unit { none, seconds, percent };

struct Tick {
  double value = 0;
  std::string label;
};

struct Range {
  double low = 0, high = 1;
};

enum class Spacing { linear, logarithmic };

struct Scale {
  Range range;
  Spacing spacing = Spacing::linear;
  double from = 0, to = 1;  // where `low` and `high` are on paper

  // Values outside the range are placed on its border.
  double operator()(double value) const;
};

// At most `count_max` (at least 2) ticks in the range, at 1, 2 or 5 times a power of ten of the unit that they are written
// in, which is `unit_size` of the range's (3600 for seconds written as hours). `whole`: no ticks between whole numbers.
std::vector<Tick> linear_ticks(Range range, double unit_size, int count_max, bool whole = false);
// Powers of ten, every second or third if there are too many.
std::vector<Tick> log_ticks(Range range, double unit_size, int count_max);
// For seconds: 1 s, 10 s, 1 min, 10 min, 1 h, 10 h, 1 d …
std::vector<Tick> log_time_ticks(Range range, int count_max);
// The range widened to round values. It begins at zero unless all values are far from it.
Range round_range(Range range, double unit_size, int count_max);
// From the power of ten below to the one above.
Range round_log_range(Range range, double unit_size);

}  // namespace sl::plot
