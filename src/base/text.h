// Figures as people read them.
#pragma once

#include <string>

namespace sl {

// To the second, minute or hour: "12s", "4m 05s", "1h 10m", "2d 3h". "–" for a negative number.
std::string duration_text(double seconds);
// 0.423 -> "42 %".
std::string percent_text(double part);
// 12345.6 -> "12,345.6": `digits` after the point, with thousands separators.
std::string with_commas(double value, int digits);

// The unit in which times up to `seconds_max` are written in one column or on one axis: s, min, h or d.
struct TimeUnit {
  double seconds = 1;
  std::string name = "s";
};
TimeUnit time_unit(double seconds_max);

}  // namespace sl
