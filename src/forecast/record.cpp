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
constexpr double tail = 0.1;

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

double conformal(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end());
  const auto rank = static_cast<std::size_t>(std::ceil((static_cast<double>(scores.size()) + 1) * (1 - tail)));
  return std::clamp(scores[std::min(rank, scores.size()) - 1], 0.0, factor_most);
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
  for (Scores* scores :
       {&by_horizon_[{shown.target, horizon_of(shown.raw.p50 - shown.at)}], &by_target_[shown.target]}) {
    scores->high.push_back(ahead / from.high);
    scores->low.push_back(-ahead / from.low);
    if (scores->high.size() > learnt_from_most) scores->high.pop_front(), scores->low.pop_front();
  }
}

Correction Record::correction_from(const Scores& scores) {
  return {conformal({scores.low.begin(), scores.low.end()}), conformal({scores.high.begin(), scores.high.end()}),
          scores.high.size()};
}

Correction Record::correction(Target target, Horizon horizon) const {
  const auto near = by_horizon_.find({target, horizon});
  if (near != by_horizon_.end() && near->second.high.size() >= learnt_from_least) return correction_from(near->second);
  const auto all = by_target_.find(target);
  if (all != by_target_.end() && all->second.high.size() >= learnt_from_least) return correction_from(all->second);
  return {};
}

Range Record::corrected(Target target, const Range& raw, Instant now) const {
  const Correction by = correction(target, horizon_of(raw.p50 - now));
  if (by.ranges == 0) return raw;
  const Distances from = distances(raw, now);
  return {instant_of(from.middle - by.low * from.low, now), std::max(raw.p50, now),
          instant_of(from.middle + by.high * from.high, now)};
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
