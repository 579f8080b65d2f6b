#include "estimate/nnls.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <vector>

namespace sl {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The unconstrained solution over the chosen columns; zero elsewhere.
VectorXd solve_over(const MatrixXd& a, const VectorXd& b, const std::vector<bool>& chosen) {
  std::vector<Index> columns;
  for (Index c = 0; c < a.cols(); ++c) {
    if (chosen[static_cast<std::size_t>(c)]) columns.push_back(c);
  }
  const auto n = static_cast<Index>(columns.size());
  MatrixXd part(a.rows(), n);
  for (Index c = 0; c < n; ++c) part.col(c) = a.col(columns[static_cast<std::size_t>(c)]);
  const Eigen::ColPivHouseholderQR<MatrixXd> qr(part);
  VectorXd found;
  if (qr.rank() == n) {
    found = qr.solve(b);
  } else {
    MatrixXd normal = part.transpose() * part;
    normal.diagonal().array() += 1e-9 * std::max(normal.diagonal().mean(), 1e-300);
    found = normal.ldlt().solve(part.transpose() * b);
  }
  VectorXd x = VectorXd::Zero(a.cols());
  for (Index c = 0; c < n; ++c) x(columns[static_cast<std::size_t>(c)]) = found(c);
  return x;
}

}  // namespace

VectorXd nonnegative_least_squares(const MatrixXd& a, const VectorXd& b) {
  const Index n = a.cols();
  VectorXd scale = a.colwise().norm().transpose();
  for (Index c = 0; c < n; ++c) {
    if (!(scale(c) > 0)) scale(c) = 1;
  }
  const MatrixXd scaled = a * scale.cwiseInverse().asDiagonal();
  const double tolerance = 1e-12 * std::max(1.0, b.norm());
  std::vector<bool> chosen(static_cast<std::size_t>(n), false);
  VectorXd x = VectorXd::Zero(n);
  for (Index round = 0; round < 3 * n + 10; ++round) {
    const VectorXd gradient = scaled.transpose() * (b - scaled * x);
    Index enter = -1;
    for (Index c = 0; c < n; ++c) {
      if (chosen[static_cast<std::size_t>(c)] || gradient(c) <= tolerance) continue;
      if (enter < 0 || gradient(c) > gradient(enter)) enter = c;
    }
    if (enter < 0) break;
    chosen[static_cast<std::size_t>(enter)] = true;
    VectorXd next = solve_over(scaled, b, chosen);
    for (Index step = 0; step <= n; ++step) {  // back to where the first coefficient would become negative
      double part = 1;
      for (Index c = 0; c < n; ++c) {
        if (chosen[static_cast<std::size_t>(c)] && next(c) <= 0) part = std::min(part, x(c) / (x(c) - next(c)));
      }
      if (!(part < 1)) break;
      x += part * (next - x);
      for (Index c = 0; c < n; ++c) {
        if (chosen[static_cast<std::size_t>(c)] && next(c) <= 0 && x(c) <= tolerance) {
          chosen[static_cast<std::size_t>(c)] = false;
          x(c) = 0;
        }
      }
      next = solve_over(scaled, b, chosen);
    }
    x = next.cwiseMax(0);
  }
  x = x.cwiseQuotient(scale);
  for (Index c = 0; c < n; ++c) {
    if (!(x(c) >= 0) || !std::isfinite(x(c))) x(c) = 0;
  }
  return x;
}

}  // namespace sl
