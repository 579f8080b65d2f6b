#include "forecast/remedies.h"

#include <algorithm>
#include <cmath>

#include "model/gpu_counts.h"

namespace sl::forecast {
namespace {

constexpr double sooner_in_least = 0.75;  // of the futures it must start sooner
constexpr double sooner_by_least = 0.1;   // of the time until then, and
constexpr double sooner_by_least_s = 5;

// The most GPUs that are free now on one server.
int free_on_one(const Present& present) {
  std::vector<GpuSet> free;
  for (const Server& server : present.servers)
    free.push_back(server.state == ServerState::up ? server.all() - server.unavailable - server.outside : GpuSet());
  for (const Job& job : present.jobs) {
    for (const ServerGpus& part : job.allocation.parts()) free[part.server.value] = free[part.server.value] - part.gpus;
  }
  int most = 0;
  for (const GpuSet& gpus : free) most = std::max(most, gpus.count());
  return most;
}

// What nine of ten runs do not exceed, rounded up to what a person would write.
std::optional<Duration> limit_for(const Lengths::Prospect& prospect) {
  if (prospect.basis.kind != BasisKind::alike && prospect.basis.kind != BasisKind::progress) return std::nullopt;
  Random random(1);
  std::vector<double> draws;
  for (int i = 0; i < 200; ++i) draws.push_back(draw_left_s(prospect, random));
  std::sort(draws.begin(), draws.end());
  const double seconds = prospect.passed_s + draws[190];
  const double step = seconds < 600 ? 60 : seconds < 7'200 ? 600 : 3'600;
  return Duration::seconds(std::ceil(seconds / step) * step);
}

// The request of a job, changed as long as this lives.
class Changed {
 public:
  Changed(Job& job, const Change& change) : job_(job), before_(job.request) {
    JobRequest& request = job.request;
    if (change.gpus) request.gpus = request.gpus_max = *change.gpus;
    request.gpus_min = change.gpus_min.value_or(std::min(request.gpus_min, request.gpus));
    if (change.time_limit) request.time_limit = change.time_limit;
    if (change.any_gpu_type) request.gpu_types.clear();
  }
  ~Changed() { job_.request = before_; }
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;
  // Its length is that on the GPUs that it asks for.
  double left_s(double before_s) const {
    const int gpus = job_.request.gpus;
    return gpus == before_.gpus ? before_s : before_s / before_.speed_curve().speed_on(gpus, before_.gpus);
  }

 private:
  Job& job_;
  JobRequest before_;
};

class Trials {
 public:
  Trials(Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
         const RemedySettings& settings)
      : present_(present), at_(at), settings_(settings) {
    for (std::size_t draw = 0; draw < settings.draws; ++draw)
      lengths_.push_back(draw_all_left_s(prospects, settings.seed * 1'000'003 + draw));
    present_.next_wake = present_.now;  // a change is a reason to decide
  }

  // The job in each future; nothing if time is up.
  std::optional<std::vector<Future::Of>> with(const Change& change) {
    const Changed changed(present_.jobs[at_], change);
    std::vector<Future::Of> outcomes;
    for (std::size_t draw = 0; draw < lengths_.size(); ++draw) {
      std::vector<double> left_s = lengths_[draw];
      left_s[at_] = changed.left_s(left_s[at_]);
      const Future future = settings_.continue_present(
          present_, settings_.make_policy(), {.left_s = std::move(left_s), .seed = draw + 1, .stop = settings_.stop});
      if (future.is_cut || future.failure) return std::nullopt;
      outcomes.push_back(future.jobs[at_]);
    }
    return outcomes;
  }

 private:
  Present& present_;
  std::size_t at_;
  const RemedySettings& settings_;
  std::vector<std::vector<double>> lengths_;
};

std::optional<Range> range_of(const std::vector<Future::Of>& outcomes, Instant Future::Of::*time) {
  std::vector<Instant> times;
  for (const Future::Of& outcome : outcomes) times.push_back(outcome.*time);
  std::sort(times.begin(), times.end());
  const Range range{quantile(times, 0.1), quantile(times, 0.5), quantile(times, 0.9)};
  return range.p90.is_never() ? std::nullopt : std::optional(range);
}

bool is_sooner(const std::vector<Future::Of>& with, const std::vector<Future::Of>& without, Instant now) {
  std::size_t sooner = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const double before_s = std::min((without[i].start - now).to_seconds(), 3.2e9);
    const double gain_s = (without[i].start - with[i].start).to_seconds();
    sooner += !with[i].start.is_never() && gain_s >= std::max(sooner_by_least_s, sooner_by_least * before_s);
  }
  return static_cast<double>(sooner) >= sooner_in_least * static_cast<double>(with.size());
}

}  // namespace

std::vector<Change> changes_for(const Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
                                bool is_elastic) {
  const Job& job = present.jobs[at];
  const JobRequest& request = job.request;
  std::vector<Change> changes;
  if (job.group) return changes;  // its members have started, or are alike those that wait
  const auto fewer = [&](int gpus) {
    const Change change{.gpus_min = gpus, .gpus = gpus};
    const bool is_new = std::find(changes.begin(), changes.end(), change) == changes.end();
    if (gpus >= 1 && gpus < request.gpus && is_new && is_possible_range(request, gpus, gpus)) changes.push_back(change);
  };
  const bool may_change = !request.model || (request.model->roles.empty() && request.model->gpu_counts_allowed.empty());
  const bool is_fresh = job.state == JobState::pending && may_change;
  if (is_fresh) {
    fewer(std::min(free_on_one(present), request.gpus - 1));
    fewer(request.gpus / 2);
  }
  if (is_fresh && is_elastic && request.gpus_min > 1) changes.push_back({.gpus_min = 1, .gpus = request.gpus});
  const std::optional<Duration> limit = limit_for(prospects[at]);
  if (limit && (!request.time_limit || *limit < *request.time_limit)) changes.push_back({.time_limit = limit});
  if (!request.gpu_types.empty()) changes.push_back({.any_gpu_type = true});
  return changes;
}

std::vector<Remedy> remedies(Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
                             const RemedySettings& settings) {
  const std::vector<Change> changes = changes_for(present, prospects, at, settings.is_elastic);
  std::vector<Remedy> found;
  if (changes.empty()) return found;
  Trials trials(present, prospects, at, settings);
  const auto without = trials.with({});
  if (!without) return found;
  const auto start_before = range_of(*without, &Future::Of::start),
             finish_before = range_of(*without, &Future::Of::finish);
  if (!start_before || !finish_before) return found;
  for (const Change& change : changes) {
    const auto with = trials.with(change);
    if (!with) return {};
    const auto start = range_of(*with, &Future::Of::start), finish = range_of(*with, &Future::Of::finish);
    if (!start || !finish || !is_sooner(*with, *without, present.now)) continue;
    found.push_back({change, *start, *finish, *start_before, *finish_before, with->front().server});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Remedy& a, const Remedy& b) { return a.start.p50 < b.start.p50; });
  return found;
}

}  // namespace sl::forecast
