// Optimus' curve of a falling loss: l(k) = 1/(b0*k + b1) + b2, all b >= 0 (policies.md 10.2). The yardstick
// for `loss_forecast.h`, which weighs several forms. Source: Optimus (Peng et al., EuroSys 2018); the fitting method is
// ours.
#pragma once

#include <optional>
#include <vector>

#include "estimate/losses.h"

namespace sl {

struct ConvergenceCurve {
  double b0 = 0, b1 = 0, b2 = 0;
  int points = 0;  // number of points it was fitted to

  double loss_at(double epoch) const;
  bool is_flat() const { return b0 < 1e-9; }
  // The epoch, a real number, at which the loss falls to the target; nothing: never.
  std::optional<double> epoch_of(double target) const;
};

// Fits by variable projection: for a given b2 the other coefficients follow from a weighted linear fit without negative
// coefficients; b2 is found by a search in one dimension; a few steps of Levenberg-Marquardt follow. The second and
// last thirds of the points weigh 4 and 16 times as much as the first. Nothing below three points.
std::optional<ConvergenceCurve> fit_convergence(const std::vector<LossPoint>& points);

}  // namespace sl
