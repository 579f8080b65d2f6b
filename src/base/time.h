// Instants and durations: whole microseconds in 64 bits. An Instant counts from an origin set by its world: the
// Unix epoch (UTC) live, the trace's own origin in a simulation. Nothing here reads a clock.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace sl {

struct Duration {
  std::int64_t us = 0;

  static constexpr Duration seconds(double s) {  // at most infinite()
    const double us = s * 1e6 + (s < 0 ? -0.5 : 0.5);
    constexpr double most = 9.2e18;  // of 63 bits
    return us > most ? infinite() : us < -most ? Duration{-infinite().us} : Duration{static_cast<std::int64_t>(us)};
  }
  static constexpr Duration whole_seconds(std::int64_t s) { return Duration{s * 1'000'000}; }
  static constexpr Duration milliseconds(std::int64_t ms) { return Duration{ms * 1'000}; }
  static constexpr Duration infinite() { return Duration{std::numeric_limits<std::int64_t>::max()}; }
  constexpr double to_seconds() const { return static_cast<double>(us) * 1e-6; }
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.us + b.us}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.us - b.us}; }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return {a.us * n}; }
  friend constexpr Duration operator/(Duration a, std::int64_t n) { return {a.us / n}; }
  constexpr Duration& operator+=(Duration d) {
    us += d.us;
    return *this;
  }
  constexpr Duration& operator-=(Duration d) {
    us -= d.us;
    return *this;
  }
};

struct Instant {
  std::int64_t us = std::numeric_limits<std::int64_t>::min();  // default: "never happened"

  static constexpr Instant at_seconds(double s) { return Instant{Duration::seconds(s).us}; }
  static constexpr Instant never() { return Instant{std::numeric_limits<std::int64_t>::max()}; }  // after everything
  constexpr bool happened() const { return us != std::numeric_limits<std::int64_t>::min(); }
  constexpr bool is_never() const { return us == std::numeric_limits<std::int64_t>::max(); }
  constexpr double to_seconds() const { return static_cast<double>(us) * 1e-6; }
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.us + d.us}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.us - d.us}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.us - b.us}; }
};

}  // namespace sl
