// From values to places on paper: linear and logarithmic scales, and the round values that are written beside them.
#pragma once

#include <string>
#include <vector>

namespace sl::plot {

// What a number counts; decides how it is written.
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
  double from = 0, to = 1;  // where low and high lie on paper

  // Values outside of the range are put on its border.
  double operator()(double value) const;
};

// The unit in which times up to `seconds_max` are written on an axis: s, min, h or d.
struct TimeUnit {
  double seconds = 1;
  std::string name = "s";
};
TimeUnit time_unit(double seconds_max);

// At most `count_max` (at least 2) ticks at 1, 2 or 5 times a power of ten that lie in the range. Seconds are written
// in `time_unit`. `whole`: no ticks between whole numbers.
std::vector<Tick> linear_ticks(Range range, Unit unit, int count_max, bool whole = false);
// Powers of ten, each second or third where there are too many; times at 1 s, 10 s, 1 min, 10 min, 1 h, 10 h, 1 d …
std::vector<Tick> log_ticks(Range range, Unit unit, int count_max);
// The range widened to round values; begins at zero unless all values lie far from it.
Range round_range(Range range, Unit unit, int count_max);

}  // namespace sl::plot
