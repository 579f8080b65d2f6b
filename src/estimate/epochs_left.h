// How many epochs a training still needs, from the losses it has reported (policies.md 10.2, 14a.1), by the forecast of
// its loss (loss_forecast.h). Ranges cover the truth in 80 % of all cases; the confidence follows from the width of the
// range, never from the number of points. docs/guide/estimates.md says how good these figures are on real trainings.
#pragma once

#include <vector>

#include "estimate/estimates.h"

namespace sl {

struct EpochsLeft {
  Figure epochs;          // at least 1; unknown: fewer than three losses, or the target is out of reach
  double low = 0;         // one in ten trainings needs fewer
  double high = 0;        // one in ten needs more; infinite: it may never get there
  bool reachable = true;  // false: the loss levels out above the target
};

// Until the loss reaches `target`. Once it has been there in three consecutive epochs (epoch_of_target), one epoch is
// left. Looks ahead to ten times the epochs that were reported: if it is there by then with a probability of less than
// a tenth, or the forecast does not fall at all, the target is out of reach. Otherwise the answer is the median of the
// epochs at which it may get there by then.
EpochsLeft epochs_left(const std::vector<double>& loss_by_epoch, double target);

// Without a target: until the loss hardly falls any more (epoch_of_convergence), as the forecast continues it; the
// range follows from the limits of the forecast. After `epochs_max` epochs every training counts as converged.
EpochsLeft epochs_to_convergence(const std::vector<double>& loss_by_epoch, int epochs_max = 100);

}  // namespace sl
