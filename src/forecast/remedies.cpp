#include "forecast/remedies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

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
  for (int i = 0; i < 200; ++i) draws.push_back(draw_left_s(prospect, 1 - random.uniform(), random));
  std::sort(draws.begin(), draws.end());
  const double seconds = prospect.passed_s + draws[190];
  const double step = seconds < 600 ? 60 : seconds < 7'200 ? 600 : 3'600;
  return Duration::seconds(std::ceil(seconds / step) * step);
}

// The request of a job, changed as long as this lives; of a group also those of its members that wait.
class Changed {
 public:
  Changed(Present& present, std::size_t at, const Change& change) : jobs_(present.jobs), at_(at) {
    Group* group = jobs_[at].group.get();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const bool waits = jobs_[i].request.member_of == jobs_[at].request.id && jobs_[i].state == JobState::pending;
      if (i == at || (group && waits)) change_request(i, change);
    }
    if (group) max_running_before_ = std::exchange(group->max_running, change.max_running.value_or(group->max_running));
  }
  ~Changed() {
    for (auto& [i, request] : before_) jobs_[i].request = std::move(request);
    if (Group* group = jobs_[at_].group.get()) group->max_running = max_running_before_;
  }
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;
  // Lengths are those on the GPUs that jobs ask for.
  void stretch(std::vector<double>& left_s) const {
    for (const auto& [i, request] : before_) left_s[i] = stretched(left_s[i]);
  }
  double stretched(double left_s) const {
    const JobRequest& before = before_.at(at_);
    const int gpus = jobs_[at_].request.gpus;
    return gpus == before.gpus ? left_s : left_s / before.speed_curve().speed_on(gpus, before.gpus);
  }

 private:
  void change_request(std::size_t i, const Change& change) {
    JobRequest& request = jobs_[i].request;
    before_.emplace(i, request);
    if (change.gpus) request.gpus = request.gpus_max = *change.gpus;
    request.gpus_min = change.gpus_min.value_or(std::min(request.gpus_min, request.gpus));
    if (change.servers) request.servers_max = *change.servers;
    if (change.time_limit) request.time_limit = change.time_limit;
    if (change.any_gpu_type) request.gpu_types.clear();
  }

  std::vector<Job>& jobs_;
  std::size_t at_;
  std::map<std::size_t, JobRequest> before_;  // by position in jobs_
  int max_running_before_ = 0;
};

class Trials {
 public:
  Trials(Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
         const RemedySettings& settings)
      : present_(present), at_(at), settings_(settings) {
    for (std::size_t draw = 0; draw < settings.draws; ++draw) {
      const std::uint64_t seed = settings.seed * 1'000'003 + draw;
      lengths_.push_back({draw_all_left_s(prospects, seed), draws_of_members(prospects, seed)});
    }
    present_.next_wake = present_.now;  // a change is a reason to decide
  }

  // The job in each future; nothing if time is up.
  std::optional<std::vector<Future::Of>> with(const Change& change) {
    const Changed changed(present_, at_, change);
    std::vector<Future::Of> outcomes;
    for (std::size_t draw = 0; draw < lengths_.size(); ++draw) {
      std::vector<double> left_s = lengths_[draw].left_s;
      changed.stretch(left_s);
      const auto of_member = [&, &drawn = lengths_[draw].left_s_of_member](std::size_t group, std::uint64_t nth) {
        return group == at_ ? changed.stretched(drawn(group, nth)) : drawn(group, nth);
      };
      const Future future = settings_.continue_present(present_, settings_.make_policy(),
                                                       {.left_s = std::move(left_s),
                                                        .left_s_of_member = of_member,
                                                        .until_end_of = at_,
                                                        .seed = draw + 1,
                                                        .stop = settings_.stop});
      if (future.is_cut || future.failure) return std::nullopt;
      outcomes.push_back(future.jobs[at_]);
    }
    return outcomes;
  }

 private:
  struct Drawn {
    std::vector<double> left_s;
    std::function<double(std::size_t, std::uint64_t)> left_s_of_member;
  };
  Present& present_;
  std::size_t at_;
  const RemedySettings& settings_;
  std::vector<Drawn> lengths_;
};

std::optional<Range> range_of(const std::vector<Future::Of>& outcomes, Instant Future::Of::*time) {
  std::vector<Instant> times;
  for (const Future::Of& outcome : outcomes) times.push_back(outcome.*time);
  std::sort(times.begin(), times.end());
  const Range range{quantile(times, 0.1), quantile(times, 0.5), quantile(times, 0.9)};
  return range.p90.is_never() ? std::nullopt : std::optional(range);
}

bool is_sooner(const std::vector<Future::Of>& with, const std::vector<Future::Of>& without, Instant Future::Of::*time,
               Instant now) {
  std::size_t sooner = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const double before_s = std::min((without[i].*time - now).to_seconds(), 3.2e9);
    const double gain_s = (without[i].*time - with[i].*time).to_seconds();
    sooner += !(with[i].*time).is_never() && gain_s >= std::max(sooner_by_least_s, sooner_by_least * before_s);
  }
  return static_cast<double>(sooner) >= sooner_in_least * static_cast<double>(with.size());
}

}  // namespace

std::vector<Change> changes_for(const Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
                                const RemedySettings& settings) {
  const Job& job = present.jobs[at];
  const JobRequest& request = job.request;
  std::vector<Change> changes;
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
  if (is_fresh && settings.may_spread && request.single_server() && request.gpus > 1) changes.push_back({.servers = 2});
  if (is_fresh && settings.is_elastic && request.gpus_min > 1) changes.push_back({.gpus_min = 1, .gpus = request.gpus});
  const std::optional<Duration> limit = limit_for(prospects[at]);
  if (limit && (!request.time_limit || *limit < *request.time_limit)) changes.push_back({.time_limit = limit});
  if (!request.gpu_types.empty()) changes.push_back({.any_gpu_type = true});
  const bool some_wait = job.group && (!job.group->to_come.empty() || job.group->is_over_limit());
  const int running_most = some_wait ? job.group->max_running : 0;
  if (running_most > 0 && running_most < job.group->size) changes.push_back({.max_running = 2 * running_most});
  return changes;
}

std::vector<Remedy> remedies(Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
                             const RemedySettings& settings) {
  const std::vector<Change> changes = changes_for(present, prospects, at, settings);
  std::vector<Remedy> found;
  if (changes.empty()) return found;
  const bool is_group = present.jobs[at].group != nullptr;
  const auto decisive = is_group ? &Future::Of::finish : &Future::Of::start;
  Trials trials(present, prospects, at, settings);
  const auto without = trials.with({});
  if (!without) return found;
  const auto start_of = [&](const std::vector<Future::Of>& outcomes) {
    return is_group ? std::nullopt : range_of(outcomes, &Future::Of::start);
  };
  const auto start_before = start_of(*without), finish_before = range_of(*without, &Future::Of::finish);
  if (!(is_group || start_before) || !finish_before) return found;
  for (const Change& change : changes) {
    const auto with = trials.with(change);
    if (!with) return {};
    const auto start = start_of(*with), finish = range_of(*with, &Future::Of::finish);
    if (!(is_group || start) || !finish || !is_sooner(*with, *without, decisive, present.now)) continue;
    found.push_back({.change = change,
                     .start = start,
                     .start_before = start_before,
                     .finish = *finish,
                     .finish_before = *finish_before,
                     .server = is_group ? ServerIndex() : with->front().server});
  }
  std::stable_sort(found.begin(), found.end(), [](const Remedy& a, const Remedy& b) {
    return a.start.value_or(a.finish).p50 < b.start.value_or(b.finish).p50;
  });
  return found;
}

}  // namespace sl::forecast
