// Speed curves of every shape from a seed: unmeasured, one entry, shorter than the job's maximum of GPUs, flat,
// falling.
#pragma once

#include <utility>
#include <vector>

#include "base/random.h"
#include "model/speed_curve.h"

namespace sl::test {

inline SpeedCurve random_curve(Random& random) {
  std::vector<double> speeds;
  const double step_least = random.chance(0.3) ? 0.6 : 1, step_most = random.chance(0.3) ? 1 : 1.8;
  const auto entries = random.integer(0, 10);
  for (double speed = 1; static_cast<std::int64_t>(speeds.size()) < entries;
       speed *= random.uniform(step_least, step_most))
    speeds.push_back(speed);
  return SpeedCurve(std::move(speeds));
}

}  // namespace sl::test
