// Numbers as traces write them. Nothing: the text is not a number, or not a valid one there.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace sl::trace {

inline constexpr double seconds_max = 1e11;  // about three thousand years: anything above is a mistake
inline constexpr double gpus_limit = 1e6;
inline constexpr double mebibyte = 1024.0 * 1024, gibibyte = 1024 * mebibyte;

// Nearly all numbers in traces are whole.
inline std::optional<std::int64_t> whole(std::string_view text) {
  if (text.empty() || text.size() > 11) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

inline std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

inline std::optional<Duration> time_of(std::string_view text) {
  if (const auto seconds = whole(text)) return Duration::whole_seconds(*seconds);
  const auto seconds = number(text);
  return seconds && *seconds >= 0 && *seconds < seconds_max ? std::optional(Duration::seconds(*seconds)) : std::nullopt;
}

inline std::optional<int> count_of(std::string_view text) {
  if (const auto n = whole(text))
    return *n <= static_cast<std::int64_t>(gpus_limit) ? std::optional(static_cast<int>(*n)) : std::nullopt;
  const auto n = number(text);  // "8.0"
  return n && *n >= 0 && *n == std::floor(*n) && *n <= gpus_limit ? std::optional(static_cast<int>(*n)) : std::nullopt;
}

inline std::optional<double> amount_of(std::string_view text) {
  const auto value = number(text);
  return value && *value >= 0 && *value < 1e18 ? value : std::nullopt;
}

inline std::optional<std::int64_t> bytes_of(std::string_view text) {
  const auto value = amount_of(text);
  return value && *value >= 1 ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

// "1|2|4", ascending and above 0.
inline std::optional<std::vector<int>> counts_of(std::string_view text) {
  std::vector<int> counts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    const auto count = count_of(text.substr(begin, end - begin));
    if (!count || *count < 1 || (!counts.empty() && *count <= counts.back())) return std::nullopt;
    counts.push_back(*count);
    begin = end + 1;
  }
  return counts;
}

inline std::optional<double> rank_of(std::string_view text) {
  const auto value = number(text);
  return value && std::fabs(*value) <= 1e6 ? value : std::nullopt;
}

inline std::optional<double> share_of(std::string_view text) {
  const auto value = number(text);
  return value && *value > 0 && *value <= 1 ? value : std::nullopt;
}

}  // namespace sl::trace
