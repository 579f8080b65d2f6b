#include "model/speed_curve.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sl {

SpeedCurve::SpeedCurve(std::vector<double> speeds) : table_(std::move(speeds)) {
  SL_CHECK(table_.empty() || table_.front() == 1, "speeds are relative to one GPU");
  SL_CHECK(std::all_of(table_.begin(), table_.end(), [](double speed) { return speed > 0; }), "speeds are above 0");
}

SpeedCurve SpeedCurve::from_run_times(const std::vector<double>& seconds) {
  std::vector<double> speeds;
  for (const double s : seconds) speeds.push_back(seconds.front() / s);
  return SpeedCurve(std::move(speeds));
}

}  // namespace sl
