// The search shared by all curves that fall towards a floor: for a given floor the other coefficients follow from a
// weighted line, so only the floor has to be searched (variable projection, policies.md 10.2).
#pragma once

#include <algorithm>
#include <cmath>

namespace sl {

// The floor in [0, 0.999 * least] where `error_of(floor)` is least: 24 probes of (least - floor), evenly spaced in its
// logarithm, then 16 steps of golden section around the best: (least - floor) is exact to a thousandth. `least` is the
// smallest loss, above 0.
template <typename ErrorOf>
double best_floor(double least, const ErrorOf& error_of) {
  constexpr int probes = 24, refinements = 16;
  constexpr double golden = 0.6180339887498949;
  const double low = std::log(0.001 * least), high = std::log(least), step = (high - low) / (probes - 1);
  const auto floor_at = [&](double log_above) { return std::max(0.0, least - std::exp(log_above)); };
  double best = high, best_error = error_of(floor_at(high));
  for (int i = 0; i < probes; ++i) {
    const double at = low + step * i, error = error_of(floor_at(at));
    if (error < best_error) {
      best = at;
      best_error = error;
    }
  }
  double from = std::max(low, best - step), to = std::min(high, best + step);
  double a = to - golden * (to - from), b = from + golden * (to - from);
  double error_a = error_of(floor_at(a)), error_b = error_of(floor_at(b));
  for (int i = 0; i < refinements; ++i) {
    if (error_a < error_b) {
      to = b;
      b = a;
      error_b = error_a;
      error_a = error_of(floor_at(a = to - golden * (to - from)));
    } else {
      from = a;
      a = b;
      error_a = error_b;
      error_b = error_of(floor_at(b = from + golden * (to - from)));
    }
  }
  const double refined = (from + to) / 2;
  return floor_at(error_of(floor_at(refined)) <= best_error ? refined : best);
}

}  // namespace sl
