// How a loss falls: l(k) = 1/(b0*k + b1) + b2, all b >= 0, and when it will reach a target (policies.md 10.2).
// Source: Optimus (Peng et al., EuroSys 2018); the fit is ours.
#pragma once

#include <optional>
#include <vector>

#include "estimate/estimates.h"
#include "estimate/losses.h"

namespace sl {

struct ConvergenceCurve {
  double b0 = 0, b1 = 0, b2 = 0;
  int points = 0;  // it was fitted to

  double loss_at(double epoch) const;
  bool is_flat() const { return b0 < 1e-9; }
  // The epoch, a real number, at which the loss comes down to the target; nothing: never.
  std::optional<double> epoch_of(double target) const;
};

// By variable projection: for a given b2 the others follow from a weighted linear fit without negative coefficients; b2
// by a search in one dimension; then a few steps of Levenberg-Marquardt. Later thirds of the points weigh 4 and 16
// times the first. Nothing below three points.
std::optional<ConvergenceCurve> fit_convergence(const std::vector<LossPoint>& points);

struct EpochsLeft {
  Figure epochs;          // at least 1; unknown: no curve
  double low = 0;         // of fits to the last 50, 75 and 100 % of the points: the spread
  double high = 0;        // infinite when one of them never gets there
  bool reachable = true;  // false: the curve levels out above the target
};
EpochsLeft epochs_left(const std::vector<double>& loss_by_epoch, double target);

}  // namespace sl
