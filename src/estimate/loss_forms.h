// Forms a falling loss may take, each fitted to what a training has reported so far. No single form describes all
// trainings, so `epochs_left.h` fits all of them and trusts each according to how well it would have predicted the
// known losses (policies.md 14a.1).
//
//   inverse      1/(b0*k + b1) + floor      Optimus (convergence.h)
//   power        a * k^-c + floor
//   exponential  a * e^(-c*k) + floor
//   line         a - c*k, through the last half of the points
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "estimate/losses.h"

namespace sl {

enum class LossForm { inverse, power, exponential, line };
inline constexpr std::array all_loss_forms{LossForm::inverse, LossForm::power, LossForm::exponential, LossForm::line};

struct LossCurve {
  LossForm form = LossForm::line;
  double scale = 0;  // inverse: b1; power and exponential: a; line: the loss at epoch 0
  double rate = 0;   // inverse: b0; else c; never negative
  double floor = 0;  // where it levels out; a line has none

  double loss_at(double epoch) const;
  // The epoch, a real number, at which the loss falls to the target; nothing: never.
  std::optional<double> epoch_of(double target) const;
};

// Nothing below three points. Losses must be above 0, epochs at least 1 and rising.
std::optional<LossCurve> fit_loss(LossForm form, const std::vector<LossPoint>& points);

}  // namespace sl
