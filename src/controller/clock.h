// The controller's clock: the time of day when it started, and from then on one that never jumps. A wall clock that is
// corrected moves no deadline and makes no run time negative.
#pragma once

#include <chrono>

#include "base/time.h"

namespace sl::controller {

// The time at which a controller starts that finds an event of `last_event` in its database (default: none). When the
// wall clock is a little behind, it has been corrected, and time goes on where it was. When it is far behind, it was
// wrong back then: what matters is what it says now.
inline Instant start_time(Instant last_event, Instant wall) {
  constexpr Duration correction_max = Duration::whole_seconds(60);
  return last_event > wall && last_event - wall <= correction_max ? last_event : wall;
}

class Clock {
 public:
  explicit Clock(Instant last_event) : begin_(start_time(last_event, wall_now())) {}
  static Instant wall_now() {
    using namespace std::chrono;
    return Instant{duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()};
  }
  Instant now() const {
    using namespace std::chrono;
    return begin_ + Duration{duration_cast<microseconds>(steady_clock::now() - steady_begin_).count()};
  }

 private:
  Instant begin_;
  std::chrono::steady_clock::time_point steady_begin_ = std::chrono::steady_clock::now();
};

}  // namespace sl::controller
