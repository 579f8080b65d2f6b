// Coach's utility of w workers and p servers: f = -b1*(w-b2)^2 - b3*(p-b4)^2 + b5, all b >= 0, in progress per second
// (policies.md 10.4). Where only two different values of w (or p) were measured, the square cannot be told from the
// linear term: then the curvature is kept small (a ridge of 1e-3), and nothing is predicted beyond twice the largest w
// or p measured.
#pragma once

#include <optional>
#include <vector>

#include "estimate/estimates.h"

namespace sl {

struct UtilitySample {
  double workers = 1, servers = 1, progress_per_s = 0;
};

class QuadraticUtility {
 public:
  QuadraticUtility(double b1, double b2, double b3, double b4, double b5);
  // Nothing below three valid samples (numbers).
  static std::optional<QuadraticUtility> fit(const std::vector<UtilitySample>& samples);

  Figure at(double workers, double servers) const;
  double b1() const { return -a_; }
  std::optional<double> b2() const;  // nothing: linear in w, so there is no vertex
  double b3() const { return -c_; }
  std::optional<double> b4() const;
  double b5() const;

 private:
  QuadraticUtility() = default;
  double a_ = 0, b_ = 0, c_ = 0, d_ = 0, e_ = 0;  // a*w^2 + b*w + c*p^2 + d*p + e; a, c <= 0
  double workers_max_ = std::numeric_limits<double>::infinity();
  double servers_max_ = std::numeric_limits<double>::infinity();
  Confidence confidence_ = Confidence::medium;
};

}  // namespace sl
