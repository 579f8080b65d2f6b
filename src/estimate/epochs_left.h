// How many epochs a training still needs, from the losses it has reported (policies.md 10.2, 14a.1).
//
// Every form of curve (loss_forms.h) is fitted. Its weight is how well it would have predicted the last third of the
// points from the first two thirds. The answer is the weighted median of the forms' answers, with the range of all
// forms that carry weight; the confidence follows from the width of that range and from the error of those predictions,
// never from the number of points. "Never" needs two forms that agree.
#pragma once

#include <vector>

#include "estimate/estimates.h"

namespace sl {

struct EpochsLeft {
  Figure epochs;          // at least 1; unknown: fewer than three losses, or the target is out of reach
  double low = 0;         // the fewest epochs among the forms that carry weight
  double high = 0;        // the most; infinite if one of them never gets there
  bool reachable = true;  // false: the loss levels out above the target
};

// Until the loss reaches `target`. Once it has been there in three consecutive epochs (epoch_of_target), one epoch is
// left.
EpochsLeft epochs_left(const std::vector<double>& loss_by_epoch, double target);

// Without a target: until the loss hardly falls any more (epoch_of_convergence), as the weighted curves continue it.
// After `epochs_max` epochs every training counts as converged.
EpochsLeft epochs_to_convergence(const std::vector<double>& loss_by_epoch, int epochs_max = 100);

}  // namespace sl
