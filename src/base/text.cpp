#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sl {
namespace {

std::string two_digits(long n) { return (n < 10 ? "0" : "") + std::to_string(n); }

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) return "–";
  const auto s = static_cast<long>(std::min(seconds, 1e15) + 0.5);
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return std::to_string(s / 60) + "m " + two_digits(s % 60) + "s";
  if (s < 86'400) return std::to_string(s / 3600) + "h " + two_digits(s / 60 % 60) + "m";
  return std::to_string(s / 86'400) + "d " + std::to_string(s / 3600 % 24) + "h";
}

std::string percent_text(double part) { return std::to_string(std::lround(part * 100)) + " %"; }

std::string with_commas(double value, int digits) {
  char written[400];  // the largest number has 309 digits
  const auto end = std::to_chars(written, written + sizeof written, std::abs(value), std::chars_format::fixed, digits);
  std::string text(written, end.ptr);
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > 3; at -= 3) text.insert(at - 3, ",");
  const bool is_zero = text.find_first_not_of("0.,") == std::string::npos;
  return value < 0 && !is_zero ? "-" + text : text;
}

TimeUnit time_unit(double seconds_max) {
  if (seconds_max > 5 * 86400.0) return {86400, "d"};
  if (seconds_max > 3 * 3600.0) return {3600, "h"};
  if (seconds_max > 600) return {60, "min"};
  return {1, "s"};
}

}  // namespace sl
