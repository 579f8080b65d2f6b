#include "estimate/loss_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "estimate/floor_search.h"

namespace sl {
namespace {

// Least squares of y = offset + slope * x.
class Line {
 public:
  void add(double x, double y, double weight) {
    w_ += weight;
    x_ += weight * x;
    y_ += weight * y;
    xx_ += weight * x * x;
    xy_ += weight * x * y;
  }
  double slope() const {
    const double spread = w_ * xx_ - x_ * x_;
    return spread > 1e-14 * w_ * xx_ ? (w_ * xy_ - x_ * y_) / spread : 0;
  }
  double offset(double slope) const { return w_ > 0 ? (y_ - slope * x_) / w_ : 0; }
  double slope_through_zero() const { return xx_ > 0 ? xy_ / xx_ : 0; }

 private:
  double w_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

// The second and last thirds weigh 4 and 16 times as much as the first (policies.md 10.1).
double weight_of(std::size_t at, std::size_t count) {
  constexpr std::array<double, 3> weights{1, 4, 16};
  return weights[at * 3 / count];
}

// For a given floor, a straight line gives the other two coefficients: log(l - floor) = log(a) - c*x with x = k or
// log(k), or 1/(l - floor) = b1 + b0*k. It is weighted so that its residual equals that of the loss to first order.
class AboveFloor {
 public:
  AboveFloor(LossForm form, std::span<const LossPoint> points) : form_(form) {
    for (const LossPoint& point : points) least_ = std::min(least_, point.loss);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double epoch = points[i].epoch, relative = least_ / points[i].loss;
      samples_.push_back({form == LossForm::power ? std::log(epoch) : epoch, points[i].loss,
                          weight_of(i, points.size()) * relative * relative});
    }
  }
  LossCurve best() const {
    const double floor = best_floor(least_, [&](double at) { return error_of(above(at)); });
    const Coefficients found = above(floor);
    return {form_, form_ == LossForm::inverse ? found.offset : std::exp(found.offset), std::abs(found.slope), floor};
  }

 private:
  struct Sample {
    double x, loss, weight;
  };
  struct Coefficients {
    double offset, slope, floor;
  };
  Coefficients above(double floor) const {
    Line line;
    for (const Sample& s : samples_) {
      const double above = s.loss - floor;
      if (above <= 0) continue;
      if (form_ == LossForm::inverse)
        line.add(s.x, 1 / above, s.weight * above * above * above * above);
      else
        line.add(s.x, std::log(above), s.weight * above * above);
    }
    if (form_ != LossForm::inverse) {
      const double slope = std::min(0.0, line.slope());
      return {line.offset(slope), slope, floor};
    }
    const double slope = std::max(0.0, line.slope()), offset = line.offset(slope);
    if (offset >= 0) return {offset, slope, floor};
    return {0, line.slope_through_zero(), floor};
  }
  double error_of(const Coefficients& c) const {
    double sum = 0;
    for (const Sample& s : samples_) {
      const double y = c.offset + c.slope * s.x;
      const double miss = s.loss - c.floor - (form_ == LossForm::inverse ? 1 / y : std::exp(y));
      sum += s.weight * miss * miss;
    }
    return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
  }

  LossForm form_;
  std::vector<Sample> samples_;
  double least_ = std::numeric_limits<double>::infinity();
};

// The forms without a floor: a straight line through the last half, which is level where the losses rise.
LossCurve fit_tail(LossForm form, std::span<const LossPoint> points) {
  Line line;
  for (std::size_t i = points.size() / 2; i < points.size(); ++i) {
    const double epoch = points[i].epoch, loss = points[i].loss;
    line.add(form == LossForm::power_tail ? std::log(epoch) : epoch, form == LossForm::line ? loss : std::log(loss), 1);
  }
  const double slope = std::min(0.0, line.slope()), offset = line.offset(slope);
  return {form, form == LossForm::line ? offset : std::exp(offset), -slope, 0};
}

}  // namespace

double LossCurve::loss_at(double epoch) const {
  switch (form) {
    case LossForm::inverse: {
      const double below = rate * epoch + scale;
      return (below > 0 ? 1 / below : std::numeric_limits<double>::infinity()) + floor;
    }
    case LossForm::power:
    case LossForm::power_tail:
      return scale * std::pow(epoch, -rate) + floor;
    case LossForm::exponential:
    case LossForm::exponential_tail:
      return scale * std::exp(-rate * epoch) + floor;
    case LossForm::line:
      break;
  }
  return scale - rate * epoch;
}

std::optional<LossCurve> fit_loss(LossForm form, std::span<const LossPoint> points) {
  if (points.size() < 3) return std::nullopt;
  const bool has_floor = form == LossForm::inverse || form == LossForm::power || form == LossForm::exponential;
  return has_floor ? AboveFloor(form, points).best() : fit_tail(form, points);
}

}  // namespace sl
