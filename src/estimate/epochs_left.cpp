#include "estimate/epochs_left.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "estimate/loss_forecast.h"
#include "estimate/losses.h"

namespace sl {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Between these parts of its arrivals a forecast is right in 80 % of the trainings it was chosen on. Not .9: trainings
// that arrive late, or not at all, are more than a forecast counts with.
constexpr double early = .1, late = .93;

// By which epoch the loss has reached a target, with which probability.
class Arrival {
 public:
  Arrival(const LossForecast& forecast, double target) : last_(forecast.last_epoch()) {
    const double log_target = std::log(target);
    double least = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      const LossForecast::Outlook outlook = forecast.at(epoch(static_cast<double>(i)));
      const double score = (log_target - outlook.log_loss) / std::max(outlook.deviation, 1e-9);
      least = std::max(least, std::erfc(-score / std::sqrt(2.0)) / 2);
      reached_[i] = least;
    }
    const bool falls = forecast.at(epoch(steps - 1)).log_loss < forecast.at(last_ + 1.0).log_loss - 1e-6;
    in_sight_ = falls ? reached_.back() : reached_.front();
  }
  bool is_possible() const { return in_sight_ >= 0.1; }
  // Epochs from now until it is there in `part` of the cases in which it gets there.
  double left(double part) const {
    const double wanted = part * reached_.back();
    const auto at = std::lower_bound(reached_.begin(), reached_.end(), wanted);
    double step = static_cast<double>(std::min(at, reached_.end() - 1) - reached_.begin());
    if (step > 0 && at != reached_.end() && *at > *(at - 1)) step -= (*at - wanted) / (*at - *(at - 1));
    return std::max(1.0, std::ceil(epoch(step) - last_ - 1e-6));
  }

 private:
  static constexpr std::size_t steps = 128;
  static constexpr double horizon = 10;  // times the epochs so far
  double epoch(double step) const {
    return (last_ + 1.0) * std::pow(horizon * last_ / (last_ + 1.0), step / (steps - 1));
  }

  double last_;
  std::array<double, steps> reached_{};
  double in_sight_ = 0;
};

Confidence confidence_of(const EpochsLeft& left) {
  const double width = (left.high - left.low) / left.epochs.value;
  if (width <= 0.5) return Confidence::high;
  return width <= 1.5 ? Confidence::medium : Confidence::low;
}

EpochsLeft with_range(double low, double epochs, double high) {
  EpochsLeft left{{epochs, Confidence::low}, std::min(low, epochs), std::max(epochs, high), true};
  left.epochs.confidence = confidence_of(left);
  return left;
}

}  // namespace

EpochsLeft epochs_left(const std::vector<double>& loss_by_epoch, double target) {
  if (!(target > 0) || !std::isfinite(target)) return {};
  if (epoch_of_target(loss_by_epoch, target)) return with_range(1, 1, 1);
  const auto forecast = LossForecast::from(clean_losses(loss_by_epoch));
  if (!forecast) return {};
  const Arrival arrival(*forecast, target);
  if (!arrival.is_possible()) return {Figure::unknown(), infinity, infinity, false};
  return with_range(arrival.left(early), arrival.left(.5), arrival.left(late));
}

EpochsLeft epochs_to_convergence(const std::vector<double>& loss_by_epoch, int epochs_max) {
  const std::vector<LossPoint> points = clean_losses(loss_by_epoch);
  const auto forecast = LossForecast::from(points);
  if (!forecast) return {};
  std::vector<double> clean;
  for (const LossPoint& point : points) clean.push_back(point.loss);
  if (epoch_of_convergence(clean)) return with_range(1, 1, 1);
  const auto more = [&](double (LossForecast::Outlook::*course)() const) {
    std::vector<double> continued = clean;
    for (int epoch = forecast->last_epoch() + 1; epoch <= epochs_max; ++epoch)
      continued.push_back((forecast->at(epoch).*course)());
    const auto end = epoch_of_convergence(continued).value_or(static_cast<int>(continued.size()));
    return std::max(1.0, static_cast<double>(end) - static_cast<double>(clean.size()));
  };
  using Outlook = LossForecast::Outlook;
  const double epochs = more(&Outlook::loss), low = more(&Outlook::high), high = more(&Outlook::low);
  return with_range(std::min(low, high), epochs, std::max(low, high));
}

}  // namespace sl
