// Forms a falling loss may take, each fitted to what a training has reported so far. No single form describes all
// trainings, so `loss_forecast.h` fits all of them and trusts each according to how well it would have predicted the
// known losses (policies.md 14a.1).
//
//   inverse           1/(b0*k + b1) + floor
//   power             a * k^-c + floor
//   exponential       a * e^(-c*k) + floor
//   line              a - c*k            through the last half of the points
//   power_tail        a * k^-c           through their last half, in logarithms
//   exponential_tail  a * e^(-c*k)       likewise
//
// The first three minimize errors relative to the loss. A fitted floor is often too high, as the losses that would show
// where it is are yet to come; the tails have none.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "estimate/losses.h"

namespace sl {

enum class LossForm { inverse, power, exponential, line, power_tail, exponential_tail };
inline constexpr std::array all_loss_forms{LossForm::inverse, LossForm::power,      LossForm::exponential,
                                           LossForm::line,    LossForm::power_tail, LossForm::exponential_tail};

struct LossCurve {
  LossForm form = LossForm::line;
  double scale = 0;  // inverse: b1; line: the loss at epoch 0; else a
  double rate = 0;   // inverse: b0; else c; never negative
  double floor = 0;  // where it levels out; a line and the tails have none

  double loss_at(double epoch) const;
};

// Nothing below three points. Losses must be above 0, epochs at least 1 and rising.
std::optional<LossCurve> fit_loss(LossForm form, std::span<const LossPoint> points);

}  // namespace sl
