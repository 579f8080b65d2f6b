#include "estimate/speed_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimate/nnls.h"

namespace sl {

SpeedModel::SpeedModel(const std::vector<SpeedSample>& samples, TrainingMode mode) : mode_(mode) {
  constexpr double latest = 0.3;
  for (const SpeedSample& sample : samples) {
    if (!std::isfinite(sample.steps_per_s) || sample.steps_per_s <= 0 || sample.workers < 1 || sample.servers < 0 ||
        sample.neighbour.valid())
      continue;
    if (mode != TrainingMode::all_reduce && sample.servers < 1) continue;
    const Configuration at{sample.workers, mode == TrainingMode::all_reduce ? 0 : sample.servers, sample.machines > 1};
    const auto [kept, is_new] = measured_.try_emplace(at, sample.steps_per_s);
    if (!is_new) kept->second += latest * (sample.steps_per_s - kept->second);
    if (sample.batch_size > 0) batch_ = sample.batch_size;
  }
  fit();
}

std::vector<double> SpeedModel::columns(const Configuration& c) const {
  const double w = c.workers, p = std::max(1, c.servers), apart = c.several_machines ? 1 : 0;
  switch (mode_) {
    case TrainingMode::parameter_server_async:
      return {1, w / p, w, p};
    case TrainingMode::parameter_server_sync:
      return {batch_ / w, 1, w / p, w, p};
    case TrainingMode::all_reduce:
      break;
  }
  return {batch_ / w, 1, (w - 1) / w, w - 1, apart, apart * (w - 1) / w};
}

double SpeedModel::response(const Configuration& c, double speed) const {
  return (mode_ == TrainingMode::parameter_server_async ? c.workers : 1) / speed;
}

void SpeedModel::fit() {
  if (measured_.empty()) return;
  fit_power();
  const auto rows = static_cast<Eigen::Index>(measured_.size());
  const auto all = static_cast<Eigen::Index>(columns({}).size());
  Eigen::MatrixXd a(rows, all);
  Eigen::VectorXd y(rows);
  Eigen::Index r = 0;
  for (const auto& [at, speed] : measured_) {
    const std::vector<double> row = columns(at);
    for (Eigen::Index c = 0; c < all; ++c) a(r, c) = row[static_cast<std::size_t>(c)];
    y(r++) = response(at, speed);
  }
  // A column with the same value everywhere cannot be told from the constant column, which stays.
  const Eigen::Index constant = mode_ == TrainingMode::parameter_server_async ? 0 : 1;
  Eigen::Index used = 0;
  for (Eigen::Index c = 0; c < all; ++c) {
    const bool is_constant = (a.col(c).array() - a(0, c)).abs().maxCoeff() <= 1e-12 * std::abs(a(0, c));
    if (is_constant && c != constant) a.col(c).setZero();
    if (!is_constant || c == constant) ++used;
  }
  if (rows < used || rows < 2) return;
  const Eigen::VectorXd inverse = y.cwiseInverse();  // makes errors relative to the speed
  const Eigen::VectorXd theta = nonnegative_least_squares(inverse.asDiagonal() * a, Eigen::VectorXd::Ones(rows));
  theta_.assign(theta.data(), theta.data() + theta.size());
}

void SpeedModel::fit_power() {
  constexpr double unmeasured = 0.9;
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [at, speed] : measured_) {
    const double log_workers = std::log(at.workers), log_speed = std::log(speed);
    count += 1;
    x += log_workers;
    y += log_speed;
    xx += log_workers * log_workers;
    xy += log_workers * log_speed;
  }
  const double spread = count * xx - x * x;
  exponent_ = spread > 1e-9 ? std::clamp((count * xy - x * y) / spread, 0.0, 1.0) : unmeasured;
  on_one_ = std::exp((y - exponent_ * x) / count);
}

double SpeedModel::modelled(const Configuration& c) const {
  if (theta_.empty()) {
    if (!c.several_machines) return on_one_ * std::pow(c.workers, exponent_);
    const double serial = std::pow(2, 1 - exponent_) - 1;  // Amdahl's law with the same speed on two workers
    return on_one_ / (serial + (1 - serial) / c.workers);
  }
  double sum = 0;
  const std::vector<double> row = columns(c);
  for (std::size_t i = 0; i < row.size(); ++i) sum += theta_[i] * row[i];
  const double top = mode_ == TrainingMode::parameter_server_async ? c.workers : 1;
  return sum > 0 ? top / sum : 0;
}

Figure SpeedModel::steps_per_s(const Configuration& configuration) const {
  if (measured_.empty() || configuration.workers < 1) return Figure::unknown();
  if (const auto at = measured_.find(configuration); at != measured_.end()) return {at->second, Confidence::high};
  const double speed = modelled(configuration);
  if (!(speed > 0) || !std::isfinite(speed)) return Figure::unknown();
  return {speed, theta_.empty() ? Confidence::low : Confidence::medium};
}

SpeedModel::Range SpeedModel::range(const Configuration& configuration) const {
  constexpr double chosen = 0.28;  // on the speeds measured for Gavel: holds 80 % of those on 4 and 8 GPUs
  const Figure speed = steps_per_s(configuration);
  if (!speed.known()) return {0, std::numeric_limits<double>::infinity()};
  if (measured_.contains(configuration)) return {speed.value, speed.value};
  double doublings = std::numeric_limits<double>::infinity();  // to the nearest measured number of workers
  for (const auto& [at, measured] : measured_)
    doublings = std::min(doublings, std::abs(std::log2(static_cast<double>(configuration.workers) / at.workers)));
  const double factor = std::exp(chosen * std::sqrt(std::max(doublings, 0.5)));
  return {speed.value / factor, speed.value * factor};
}

Figure SpeedModel::speedup(int workers, int servers, bool several_machines) const {
  if (workers < 1) return Figure::unknown();
  const Figure one = steps_per_s({1, servers, false});
  if (!one.known()) return Figure::unknown();
  double peak = 0;  // up to the peak the curve does not fall
  Figure here = Figure::unknown();
  for (int n = 1; n <= workers; ++n) {
    const Configuration at{n, servers, n > 1 && several_machines};
    here = steps_per_s(at);
    if (!here.known()) return here;
    here.value /= one.value;
    if (!measured_.contains(at)) here.value = std::min(here.value, static_cast<double>(n));
    peak = std::max(peak, here.value);
  }
  const Figure next = steps_per_s({workers + 1, servers, several_machines});
  const bool still_rises = next.known() && next.value / one.value > peak;
  if (still_rises) here.value = std::max(here.value, peak);
  here.confidence = std::min(here.confidence, one.confidence);
  return here;
}

}  // namespace sl
