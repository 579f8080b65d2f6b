#include "plot/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/text.h"

namespace sl::plot {
namespace {

// The least of 1, 2, 5, 10, 20 … that cuts the span into at most `pieces`.
double round_step(double span, int pieces, bool whole) {
  const double least = span / std::max(1, pieces);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * power >= least * (1 - 1e-9)) return whole ? std::max(1.0, factor * power) : factor * power;
  }
  return power * 10;
}

double divisor_of(Range range, Unit unit) {
  return unit == Unit::seconds ? time_unit(std::max(std::abs(range.low), std::abs(range.high))).seconds : 1;
}

std::string tick_text(double value, double step, double largest) {
  if (largest >= 1e6 && step >= 1e5) return value == 0 ? "0" : fmt::format("{:g}M", std::round(value / 1e5) / 10);
  const int digits = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return with_commas(value, std::clamp(digits, 0, 9));
}

std::string power_text(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

std::vector<Tick> all_log_ticks(Range range, Unit unit) {
  std::vector<Tick> ticks;
  const auto add = [&](double value, std::string label) {
    if (value >= range.low * (1 - 1e-9) && value <= range.high * (1 + 1e-9)) ticks.push_back({value, std::move(label)});
  };
  if (unit == Unit::seconds) {
    for (const double ms : {1, 10, 100}) add(ms / 1000, fmt::format("{:g} ms", ms));
    for (const double s : {1, 10}) add(s, fmt::format("{:g} s", s));
    for (const double min : {1, 10}) add(60 * min, fmt::format("{:g} min", min));
    for (const double h : {1, 10}) add(3600 * h, fmt::format("{:g} h", h));
    for (double d = 1; d <= 1e9; d *= 10) add(86400 * d, power_text(d) + " d");
    return ticks;
  }
  for (double power = std::pow(10.0, std::floor(std::log10(range.low))); power <= range.high * 1.001; power *= 10)
    add(power, power_text(power));
  return ticks;
}

}  // namespace

double Scale::operator()(double value) const {
  const auto map = [&](double v) { return spacing == Spacing::logarithmic ? std::log(std::max(v, 1e-300)) : v; };
  const double low = map(range.low), high = map(range.high);
  const double share = high > low ? (map(std::clamp(value, range.low, range.high)) - low) / (high - low) : 0.5;
  return from + (to - from) * share;
}

TimeUnit time_unit(double seconds_max) {
  if (seconds_max > 5 * 86400.0) return {86400, "d"};
  if (seconds_max > 3 * 3600.0) return {3600, "h"};
  if (seconds_max > 600) return {60, "min"};
  return {1, "s"};
}

std::vector<Tick> linear_ticks(Range range, Unit unit, int count_max, bool whole) {
  const double divisor = divisor_of(range, unit);
  const double low = range.low / divisor, high = range.high / divisor;
  if (!(high > low)) return {{range.low, figure_text(low)}};
  const double step = round_step(high - low, std::max(2, count_max) - 1, whole);
  std::vector<Tick> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    ticks.push_back({i * step * divisor, tick_text(i * step, step, std::max(std::abs(low), std::abs(high)))});
  return ticks;
}

std::vector<Tick> log_ticks(Range range, Unit unit, int count_max) {
  const std::vector<Tick> all = all_log_ticks(range, unit);
  const auto most = static_cast<std::size_t>(std::max(2, count_max));
  std::size_t each = 1;
  while ((all.size() + each - 1) / each > most) ++each;
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < all.size(); i += each) ticks.push_back(all[i]);
  return ticks;
}

Range round_range(Range range, Unit unit, int count_max) {
  if (range.low > 0 && range.low < 0.7 * range.high) range.low = 0;
  if (!(range.high > range.low)) {
    if (range.high == 0) return {0, 1};
    range = range.high > 0 ? Range{0, range.high} : Range{range.low, 0};
  }
  const double divisor = divisor_of(range, unit);
  const double step = round_step((range.high - range.low) / divisor, std::max(2, count_max) - 1, false) * divisor;
  return {std::floor(range.low / step + 1e-9) * step, std::ceil(range.high / step - 1e-9) * step};
}

}  // namespace sl::plot
