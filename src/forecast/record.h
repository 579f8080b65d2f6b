// The ranges that were shown and what became of them: how often they held, and how much wider or narrower the next ones
// must be for 8 of 10 to hold.
//
// The correction is conformal: with s = (y - p50) / (p90 - p50) of past ranges, in logarithms of the time from showing
// to the instant meant, the next p90 is moved to that multiple of its distance from p50 which nine tenths of the past
// values did not exceed, 0.9 (n + 1) of n; p10 likewise (Romano, Patterson, Candès 2019, "Conformalized
// quantile regression", theorem 2: a correction for each side; scaled by the distance from the median as in
// Kivaranovic, Johnson, Leeb 2020, "Adaptive, distribution-free prediction intervals for deep networks"). It is learnt
// from the latest ranges that were as far ahead (within a factor of two; while there are too few, of the same horizon, or
// of any beyond ten minutes), since clusters change, and weighted so that ranges shown at about the same
// time count as one: their errors are not independent (Barber, Candès, Ramdas, Tibshirani 2023, "Conformal prediction
// beyond exchangeability", weights). Those of times that follow each other err together to some degree too: five count
// as four in n.
//
// A range counts once its p90 as shown has passed. Before that only jobs that end early are known, and counting them
// would make ranges look too wide.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "forecast/forecast.h"

namespace sl::forecast {

enum class Target : std::uint8_t { start, finish };
const char* to_string(Target target);

// From showing to p50.
enum class Horizon : std::uint8_t { ten_minutes, hour, six_hours, day, longer };
inline constexpr std::size_t horizons = 5;
const char* to_string(Horizon horizon);  // "up to 10 min"
Horizon horizon_of(Duration ahead);

// A range that was shown.
struct Shown {
  JobId job;
  Target target = Target::start;
  std::string policy, basis;
  Instant at;
  Range raw;                           // before the correction
  Range range;                         // as it was shown
  std::optional<Instant> actual = {};  // what it was about, once that has happened
  bool is_void = false;                // the job was cancelled: nothing can be learnt
};

struct HitRate {
  std::string policy;
  Target target = Target::start;
  Horizon horizon = Horizon::ten_minutes;
  std::size_t ranges = 0, held = 0;
  std::size_t early = 0, late = 0;  // it happened before p10, after p90
  double width_s = 0;               // median of p90 - p10
};

// Single-sided factors of the distances from p50.
struct Correction {
  double low = 1, high = 1;
  std::size_t ranges = 0;  // it was learnt from; 0: not corrected
};

class Record {
 public:
  static constexpr std::size_t kept_most = 20'000;
  static constexpr std::size_t learnt_from_most = 120;  // steps
  static constexpr std::size_t learnt_from_least =
      10;                                           // steps of one length: with fewer, no value has a tenth above it
  static constexpr std::size_t per_step_most = 30;  // ranges
  static constexpr int per_job_most = 8;            // for each target

  void restore(std::vector<Shown> shown);

  // The range to show instead of `raw`.
  Range corrected(Target target, const Range& raw, Instant now) const;
  Correction correction(Target target, Horizon horizon) const;

  // Ranges that are shown from now on. Of each job the first is kept, and another one whenever what is left until p50 has
  // halved. Returns whether this one is.
  bool show(Shown shown);
  // ---- what became of them ----
  void happened(JobId job, Target target, Instant at);
  void forget(JobId job);  // cancelled
  // Call after these, before corrected(): ranges whose time is over count from now on.
  void judge(Instant now);

  std::vector<Shown> take_changed();  // since the last call: new, or with what has become of them
  std::vector<HitRate> hit_rates() const;
  std::size_t waiting() const { return open_.size(); }  // ranges whose time is not over

 private:
  // By the time of showing, in steps of about a quarter of the time ahead: 1, 2, 4, ... seconds. All ranges of one step
  // share their error, since they are about one queue; so each step counts once, however many ranges it has. Steps of
  // different lengths that begin together share it too, so those of the most frequent length say how many errors were seen.
  struct Step {
    std::uint64_t seen = 0;
    std::vector<std::pair<double, double>> scores;  // low, high: a sample of those seen
  };
  using StepKey = std::pair<std::int64_t, int>;  // its beginning, and its length as a power of two
  struct Learnt {
    std::map<StepKey, Step> steps;
    Correction correction;  // from them, as of the last judge()
    bool has_grown = false;
  };
  void learn(const Shown& shown, Instant actual);
  static void add(Learnt& learnt, const Shown& shown, std::pair<double, double> score);
  static void renew(Learnt& learnt);

  std::multimap<JobId, Shown> open_;
  std::deque<Shown> judged_;
  std::vector<Shown> changed_;
  std::map<std::pair<Target, int>, Learnt> by_length_;  // of steps: the narrowest
  std::map<std::pair<Target, Horizon>, Learnt> by_horizon_;
  std::map<Target, Learnt> by_target_;
};

}  // namespace sl::forecast
