#include "forecast/forecast.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sl::forecast {
namespace {

std::optional<Range> range_of(std::vector<Instant>& times) {
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  const Range range{quantile(times, 0.1), quantile(times, 0.5), quantile(times, 0.9)};
  return range.p90.is_never() ? std::nullopt : std::optional(range);
}

bool waits(const Job& job) { return job.allocation.empty() && !(job.group && job.first_start.happened()); }

// What a future draws. Each job has draws of its own, which do not change as others come and go, or from one forecast to
// the next.
class Draws {
 public:
  explicit Draws(std::uint64_t future) : future_(future), common_(normal_of(future)) {}

  // Seconds that a job still runs. `nth`: of a group, its member; 0: the job itself.
  double left_s(const Lengths::Prospect& prospect, std::uint64_t nth) const {
    Random own(mixed(prospect.job, nth));
    const bool is_guess = prospect.basis.kind != BasisKind::none && prospect.basis.kind != BasisKind::progress;
    // Where nothing is known, a user's jobs are off by as much: a hundred that are each said to take a minute add up to a
    // hundred minutes, perhaps to fifty or three hundred, but not to what the longest of a hundred guesses would give.
    const double base_survival = 1 - Random(mixed(prospect.user, 0) + 1).uniform();
    const double left = draw_left_s(prospect, base_survival, own);
    const double from_now = is_guess ? std::min(left * std::exp(prospect.common_spread * common_),
                                                std::max(0.0, prospect.limit_s - prospect.passed_s))
                                     : left;
    return from_now + prospect.ran_since_s;
  }

 private:
  static double normal_of(std::uint64_t future) {
    Random random(future);
    return normal(random);
  }
  std::uint64_t mixed(std::uint64_t whose, std::uint64_t nth) const {
    return future_ ^ (whose * 0x9E3779B97F4A7C15ULL) ^ (nth * 0xBF58476D1CE4E5B9ULL);
  }
  std::uint64_t future_;
  // What is wrong with one length is often wrong with all: a cluster's jobs become longer or shorter together, and a queue
  // that adds up their lengths feels that as one error, not as many that cancel out. A draw from the standard normal
  // distribution.
  double common_;
};

}  // namespace

Instant quantile(const std::vector<Instant>& sorted, double share) {
  const auto n = static_cast<double>(sorted.size());
  const double place = std::clamp(share * (n + 1) - 1, 0.0, n - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - std::floor(place);
  if (part == 0) return sorted[below];
  if (sorted[above].is_never()) return Instant::never();
  return sorted[below] +
         Duration{static_cast<std::int64_t>(static_cast<double>((sorted[above] - sorted[below]).us) * part)};
}

std::vector<double> draw_all_left_s(const std::vector<Lengths::Prospect>& prospects, std::uint64_t seed) {
  const Draws draws(seed);
  std::vector<double> left_s;
  left_s.reserve(prospects.size());
  for (const Lengths::Prospect& prospect : prospects) left_s.push_back(draws.left_s(prospect, 0));
  return left_s;
}

std::function<double(std::size_t, std::uint64_t)> draws_of_members(const std::vector<Lengths::Prospect>& prospects,
                                                                   std::uint64_t seed) {
  return [&prospects, draws = Draws(seed)](std::size_t group, std::uint64_t nth) {
    return draws.left_s(prospects[group], nth + 1);
  };
}

const JobForecast* Forecast::find(JobId job) const {
  const auto found = std::lower_bound(jobs.begin(), jobs.end(), job,
                                      [](const JobForecast& candidate, JobId id) { return candidate.job < id; });
  return found != jobs.end() && found->job == job ? &*found : nullptr;
}

std::vector<Lengths::Prospect> prospects_of(const Present& present, const std::vector<JobFacts>& facts,
                                            const Lengths& lengths) {
  std::vector<Lengths::Prospect> prospects;
  prospects.reserve(present.jobs.size());
  for (std::size_t at = 0; at < present.jobs.size(); ++at)
    prospects.push_back(lengths.prospect_of(present.jobs[at], facts[at], present.now));
  return prospects;
}

JobForecast summarize(const Present& present, std::size_t at, const Lengths::Prospect& prospect,
                      const std::vector<Future>& futures) {
  const Job& job = present.jobs[at];
  JobForecast forecast{
      .job = job.request.id, .start = {}, .finish = {}, .basis = prospect.basis, .server = {}, .earliest = present.now};
  if (job.request.prerequisites) forecast.earliest = std::max(present.now, job.request.prerequisites->not_before);
  std::vector<Instant> starts, finishes;
  const Duration left = Duration::seconds(std::clamp(prospect.limit_s - prospect.passed_s, 0.0, 3.2e9));
  bool ends_within_limit = prospect.limit_s < Lengths::Prospect::endless && !futures.empty();
  std::map<std::pair<ServerIndex, int>, int> places;
  for (const Future& future : futures) {
    const Future::Of& of = future.jobs[at];
    if (waits(job)) starts.push_back(of.start);
    finishes.push_back(of.finish);
    ends_within_limit = ends_within_limit && of.finish <= (waits(job) ? of.start : present.now) + left;
    if (of.server.valid()) ++places[{of.server, of.gpus}];
  }
  forecast.start = range_of(starts);
  forecast.finish = range_of(finishes);
  if (ends_within_limit) forecast.longest = left;
  const auto most =
      std::max_element(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != places.end() && forecast.start) std::tie(forecast.server, forecast.gpus) = most->first;
  return forecast;
}

void fit_together(JobForecast& job, Instant now) {
  for (Instant Range::*const at : {&Range::p10, &Range::p50, &Range::p90}) {
    if (job.start) (*job.start).*at = std::max((*job.start).*at, job.earliest);
    if (!job.finish) continue;
    Instant& finish = (*job.finish).*at;
    const Instant from = job.start ? (*job.start).*at : now;
    finish = std::max(finish, from);
    if (job.longest) finish = std::min(finish, from + *job.longest);
  }
}

GpusHeld gpus_held(const std::vector<Instant>& moments, std::size_t servers, const std::vector<Future>& futures) {
  GpusHeld held;
  const auto tells = [&](const Future& future) { return future.held.size() == moments.size(); };
  if (futures.empty() || !std::ranges::all_of(futures, tells)) return held;
  held.at = moments;
  held.server.assign(servers, std::vector<double>(moments.size()));
  for (std::size_t m = 0; m < moments.size(); ++m) {
    std::vector<double> sums;
    for (const Future& future : futures) {
      double& sum = sums.emplace_back();
      for (std::size_t s = 0; s < servers; ++s) {
        sum += future.held[m][s];
        held.server[s][m] += future.held[m][s] / static_cast<double>(futures.size());
      }
    }
    std::sort(sums.begin(), sums.end());
    const auto at = [&sums](double share) {
      return sums[static_cast<std::size_t>(std::lround(share * static_cast<double>(sums.size() - 1)))];
    };
    held.all.push_back({at(0.1), at(0.5), at(0.9)});
  }
  return held;
}

Forecast make_forecast(const Present& present, const std::vector<JobFacts>& facts, const Lengths& lengths,
                       const ForecastSettings& settings) {
  Forecast forecast{.at = present.now, .policy = settings.policy_name};
  const std::vector<Lengths::Prospect> prospects = prospects_of(present, facts, lengths);
  for (std::size_t at = 0; at < present.jobs.size(); ++at) {
    const Job& job = present.jobs[at];
    const bool takes_part = !job.on_hold && job.state != JobState::held;
    if (prospects[at].basis.kind == BasisKind::none && takes_part) forecast.unknown.push_back(job.request.id);
  }
  std::vector<Future> futures;
  while (futures.size() < settings.draws) {
    const std::uint64_t seed = settings.seed * 1'000'003 + futures.size();
    Future future = settings.continue_present(present, settings.make_policy(),
                                              {.left_s = draw_all_left_s(prospects, seed),
                                               .left_s_of_member = draws_of_members(prospects, seed),
                                               .moments = settings.moments,
                                               .seed = seed,
                                               .stop = settings.stop});
    if (future.failure) forecast.failure = future.failure;
    if (future.failure || future.is_cut) break;
    futures.push_back(std::move(future));
    if (settings.is_enough && settings.is_enough(futures.size())) break;
  }
  forecast.draws = futures.size();
  forecast.held = gpus_held(settings.moments, present.servers.size(), futures);
  forecast.jobs.reserve(present.jobs.size());
  for (std::size_t at = 0; at < present.jobs.size(); ++at)
    forecast.jobs.push_back(summarize(present, at, prospects[at], futures));
  return forecast;
}

}  // namespace sl::forecast
