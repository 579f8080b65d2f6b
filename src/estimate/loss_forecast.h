// What a training's loss will be, from the losses it has reported so far.
//
//   1. Every form of curve (loss_forms.h) is fitted to all points, and to the first 40, 55 and 70 % of them.
//   2. Backtest: the weight of a form is 1 / (e^2 + 0.005^2). e is how far the fits to the first points miss the others:
//      the mean of |ln predicted - ln true|, divided by ln(last epoch / last fitted epoch); root of the mean square over
//      the three.
//   3. The forecast is the weighted median of the forms.
//   4. The squares of three things, all relative to the loss, add up to that of its standard deviation, but for a factor:
//      the noise of single epochs, the disagreement of the forms, and the misses of the weighted median in the same
//      backtest times the root of ln(epoch / last epoch).
//
// The method is ours. Its constants were chosen on half of the curves of tests/fixtures/loss_curves.csv, before anybody
// looked at the other half, which judges them (docs/guide/estimates.md).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "estimate/loss_forms.h"

namespace sl {

class LossForecast {
 public:
  // From cleaned losses (clean_losses). Nothing below three points.
  static std::optional<LossForecast> from(std::span<const LossPoint> points);

  struct Outlook {
    double log_loss = 0;   // natural logarithm of the median loss
    double deviation = 0;  // standard deviation of the logarithm
    double loss() const;
    double low() const;  // the loss lies between the two in 80 % of all cases
    double high() const;
  };
  Outlook at(double epoch) const;  // an epoch after the last one that was reported
  int last_epoch() const { return last_epoch_; }

 private:
  struct Weighed {
    LossCurve curve;
    double weight = 0;  // all together 1
  };
  void weigh(std::span<const LossPoint> points);
  double log_of(double loss) const;
  double log_loss_at(std::span<const Weighed> curves, double epoch) const;

  std::vector<Weighed> curves_;
  int last_epoch_ = 0;
  double least_ = 0, most_ = 0;  // smallest and largest loss so far
  double noise_ = 0;             // of single epochs
  double misses_ = 0;            // of the backtest, per unit of ln(epoch / last known epoch)
};

}  // namespace sl
