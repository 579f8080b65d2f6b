// How urgent a job is to a policy: jobs of lower rank are served earlier. Three numbers compared in turn; their meaning
// is up to the policy (tiresias: queue, index, first start).
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
  // Same result as <=>, in fewer steps and without a call: most comparisons of a simulation are these.
  [[gnu::always_inline]] friend constexpr bool operator<(const Rank& a, const Rank& b) {
    if (a.major != b.major) return a.major < b.major;
    if (a.middle != b.middle) return a.middle < b.middle;
    return a.minor < b.minor;
  }
};

// A total order: rank, then earlier submitted, then the lower id.
struct RankKey {
  Rank rank;
  Instant submitted;
  JobId id;
  static RankKey of(const Rank& rank, const Job& job) { return {rank, job.request.submitted, job.request.id}; }
  friend constexpr auto operator<=>(const RankKey&, const RankKey&) = default;
  [[gnu::always_inline]] friend constexpr bool operator<(const RankKey& a, const RankKey& b) {
    if (a.rank.major != b.rank.major) return a.rank.major < b.rank.major;
    if (a.rank.middle != b.rank.middle) return a.rank.middle < b.rank.middle;
    if (a.rank.minor != b.rank.minor) return a.rank.minor < b.rank.minor;
    if (a.submitted != b.submitted) return a.submitted < b.submitted;
    return a.id < b.id;
  }
};

}  // namespace sl
