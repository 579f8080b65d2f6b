// How urgent a job is to a policy: the smaller, the earlier it is served. Three numbers compared in turn; what they
// mean is the policy's (tiresias: queue, index, first start).
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/time.h"
#include "model/job.h"

namespace sl {

struct Rank {
  std::int64_t major = 0;
  std::int64_t middle = 0;
  std::int64_t minor = 0;

  static constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  static constexpr Rank most_urgent() {
    constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
    return {first, first, first};
  }
  friend constexpr auto operator<=>(const Rank&, const Rank&) = default;
};

// A total order: rank, then earlier submitted, then the lower id.
struct RankKey {
  Rank rank;
  Instant submitted;
  JobId id;
  static RankKey of(const Rank& rank, const Job& job) { return {rank, job.request.submitted, job.request.id}; }
  friend constexpr auto operator<=>(const RankKey&, const RankKey&) = default;
};

}  // namespace sl
