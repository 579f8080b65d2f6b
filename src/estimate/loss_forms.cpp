#include "estimate/loss_forms.h"

#include <cmath>
#include <limits>

#include "estimate/convergence.h"
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
  // Never positive: where the points rise, the line is level.
  double slope() const {
    const double spread = w_ * xx_ - x_ * x_;
    return spread > 1e-14 * w_ * xx_ ? std::min(0.0, (w_ * xy_ - x_ * y_) / spread) : 0;
  }
  double offset() const { return w_ > 0 ? (y_ - slope() * x_) / w_ : 0; }

 private:
  double w_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

// The second and last thirds weigh 4 and 16 times as much as the first (policies.md 10.1).
double weight_of(std::size_t at, std::size_t count) {
  constexpr std::array<double, 3> weights{1, 4, 16};
  return weights[at * 3 / count];
}

// log(l - floor) = log(a) - c*x with x = k or log(k), weighted so that the residual equals that of the loss to first
// order.
class Falling {
 public:
  Falling(LossForm form, const std::vector<LossPoint>& points) : form_(form) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double epoch = points[i].epoch;
      samples_.push_back(
          {form == LossForm::power ? std::log(epoch) : epoch, points[i].loss, weight_of(i, points.size())});
      least_ = std::min(least_, points[i].loss);
    }
  }
  LossCurve best() const {
    const double floor = best_floor(least_, [&](double at) { return error_of(line_above(at), at); });
    const Line line = line_above(floor);
    return {form_, std::exp(line.offset()), -line.slope(), floor};
  }

 private:
  struct Sample {
    double x, loss, weight;
  };
  Line line_above(double floor) const {
    Line line;
    for (const Sample& s : samples_) {
      const double above = s.loss - floor;
      if (above > 0) line.add(s.x, std::log(above), s.weight * above * above);
    }
    return line;
  }
  double error_of(const Line& line, double floor) const {
    const double offset = line.offset(), slope = line.slope();
    double sum = 0;
    for (const Sample& s : samples_) {
      const double off = s.loss - floor - std::exp(offset + slope * s.x);
      sum += s.weight * off * off;
    }
    return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
  }

  LossForm form_;
  std::vector<Sample> samples_;
  double least_ = std::numeric_limits<double>::infinity();
};

LossCurve fit_line(const std::vector<LossPoint>& points) {
  Line line;
  for (std::size_t i = points.size() / 2; i < points.size(); ++i) line.add(points[i].epoch, points[i].loss, 1);
  return {LossForm::line, line.offset(), -line.slope(), 0};
}

}  // namespace

double LossCurve::loss_at(double epoch) const {
  switch (form) {
    case LossForm::inverse:
      return ConvergenceCurve{rate, scale, floor, 0}.loss_at(epoch);
    case LossForm::power:
      return scale * std::pow(epoch, -rate) + floor;
    case LossForm::exponential:
      return scale * std::exp(-rate * epoch) + floor;
    case LossForm::line:
      break;
  }
  return scale - rate * epoch;
}

std::optional<double> LossCurve::epoch_of(double target) const {
  if (form == LossForm::inverse) return ConvergenceCurve{rate, scale, floor, 0}.epoch_of(target);
  if (!(rate > 1e-12)) return std::nullopt;
  if (form == LossForm::line) return std::max(0.0, (scale - target) / rate);
  if (!(target > floor)) return std::nullopt;
  const double x = std::log(scale / (target - floor)) / rate;
  return std::max(0.0, form == LossForm::power ? std::exp(std::min(x, 100.0)) : x);
}

std::optional<LossCurve> fit_loss(LossForm form, const std::vector<LossPoint>& points) {
  if (points.size() < 3) return std::nullopt;
  if (form == LossForm::line) return fit_line(points);
  if (form != LossForm::inverse) return Falling(form, points).best();
  const auto curve = fit_convergence(points);
  if (!curve) return std::nullopt;
  return LossCurve{form, curve->b1, curve->b0, curve->b2};
}

}  // namespace sl
