// How long the latest turns of the controller took: deciding, recording, sending.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/time.h"

namespace sl::controller {

class TurnTimes {
 public:
  void add(Duration time) {
    latest_[count_++ % latest_.size()] = time;
    max_ = std::max(max_, time);
    sum_ = sum_ + time;
  }
  std::size_t count() const { return count_; }
  Duration max() const { return max_; }  // since the start
  Duration sum() const { return sum_; }  // likewise
  // Of the latest 4,096 turns.
  Duration quantile(double q) const {
    std::vector<Duration> times(latest_.begin(),
                                latest_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, latest_.size())));
    if (times.empty()) return {};
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), at, times.end());
    return *at;
  }

 private:
  std::array<Duration, 4096> latest_{};
  std::size_t count_ = 0;
  Duration max_, sum_;
};

}  // namespace sl::controller
