// How fast one user may send requests. Everybody's are answered on one thread: who floods it would keep all others
// waiting. The controller's own user and root have no limit.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "controller/identity.h"

namespace sl::controller {

class RateLimits {
 public:
  static constexpr double per_second = 200, at_once = 2'000;

  // Counts a request. If it comes too soon: how long it is until one may be sent again; then it does not count.
  std::optional<Duration> refuse(const Identity& identity, Instant now);

 private:
  struct Allowance {
    double left = at_once;
    Instant at;  // when that was worked out
  };
  std::map<std::string, Allowance> users_;
};

}  // namespace sl::controller
