#include "estimate/losses.h"

#include <algorithm>
#include <cmath>

namespace sl {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The loss, or the median of its neighbours if it is an outlier.
double smoothed(const std::vector<LossPoint>& points, std::size_t at) {
  std::vector<double> around;
  for (std::size_t i = at < 2 ? 0 : at - 2; i < std::min(points.size(), at + 3); ++i) {
    if (i != at) around.push_back(points[i].loss);
  }
  const double loss = points[at].loss, middle = median(around);
  const auto [least, most] = std::minmax_element(around.begin(), around.end());
  if (loss >= *least && loss <= *most) return loss;
  std::vector<double> deviations;
  for (const double other : around) deviations.push_back(std::abs(other - middle));
  return std::abs(loss - middle) > 3 * median(deviations) ? middle : loss;
}

}  // namespace

std::vector<LossPoint> clean_losses(const std::vector<double>& loss_by_epoch) {
  std::vector<LossPoint> points;
  for (std::size_t i = 0; i < loss_by_epoch.size(); ++i) {
    if (std::isfinite(loss_by_epoch[i]) && loss_by_epoch[i] > 0)
      points.push_back({static_cast<int>(i) + 1, loss_by_epoch[i]});
  }
  if (points.size() < 5) return points;  // too few neighbours to judge by
  std::vector<LossPoint> clean = points;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) clean[i].loss = smoothed(points, i);
  return clean;
}

std::optional<int> epoch_of_target(const std::vector<double>& loss_by_epoch, double target) {
  int in_a_row = 0;
  for (std::size_t i = 0; i < loss_by_epoch.size(); ++i) {
    in_a_row = loss_by_epoch[i] <= target ? in_a_row + 1 : 0;
    if (in_a_row == 3) return static_cast<int>(i) + 1;
  }
  return std::nullopt;
}

std::optional<int> epoch_of_convergence(const std::vector<double>& loss_by_epoch, double part, int epochs) {
  if (loss_by_epoch.empty() || epochs < 1) return std::nullopt;
  const double least = part * loss_by_epoch.front();
  for (std::size_t k = static_cast<std::size_t>(epochs); k < loss_by_epoch.size(); ++k) {
    const auto at = loss_by_epoch.begin() + static_cast<std::ptrdiff_t>(k);
    if (*std::max_element(at - epochs, at) - *at <= least) return static_cast<int>(k) + 1;
  }
  return std::nullopt;
}

}  // namespace sl
