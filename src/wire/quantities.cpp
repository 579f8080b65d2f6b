// Durations, sizes and GPU counts as people write them.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "wire/job_spec.h"

namespace sl::wire {
namespace {

// Takes a number off the front of `text`. False if there is none.
bool take_number(std::string_view& text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string_view take_word(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && (std::isalpha(static_cast<unsigned char>(text[n])) != 0)) ++n;
  const std::string_view word = text.substr(0, n);
  text.remove_prefix(n);
  return word;
}

Error bad_duration(std::string_view text) {
  return invalid("bad-duration", "not a duration: " + std::string(text)).hint("write 90s, 15m, 1h30m, 2d or HH:MM:SS");
}

Result<double> parse_clock(std::string_view text) {
  double total = 0;
  int parts = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    double number = 0;
    if (!take_number(rest, number) || number < 0 || ++parts > 3) return bad_duration(text);
    total = total * 60 + number;
    if (!rest.empty()) {
      if (rest.front() != ':' || rest.size() == 1) return bad_duration(text);
      rest.remove_prefix(1);
    }
  }
  if (parts != 3) return bad_duration(text);
  return total;
}

}  // namespace

Result<double> parse_duration_s(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return parse_clock(text);
  double total = 0;
  std::string_view rest = text;
  if (rest.empty()) return bad_duration(text);
  while (!rest.empty()) {
    double number = 0;
    if (!take_number(rest, number) || number < 0) return bad_duration(text);
    const std::string_view unit = take_word(rest);
    const double seconds = unit.empty() || unit == "s"    ? 1
                           : unit == "ms"                 ? 1e-3
                           : unit == "m" || unit == "min" ? 60
                           : unit == "h"                  ? 3600
                           : unit == "d"                  ? 86'400
                                                          : 0;
    if (seconds == 0 || (unit.empty() && (total > 0 || !rest.empty()))) return bad_duration(text);
    total += number * seconds;
  }
  return total;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  double number = 0;
  const bool counts = take_number(rest, number) && number >= 0;
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const std::string_view unit = take_word(rest);
  constexpr std::pair<std::string_view, double> units[] = {{"", 1},
                                                           {"B", 1},
                                                           {"K", 1024.},
                                                           {"KiB", 1024.},
                                                           {"kB", 1e3},
                                                           {"KB", 1e3},
                                                           {"M", 1048576.},
                                                           {"MiB", 1048576.},
                                                           {"MB", 1e6},
                                                           {"G", 1073741824.},
                                                           {"GiB", 1073741824.},
                                                           {"GB", 1e9},
                                                           {"T", 1099511627776.},
                                                           {"TiB", 1099511627776.},
                                                           {"TB", 1e12}};
  for (const auto& [name, bytes] : units) {
    if (counts && rest.empty() && unit == name && number * bytes < 9e18)
      return static_cast<std::int64_t>(number * bytes);
  }
  return invalid("bad-size", "not a size: " + std::string(text)).hint("write 512MiB, 4GB or 2G (GiB)");
}

namespace {

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// "1,2,4"
Result<GpuRange> parse_gpu_list(std::string_view text) {
  GpuRange range;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto number = whole_number(text.substr(begin, end - begin));
    if (!number) return invalid("bad-gpus", "not a list of numbers of GPUs: " + std::string(text)).hint("write 1,2,4");
    range.allowed.push_back(*number);
    begin = end + 1;
  }
  std::ranges::sort(range.allowed);
  range.min = range.allowed.front();
  range.max = range.allowed.back();
  return range;
}

}  // namespace

Result<GpuRange> parse_gpus(std::string_view text) {
  if (text.find(',') != std::string_view::npos) return parse_gpu_list(text);
  const std::size_t dots = text.find("..");
  const auto min = whole_number(text.substr(0, dots));
  const auto max = dots == std::string_view::npos ? min : whole_number(text.substr(dots + 2));
  if (!min || !max)
    return invalid("bad-gpus", "not a number of GPUs: " + std::string(text))
        .hint("write 2, a range like 1..4, or the numbers it may have: 1,2,4");
  return GpuRange{*min, *max};
}

namespace {

Error bad_time(std::string_view text) {
  return invalid("bad-time", "not a time: " + std::string(text))
      .hint("write 2026-11-23T21:00:00Z or 2026-11-23T21:00:00+01:00");
}

// Takes a number of exactly that many digits, and the character after it, off the front. -1 if they are not there.
int take_digits(std::string_view& text, std::size_t digits, std::string_view then) {
  int number = 0;
  if (text.size() < digits) return -1;
  for (const char c : text.substr(0, digits)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return -1;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  if (then.empty()) return number;
  if (text.empty() || then.find(text.front()) == std::string_view::npos) return -1;
  text.remove_prefix(1);
  return number;
}

// "Z", "+01:00". Nothing: it is no offset.
std::optional<int> take_offset_s(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const int sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const int hours = take_digits(text, 2, ":"), minutes = take_digits(text, 2, "");
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || !text.empty()) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

}  // namespace

Result<std::int64_t> parse_time_us(std::string_view text) {
  std::string_view rest = text;
  std::tm parts{};
  parts.tm_year = take_digits(rest, 4, "-") - 1900;
  parts.tm_mon = take_digits(rest, 2, "-") - 1;
  parts.tm_mday = take_digits(rest, 2, "T t");
  parts.tm_hour = take_digits(rest, 2, ":");
  parts.tm_min = take_digits(rest, 2, "");
  double fraction_s = 0;
  if (rest.starts_with(':')) {
    rest.remove_prefix(1);
    parts.tm_sec = take_digits(rest, 2, "");
    if (rest.starts_with('.') && !take_number(rest, fraction_s)) return bad_time(text);
  }
  const std::tm written = parts;
  const std::time_t seconds = ::timegm(&parts);
  // A day that does not exist becomes another one.
  const bool exists = written.tm_year >= 70 && written.tm_year < 1100 && written.tm_mon == parts.tm_mon &&
                      written.tm_mday == parts.tm_mday && written.tm_hour == parts.tm_hour &&
                      written.tm_min == parts.tm_min && written.tm_sec == parts.tm_sec;
  const auto offset_s = take_offset_s(rest);
  if (!exists || (!offset_s && !rest.empty())) return bad_time(text);
  if (!offset_s)
    return invalid("bad-time", "this time does not say in which time zone: " + std::string(text))
        .hint("add its offset from UTC, Z for none: 2026-11-23T21:00:00Z");
  return (static_cast<std::int64_t>(seconds) - *offset_s) * 1'000'000 + std::llround(fraction_s * 1e6);
}

std::string time_text(std::int64_t us) {
  const std::int64_t seconds = us >= 0 ? us / 1'000'000 : (us - 999'999) / 1'000'000;
  const std::int64_t ms = (us - seconds * 1'000'000) / 1'000;
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ", static_cast<int>(ms));
  return text.data();
}

}  // namespace sl::wire
