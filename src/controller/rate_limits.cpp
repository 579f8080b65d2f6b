#include "controller/rate_limits.h"

#include <algorithm>

namespace sl::controller {

std::optional<Duration> RateLimits::refuse(const Identity& identity, Instant now) {
  const bool is_somebody = !identity.basis.empty();  // what is open to all names nobody
  if (!is_somebody || !identity.is_bounded()) return std::nullopt;
  const auto [entry, is_new] = users_.try_emplace(identity.user, Allowance{at_once, now});
  Allowance& allowance = entry->second;
  const double passed_s = std::max(0.0, (now - allowance.at).to_seconds());  // clocks are set back
  allowance.left = std::min(at_once, allowance.left + passed_s * per_second);
  allowance.at = now;
  if (allowance.left < 1) return Duration::seconds((1 - allowance.left) / per_second);
  allowance.left -= 1;
  return std::nullopt;
}

}  // namespace sl::controller
