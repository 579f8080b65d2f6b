#include "forecast/record.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace sl::forecast {
namespace {

constexpr double first_s = 10;           // added to times before the logarithm, so that "now" has one
constexpr double distance_least = 0.05;  // of p10 and p90 from p50, in logarithms
constexpr double factor_most = 20;
const double widest = std::log(100.0);  // beyond a hundred times p50 a range says no more than that nothing is known
constexpr double tail = 0.1;
// Steps that follow each other still share some of their error. With 1, ranges of live queues held in 76 % of the cases;
// with 0.67 those of weeks of one queue grew by a quarter and held hardly more often (docs/benchmarks.md, Ranges).
constexpr double independent_share = 0.8;

double log_of(Instant at, Instant shown) { return std::log(std::max(0.0, (at - shown).to_seconds()) + first_s); }
Instant instant_of(double log, Instant shown) {
  return shown + Duration::seconds(std::clamp(std::exp(log) - first_s, 0.0, 3.2e9));
}

struct Distances {  // from p50
  double middle, low, high;
};
Distances distances(const Range& range, Instant shown) {
  const double middle = log_of(range.p50, shown);
  return {middle, std::max(distance_least, middle - log_of(range.p10, shown)),
          std::max(distance_least, log_of(range.p90, shown) - middle)};
}

// The value that so much of the weight does not exceed.
double weighted_quantile(std::vector<std::pair<double, double>> weighted, double wanted) {
  std::sort(weighted.begin(), weighted.end());
  double reached = 0, value = 1;
  for (const auto& [score, weight] : weighted) {
    value = score;
    if ((reached += weight) >= wanted - 1e-9) break;
  }
  return std::clamp(value, 0.0, factor_most);
}

// In which ranges that are so far ahead count as shown at about the same time: 2^n seconds.
int step_length(Duration ahead) {
  return static_cast<int>(std::floor(std::log2(std::max(1.0, ahead.to_seconds() / 4))));
}

}  // namespace

const char* to_string(Target target) { return target == Target::start ? "start" : "finish"; }

const char* to_string(Horizon horizon) {
  constexpr std::array<const char*, horizons> texts = {"up to 10 min", "up to 1 h", "up to 6 h", "up to 1 d", "longer"};
  return texts[static_cast<std::size_t>(horizon)];
}

Horizon horizon_of(Duration ahead) {
  const double seconds = ahead.to_seconds();
  return seconds <= 600      ? Horizon::ten_minutes
         : seconds <= 3600   ? Horizon::hour
         : seconds <= 21'600 ? Horizon::six_hours
         : seconds <= 86'400 ? Horizon::day
                             : Horizon::longer;
}

// ---- corrections ----

void Record::learn(const Shown& shown, Instant actual) {
  const Distances from = distances(shown.raw, shown.at);
  const double ahead = log_of(actual, shown.at) - from.middle;
  const std::pair<double, double> score(-ahead / from.low, ahead / from.high);
  add(by_length_[{shown.target, step_length(shown.raw.p50 - shown.at)}], shown, score);
  const Horizon horizon = horizon_of(shown.raw.p50 - shown.at);
  add(by_horizon_[{shown.target, horizon}], shown, score);
  // The errors of seconds are those of starting and ending processes, and say nothing of hours.
  if (horizon != Horizon::ten_minutes) add(by_target_[shown.target], shown, score);
}

// Reservoir sampling: every range of a step is as likely to be kept, whenever it is judged.
void Record::add(Learnt& learnt, const Shown& shown, std::pair<double, double> score) {
  const int length = step_length(shown.raw.p50 - shown.at);
  const std::int64_t length_us = std::int64_t{1'000'000} << length;
  Step& at = learnt.steps[{shown.at.us / length_us * length_us, length}];
  ++at.seen;
  if (at.scores.size() < per_step_most) {
    at.scores.push_back(score);
  } else {
    const auto place = static_cast<std::uint64_t>(Random(static_cast<std::uint64_t>(shown.job.value) ^ at.seen)
                                                      .integer(0, static_cast<std::int64_t>(at.seen) - 1));
    if (place < per_step_most) at.scores[place] = score;
  }
  if (learnt.steps.size() > learnt_from_most) learnt.steps.erase(learnt.steps.begin());
  learnt.has_grown = true;
}

void Record::renew(Learnt& learnt) {
  if (!std::exchange(learnt.has_grown, false)) return;
  std::vector<std::pair<double, double>> low, high;
  std::map<int, std::size_t> by_length;
  std::size_t independent = 0;
  for (const auto& [key, step] : learnt.steps) {
    const double weight = 1 / static_cast<double>(step.scores.size());
    for (const auto& [below, above] : step.scores) low.emplace_back(below, weight), high.emplace_back(above, weight);
    independent = std::max(independent, ++by_length[key.second]);
  }
  if (independent < learnt_from_least) return;
  // With room for one more step.
  const auto n = independent_share * static_cast<double>(independent);
  const double wanted = std::min((n + 1) / n * (1 - tail), 1.0) * static_cast<double>(learnt.steps.size());
  const std::size_t ranges = high.size();
  learnt.correction = {weighted_quantile(std::move(low), wanted), weighted_quantile(std::move(high), wanted), ranges};
}

Correction Record::correction(Target target, Horizon horizon) const {
  const auto near = by_horizon_.find({target, horizon});
  if (near != by_horizon_.end() && near->second.correction.ranges > 0) return near->second.correction;
  const auto all = by_target_.find(target);
  return all != by_target_.end() ? all->second.correction : Correction{};
}

Range Record::corrected(Target target, const Range& raw, Instant now) const {
  const Duration ahead = raw.p50 - now;
  const auto alike = by_length_.find({target, step_length(ahead)});
  const bool is_known = alike != by_length_.end() && alike->second.correction.ranges > 0;
  const Correction by = is_known ? alike->second.correction : correction(target, horizon_of(ahead));
  if (by.ranges == 0) return raw;
  const Distances from = distances(raw, now);
  const auto moved = [](double distance, double factor) {
    return std::min(distance * factor, std::max(distance, widest));
  };
  return {instant_of(from.middle - moved(from.low, by.low), now), std::max(raw.p50, now),
          instant_of(from.middle + moved(from.high, by.high), now)};
}

// ---- what was shown ----

bool Record::show(Shown shown) {
  int kept = 0;
  const auto [begin, end] = open_.equal_range(shown.job);
  for (auto at = begin; at != end; ++at) {
    const Shown& earlier = at->second;
    if (earlier.target != shown.target) continue;
    ++kept;
    if ((shown.range.p50 - shown.at) * 2 > earlier.range.p50 - earlier.at) return false;
  }
  if (kept >= per_job_most || open_.size() >= kept_most) return false;
  changed_.push_back(shown);
  const JobId job = shown.job;
  open_.emplace(job, std::move(shown));
  return true;
}

void Record::happened(JobId job, Target target, Instant actual) {
  const auto [begin, end] = open_.equal_range(job);
  for (auto at = begin; at != end; ++at) {
    Shown& shown = at->second;
    if (shown.target != target || shown.actual || actual < shown.at) continue;
    shown.actual = actual;
    changed_.push_back(shown);
  }
}

void Record::forget(JobId job) {
  const auto [begin, end] = open_.equal_range(job);
  for (auto at = begin; at != end; ++at) {
    at->second.is_void = true;
    changed_.push_back(std::move(at->second));
  }
  open_.erase(begin, end);
}

void Record::judge(Instant now) {
  std::vector<Shown> over;
  for (auto at = open_.begin(); at != open_.end();) {
    Shown& shown = at->second;
    const bool is_over =
        shown.range.p90 < now && (shown.actual || shown.range.p90 < now - (shown.range.p90 - shown.at));
    if (!is_over) {
      ++at;
      continue;
    }
    over.push_back(std::move(shown));
    at = open_.erase(at);
  }
  std::sort(over.begin(), over.end(), [](const Shown& a, const Shown& b) {
    return std::tie(a.range.p90, a.job, a.at) < std::tie(b.range.p90, b.job, b.at);
  });
  for (Shown& shown : over) {
    learn(shown, shown.actual.value_or(now));  // at least as late as now
    judged_.push_back(std::move(shown));
    if (judged_.size() > kept_most) judged_.pop_front();
  }
  for (auto& [key, learnt] : by_length_) renew(learnt);
  for (auto& [key, learnt] : by_horizon_) renew(learnt);
  for (auto& [target, learnt] : by_target_) renew(learnt);
}

std::vector<Shown> Record::take_changed() { return std::exchange(changed_, {}); }

void Record::restore(std::vector<Shown> all) {
  std::sort(all.begin(), all.end(), [](const Shown& a, const Shown& b) { return a.at < b.at; });
  for (Shown& shown : all) {
    const JobId job = shown.job;
    if (!shown.is_void) open_.emplace(job, std::move(shown));
  }
}

std::vector<HitRate> Record::hit_rates() const {
  std::map<std::tuple<std::string, Target, Horizon>, std::pair<HitRate, std::vector<double>>> rates;
  for (const Shown& shown : judged_) {
    const Horizon horizon = horizon_of(shown.range.p50 - shown.at);
    auto& [rate, widths] = rates[{shown.policy, shown.target, horizon}];
    rate.policy = shown.policy, rate.target = shown.target, rate.horizon = horizon;
    ++rate.ranges;
    const bool early = shown.actual && *shown.actual < shown.range.p10;
    const bool late = !shown.actual || *shown.actual > shown.range.p90;
    rate.early += early, rate.late += late, rate.held += !early && !late;
    widths.push_back((shown.range.p90 - shown.range.p10).to_seconds());
  }
  std::vector<HitRate> sorted;
  for (auto& [key, entry] : rates) {
    std::vector<double>& widths = entry.second;
    std::nth_element(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(widths.size() / 2), widths.end());
    entry.first.width_s = widths[widths.size() / 2];
    sorted.push_back(std::move(entry.first));
  }
  return sorted;
}

}  // namespace sl::forecast
