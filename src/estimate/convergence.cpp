#include "estimate/convergence.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "estimate/floor_search.h"

namespace sl {
namespace {

// Epochs relative to the last, losses relative to the largest, so that coefficients are about 1.
struct Sample {
  double epoch, loss, weight;
};

double value(const Eigen::Vector3d& b, double epoch) {
  const double below = b(0) * epoch + b(1);
  return (below > 1e-12 ? 1 / below : 1e12) + b(2);
}

double error_of(const std::vector<Sample>& samples, const Eigen::Vector3d& b) {
  double sum = 0;
  for (const Sample& s : samples) sum += s.weight * std::pow(s.loss - value(b, s.epoch), 2);
  return sum;
}

// 1/(l - b2) = b0*k + b1. Weighted so that the residual equals the true one to first order.
Eigen::Vector3d line_for(const std::vector<Sample>& samples, double b2) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Sample& s : samples) {
    const double above = s.loss - b2, weight = s.weight * above * above * above * above, inverse = 1 / above;
    w += weight;
    x += weight * s.epoch;
    y += weight * inverse;
    xx += weight * s.epoch * s.epoch;
    xy += weight * s.epoch * inverse;
  }
  const double determinant = w * xx - x * x;
  if (determinant > 1e-14 * w * xx) {
    const double b0 = (w * xy - x * y) / determinant, b1 = (y - b0 * x) / w;
    if (b0 >= 0 && b1 >= 0) return {b0, b1, b2};
  }
  const Eigen::Vector3d flat(0, std::max(0.0, y / w), b2), through_zero(std::max(0.0, xy / xx), 0, b2);
  return error_of(samples, flat) <= error_of(samples, through_zero) ? flat : through_zero;
}

Eigen::Vector3d search(const std::vector<Sample>& samples) {
  double least = std::numeric_limits<double>::infinity();
  for (const Sample& s : samples) least = std::min(least, s.loss);
  return line_for(samples,
                  best_floor(least, [&](double floor) { return error_of(samples, line_for(samples, floor)); }));
}

Eigen::Vector3d refine(const std::vector<Sample>& samples, Eigen::Vector3d b) {
  double error = error_of(samples, b), damping = 1e-3;
  for (int step = 0; step < 20; ++step) {
    Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
    Eigen::Vector3d slope = Eigen::Vector3d::Zero();
    for (const Sample& s : samples) {
      const double inverse = value(b, s.epoch) - b(2);
      const Eigen::Vector3d gradient(-inverse * inverse * s.epoch, -inverse * inverse, 1);
      normal += s.weight * gradient * gradient.transpose();
      slope += s.weight * gradient * (s.loss - value(b, s.epoch));
    }
    Eigen::Matrix3d damped = normal;
    damped.diagonal() *= 1 + damping;
    damped.diagonal().array() += 1e-300;
    const Eigen::Vector3d next = (b + damped.ldlt().solve(slope)).cwiseMax(0);
    const double next_error = next.allFinite() ? error_of(samples, next) : std::numeric_limits<double>::infinity();
    if (next_error < error) {
      b = next;
      error = next_error;
      damping /= 10;
    } else {
      damping *= 10;
    }
  }
  return b;
}

}  // namespace

double ConvergenceCurve::loss_at(double epoch) const {
  const double below = b0 * epoch + b1;
  return (below > 0 ? 1 / below : std::numeric_limits<double>::infinity()) + b2;
}

std::optional<double> ConvergenceCurve::epoch_of(double target) const {
  if (!(target > b2)) return std::nullopt;
  if (is_flat()) return b1 > 0 && 1 / b1 + b2 <= target ? std::optional(0.0) : std::nullopt;
  return std::max(0.0, (1 / (target - b2) - b1) / b0);
}

std::optional<ConvergenceCurve> fit_convergence(const std::vector<LossPoint>& points) {
  if (points.size() < 3) return std::nullopt;
  const double last = points.back().epoch;
  double most = 0;
  for (const LossPoint& point : points) most = std::max(most, point.loss);
  std::vector<Sample> samples;
  constexpr std::array<double, 3> weights{1, 4, 16};
  for (std::size_t i = 0; i < points.size(); ++i)
    samples.push_back({points[i].epoch / last, points[i].loss / most, weights[i * 3 / points.size()]});
  const Eigen::Vector3d b = refine(samples, search(samples));
  ConvergenceCurve curve{b(0) / (last * most), b(1) / most, b(2) * most, static_cast<int>(points.size())};
  if (curve.b0 * last < 1e-9 * std::max(curve.b1, 1e-9)) curve.b0 = 0;
  return curve;
}

}  // namespace sl
