// Losses as jobs report them, cleaned for fitting, and the rules by which a training is done (policies.md 10.1, 10.2).
#pragma once

#include <optional>
#include <vector>

namespace sl {

struct LossPoint {
  int epoch = 1;  // the first is 1
  double loss = 0;
};

// One point per epoch. Drops what is not a number, infinite, or not above 0. A point outside the range of its two
// neighbours on each side and further than three median deviations from their median is replaced by that median; the
// first and the last are kept. A loss that rises is left alone: divergence must not look like convergence.
std::vector<LossPoint> clean_losses(const std::vector<double>& loss_by_epoch);

// The epoch at which the target was reached in three consecutive epochs; nothing: not yet.
std::optional<int> epoch_of_target(const std::vector<double>& loss_by_epoch, double target);

// Without a target: the first epoch k whose loss l(k) lies at most `part` of the first loss below each loss of the
// `epochs` previous epochs: l(k-j) - l(k) <= part * l(1) for all j in 1..epochs; nothing: not yet.
std::optional<int> epoch_of_convergence(const std::vector<double>& loss_by_epoch, double part = 0.05, int epochs = 10);

}  // namespace sl
