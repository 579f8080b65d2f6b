// How fast a training is on more than one GPU. The simulated world, policies, metrics and forecasts ask the same curve,
// so they never disagree about a job's speed.
//
// A curve is a table, one speed for each number of GPUs from 1 up, as measured. Two rules fill the gaps:
//   beyond the table   the speed stays as it is at the last entry: unmeasured GPUs bring no gain
//                      (policies.md 14a.6)
//   without a table    the speed is assumed to be linear in the number of GPUs; `is_measured` tells the two apart
#pragma once

#include <cstddef>
#include <vector>

namespace sl {

class SpeedCurve {
 public:
  constexpr SpeedCurve() = default;  // without a table
  // `speeds[g - 1]`: speed on g GPUs relative to one. All are above 0; the first is 1.
  explicit SpeedCurve(std::vector<double> speeds);
  // From measured run times: `seconds[g - 1]` on g GPUs. All are above 0.
  static SpeedCurve from_run_times(const std::vector<double>& seconds);

  bool is_measured() const { return !table_.empty(); }
  const std::vector<double>& table() const { return table_; }

  // Speed relative to one GPU: 1 on one, 0 on none.
  double speed_on(int gpus) const {
    if (gpus <= 0) return 0;
    if (table_.empty()) return gpus;
    const auto last = table_.size() - 1, at = static_cast<std::size_t>(gpus) - 1;
    return table_[at < last ? at : last];
  }
  // Speed relative to `reference` GPUs, which is at least one.
  double speed_on(int gpus, int reference) const { return speed_on(gpus) / speed_on(reference); }

  friend bool operator==(const SpeedCurve&, const SpeedCurve&) = default;

 private:
  std::vector<double> table_;
};

// The curve of jobs about which nothing was measured.
inline constinit const SpeedCurve unmeasured_speed_curve;

}  // namespace sl
