#include "estimate/quadratic_utility.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "estimate/nnls.h"

namespace sl {
namespace {

constexpr double linear = 1e-12;

std::optional<double> vertex(double square, double slope) {
  return -square < linear ? std::nullopt : std::optional(slope / (-2 * square));
}

}  // namespace

QuadraticUtility::QuadraticUtility(double b1, double b2, double b3, double b4, double b5)
    : a_(-b1), b_(2 * b1 * b2), c_(-b3), d_(2 * b3 * b4), e_(b5 - b1 * b2 * b2 - b3 * b4 * b4) {}

std::optional<double> QuadraticUtility::b2() const { return vertex(a_, b_); }
std::optional<double> QuadraticUtility::b4() const { return vertex(c_, d_); }

double QuadraticUtility::b5() const {
  const double w = b2().value_or(0), p = b4().value_or(0);
  return e_ - a_ * w * w - c_ * p * p;
}

Figure QuadraticUtility::at(double workers, double servers) const {
  if (workers > workers_max_ || servers > servers_max_) return Figure::unknown();
  const double value = a_ * workers * workers + b_ * workers + c_ * servers * servers + d_ * servers + e_;
  return {std::max(0.0, value), confidence_};
}

std::optional<QuadraticUtility> QuadraticUtility::fit(const std::vector<UtilitySample>& samples) {
  std::vector<UtilitySample> good;
  std::set<double> workers, servers;
  for (const UtilitySample& s : samples) {
    if (!std::isfinite(s.progress_per_s) || s.progress_per_s < 0 || !(s.workers >= 1) || !(s.servers >= 0)) continue;
    good.push_back(s);
    workers.insert(s.workers);
    servers.insert(s.servers);
  }
  if (good.size() < 3) return std::nullopt;
  const auto n = static_cast<Eigen::Index>(good.size());
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(n + 2, 6);  // two rows for the ridge
  Eigen::VectorXd y = Eigen::VectorXd::Zero(n + 2);
  for (Eigen::Index r = 0; r < n; ++r) {
    const UtilitySample& s = good[static_cast<std::size_t>(r)];
    m.row(r) << -s.workers * s.workers, s.workers, -s.servers * s.servers, s.servers, 1, -1;
    y(r) = s.progress_per_s;
  }
  const auto ridge = [&](Eigen::Index row, Eigen::Index column) {
    m(row, column) = std::sqrt(1e-3) * m.col(column).head(n).norm();
  };
  if (workers.size() < 3) ridge(n, 0);
  if (servers.size() < 3) ridge(n + 1, 2);
  if (workers.size() < 2) m.col(1).setZero();
  if (servers.size() < 2) m.col(3).setZero();
  const Eigen::VectorXd x = nonnegative_least_squares(m, y);
  QuadraticUtility found;
  found.a_ = -x(0);
  found.b_ = x(1);
  found.c_ = -x(2);
  found.d_ = x(3);
  found.e_ = x(4) - x(5);
  found.workers_max_ = 2 * *workers.rbegin();
  found.servers_max_ = 2 * std::max(1.0, *servers.rbegin());
  if (workers.size() < 3) found.confidence_ = Confidence::low;
  return found;
}

}  // namespace sl
