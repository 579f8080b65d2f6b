#include "study/range_scores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "forecast/forecast.h"
#include "policy/history_reader.h"
#include "sim/continuation.h"
#include "sim/world.h"

namespace sl::study {
namespace {

using forecast::Range;
using forecast::Target;

constexpr double z = 1.2816;  // of the tenth and ninetieth percentile of a normal distribution
constexpr std::size_t plain_least = 3;

struct Case {
  std::size_t job;  // index in the trace
  Target target;
  Instant at;
  Range raw, shown;
  std::optional<Range> plain;
};

// Running mean and variance (Welford 1962).
struct Spread {
  std::size_t count = 0;
  double mean = 0, squares = 0;
  void add(double value) {
    const double before = value - mean;
    mean += before / static_cast<double>(++count);
    squares += before * (value - mean);
  }
  double deviation() const { return count < 2 ? mean : std::sqrt(squares / static_cast<double>(count - 1)); }
};

// From submission to start and to end, by user.
class Plain {
 public:
  void add(Target target, UserIndex user, double seconds) {
    by_user_[{target, user}].add(seconds);
    all_[target].add(seconds);
  }
  std::optional<Range> range(Target target, const Job& job, Instant now) const {
    const auto own = by_user_.find({target, job.request.user});
    const auto any = all_.find(target);
    const Spread* from = own != by_user_.end() && own->second.count >= plain_least ? &own->second
                         : any != all_.end() && any->second.count >= plain_least   ? &any->second
                                                                                   : nullptr;
    if (!from) return std::nullopt;
    const auto at = [&](double by) {
      return std::max(now,
                      job.request.submitted + Duration::seconds(std::max(0.0, from->mean + by * from->deviation())));
    };
    return Range{at(-z), at(0), at(z)};
  }

 private:
  std::map<std::pair<Target, UserIndex>, Spread> by_user_;
  std::map<Target, Spread> all_;
};

class Watcher {
 public:
  Watcher(const trace::Trace& trace, const RangeStudy& study)
      : trace_(trace), study_(study), every_(std::max<std::size_t>(1, trace.jobs.size() / study.moments)) {}

  void look(const Core& core, Instant now) {
    while (submitted_ < trace_.jobs.size() && trace_.jobs[submitted_].submitted <= now) ++submitted_;
    if (submitted_ < next_) return;
    next_ += every_;
    ++moments_;
    learn(core, now);
    ask(forecast::copy_of(core, now));
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  static forecast::RunKind kind_of(UserIndex user, FamilyIndex family, int gpus) {
    return {.user = user.value, .family = family.value, .gpus = gpus};
  }

  void learn(const Core& core, Instant now) {
    finished_.read(
        core.history(), [] {},
        [&](const FinishedJob& job) {
          if (job.ended <= learnt_up_to_) return;
          lengths_.add({.kind = kind_of(job.user, job.family, job.gpus), .run_s = job.run.to_seconds()});
          const auto index = static_cast<std::size_t>(job.job.value - 1);
          const Instant submitted = trace_.jobs[index].submitted, started = job.ended - job.run;
          plain_.add(Target::start, job.user, (started - submitted).to_seconds());
          plain_.add(Target::finish, job.user, (job.ended - submitted).to_seconds());
          record_.happened(job.job, Target::start, started);
          record_.happened(job.job, Target::finish, job.ended);
        });
    for (const JobIndex index : core.active()) {
      const Job& job = core.job(index);
      if (job.first_start.happened()) record_.happened(job.request.id, Target::start, job.first_start);
    }
    record_.judge(now);
    learnt_up_to_ = now;
  }

  void ask(const forecast::Present& present) {
    std::vector<forecast::JobFacts> facts;
    for (const Job& job : present.jobs)
      facts.push_back({.kind = kind_of(job.request.user, job.request.family, job.request.gpus)});
    forecast::ForecastSettings settings;
    settings.policy_name = study_.policy_name;
    settings.make_policy = study_.make_policy;
    settings.continue_present = sim::continue_present;
    settings.seed = moments_;
    settings.draws = study_.draws;
    const forecast::Forecast forecast = forecast::make_forecast(present, facts, lengths_, settings);
    for (std::size_t at = 0; at < forecast.jobs.size(); ++at) {
      if (present.jobs[at].group) continue;  // its members are judged
      show(present.jobs[at], forecast.jobs[at], Target::start, forecast.jobs[at].start, present.now);
      show(present.jobs[at], forecast.jobs[at], Target::finish, forecast.jobs[at].finish, present.now);
    }
  }
  void show(const Job& job, const forecast::JobForecast& known, Target target, const std::optional<Range>& raw,
            Instant now) {
    if (!raw) return;
    const Range shown = record_.corrected(target, *raw, now);
    const bool is_kept = record_.show({.job = job.request.id,
                                       .target = target,
                                       .policy = study_.policy_name,
                                       .basis = to_string(known.basis),
                                       .at = now,
                                       .raw = *raw,
                                       .range = shown});
    const bool counts = static_cast<double>(moments_) > study_.warm_up * static_cast<double>(study_.moments);
    if (is_kept && counts)
      cases_.push_back({static_cast<std::size_t>(job.request.id.value - 1), target, now, *raw, shown,
                        plain_.range(target, job, now)});
  }

  const trace::Trace& trace_;
  const RangeStudy& study_;
  std::size_t every_, submitted_ = 0, next_ = 0, moments_ = 0;
  Instant learnt_up_to_;
  HistoryReader finished_;
  forecast::Lengths lengths_;
  forecast::Record record_;
  Plain plain_;
  std::vector<Case> cases_;
};

// Counts how often a kind of range held.
class Tally {
 public:
  void add(std::size_t job, const Range& range, Instant truth) {
    ++ranges_;
    jobs_.insert(job);
    if (truth < range.p10) ++early_;
    if (truth > range.p90) ++late_;
    widths_.push_back((range.p90 - range.p10).to_seconds());
  }
  RangeScore score(Target target, const std::string& horizon, const std::string& method) {
    RangeScore score{.target = target, .horizon = horizon, .method = method, .ranges = ranges_, .jobs = jobs_.size()};
    const auto n = static_cast<double>(std::max<std::size_t>(1, ranges_));
    score.early = static_cast<double>(early_) / n, score.late = static_cast<double>(late_) / n;
    score.covered = 1 - score.early - score.late;
    if (widths_.empty()) return score;
    const auto middle = widths_.begin() + static_cast<std::ptrdiff_t>(widths_.size() / 2);
    std::nth_element(widths_.begin(), middle, widths_.end());
    score.width_s = *middle;
    return score;
  }

 private:
  std::size_t ranges_ = 0, early_ = 0, late_ = 0;
  std::vector<double> widths_;
  std::set<std::size_t> jobs_;
};

}  // namespace

std::vector<RangeScore> score_ranges(const trace::Trace& trace, const RangeStudy& study) {
  if (trace.jobs.empty()) return {};
  Watcher watcher(trace, study);
  sim::SimulationSettings settings;
  settings.cluster = study.cluster;
  settings.knows_durations = false;
  settings.watch = [&](const Core& core, Instant now) { watcher.look(core, now); };
  const sim::SimulationResult result = sim::simulate(trace, study.make_policy(), settings);
  // By target, horizon (the last: all) and method.
  std::map<std::tuple<Target, std::size_t, std::string>, Tally> scores;
  for (const Case& asked : watcher.take()) {
    const sim::Outcome& outcome = result.outcomes[asked.job];
    const Instant truth = asked.target == Target::start ? outcome.started : outcome.finished;
    if (!truth.happened() || truth < asked.at || !asked.plain) continue;
    const auto horizon = static_cast<std::size_t>(forecast::horizon_of(asked.raw.p50 - asked.at));
    for (const std::size_t h : {horizon, forecast::horizons}) {
      scores[{asked.target, h, as_shown}].add(asked.job, asked.shown, truth);
      scores[{asked.target, h, uncorrected}].add(asked.job, asked.raw, truth);
      scores[{asked.target, h, plain_mean}].add(asked.job, *asked.plain, truth);
    }
  }
  std::vector<RangeScore> table;
  for (auto& [key, score] : scores) {
    const auto& [target, horizon, method] = key;
    table.push_back(score.score(
        target, horizon == forecast::horizons ? "" : to_string(static_cast<forecast::Horizon>(horizon)), method));
  }
  return table;
}

}  // namespace sl::study
