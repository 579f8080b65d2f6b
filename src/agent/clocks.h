// The two clocks of agent and launcher.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/time.h"

namespace sl::agent {

inline Instant read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return Instant{static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000};
}

// UTC, for people.
inline Instant wall_now() { return read_clock(CLOCK_REALTIME); }
// The time in which leases and grace periods are counted: continues while the machine sleeps, never jumps, restarts
// with each boot.
inline Instant boot_now() { return read_clock(CLOCK_BOOTTIME); }

}  // namespace sl::agent
