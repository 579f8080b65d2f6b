#include "plot/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/text.h"

namespace sl::plot {
namespace {

// The smallest of 1, 2, 5, 10, 20 … that divides the span into at most `pieces`.
double round_step(double span, int pieces, bool whole) {
  const double least = span / std::max(1, pieces);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * power >= least * (1 - 1e-9)) return whole ? std::max(1.0, factor * power) : factor * power;
  }
  return power * 10;
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

bool lies_in(Range range, double value) { return value >= range.low * (1 - 1e-9) && value <= range.high * (1 + 1e-9); }

std::vector<Tick> thinned(const std::vector<Tick>& all, int count_max) {
  const auto most = static_cast<std::size_t>(std::max(2, count_max));
  std::size_t each = 1;
  while ((all.size() + each - 1) / each > most) ++each;
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < all.size(); i += each) ticks.push_back(all[i]);
  return ticks;
}

}  // namespace

double Scale::operator()(double value) const {
  const auto map = [&](double v) { return spacing == Spacing::logarithmic ? std::log(std::max(v, 1e-300)) : v; };
  const double low = map(range.low), high = map(range.high);
  const double share = high > low ? (map(std::clamp(value, range.low, range.high)) - low) / (high - low) : 0.5;
  return from + (to - from) * share;
}

std::vector<Tick> linear_ticks(Range range, double unit_size, int count_max, bool whole) {
  const double low = range.low / unit_size, high = range.high / unit_size;
  if (!(high > low)) return {{range.low, figure_text(low)}};
  const double step = round_step(high - low, std::max(2, count_max) - 1, whole);
  std::vector<Tick> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    ticks.push_back({i * step * unit_size, tick_text(i * step, step, std::max(std::abs(low), std::abs(high)))});
  return ticks;
}

std::vector<Tick> log_ticks(Range range, double unit_size, int count_max) {
  std::vector<Tick> ticks;
  const double low = range.low / unit_size, high = range.high / unit_size;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high * 1.001; power *= 10) {
    if (lies_in({low, high}, power)) ticks.push_back({power * unit_size, power_text(power)});
  }
  return thinned(ticks, count_max);
}

std::vector<Tick> log_time_ticks(Range range, int count_max) {
  std::vector<Tick> ticks;
  const auto add = [&](double seconds, std::string label) {
    if (lies_in(range, seconds)) ticks.push_back({seconds, std::move(label)});
  };
  for (const double ms : {1, 10, 100}) add(ms / 1000, fmt::format("{:g} ms", ms));
  for (const double s : {1, 10}) add(s, fmt::format("{:g} s", s));
  for (const double min : {1, 10}) add(60 * min, fmt::format("{:g} min", min));
  for (const double h : {1, 10}) add(3600 * h, fmt::format("{:g} h", h));
  for (double d = 1; d <= 1e9; d *= 10) add(86400 * d, power_text(d) + " d");
  return thinned(ticks, count_max);
}

Range round_range(Range range, double unit_size, int count_max) {
  if (range.low > 0 && range.low < 0.7 * range.high) range.low = 0;
  if (!(range.high > range.low)) {
    if (range.high == 0) return {0, 1};
    range = range.high > 0 ? Range{0, range.high} : Range{range.low, 0};
  }
  const double step = round_step((range.high - range.low) / unit_size, std::max(2, count_max) - 1, false) * unit_size;
  return {std::floor(range.low / step + 1e-9) * step, std::ceil(range.high / step - 1e-9) * step};
}

Range round_log_range(Range range, double unit_size) {
  const auto power = [&](double value, auto round) {
    return std::pow(10.0, round(std::log10(value / unit_size))) * unit_size;
  };
  return {power(range.low, [](double v) { return std::floor(v + 1e-9); }),
          power(range.high, [](double v) { return std::ceil(v - 1e-9); })};
}

}  // namespace sl::plot
