#include "forecast/what_if.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/statistics.h"

namespace sl::forecast {
namespace {

int gpus_up(const Present& present) {
  int gpus = 0;
  for (const Server& server : present.servers) {
    if (server.state == ServerState::up) gpus += (server.all() - server.unavailable - server.outside).count();
  }
  return gpus;
}

// 1 - Jain's index: 0 if all fare equally, towards 1 if few fare well.
double unfairness(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double share : shares) sum += share, squares += share * share;
  return squares > 0 ? 1 - sum * sum / (static_cast<double>(shares.size()) * squares) : 0;
}

bool takes_part(const Job& job) { return !job.on_hold && job.state != JobState::held; }

// `used`: how much of the time until its deadline the job takes, or has taken by `until`.
void count_deadline(const JobRequest& request, Instant finish, Instant until, Costs& costs, double& used) {
  const Instant end = std::min(finish, until);
  if (request.deadline.is_never() || end.is_never()) return;
  const double whole_s = (request.deadline - request.submitted).to_seconds();
  const double part = (end - request.submitted).to_seconds() / std::max(1.0, whole_s);
  costs.late += finish > request.deadline && request.deadline <= until;
  used += part / (1 + part);
}

// Adds the costs of one future to `trial`. None: no job counts.
std::optional<Figures> add(const Present& present, const std::vector<Lengths::Prospect>& prospects,
                           const std::vector<double>& left_s, const Future& future, Instant until, Trial& trial) {
  std::vector<double> jct_s, shares;
  Costs costs;
  double wait_s = 0, jct_sum_s = 0, used = 0;
  std::size_t waited = 0, counted = 0, unfinished = 0;
  Instant last = present.now;
  for (std::size_t at = 0; at < present.jobs.size(); ++at) {
    const Job& job = present.jobs[at];
    const Future::Of& of = future.jobs[at];
    if (prospects[at].basis.kind == BasisKind::none) continue;
    const Instant from = std::max(job.request.submitted, present.now);
    if (from < until && takes_part(job) && !until.is_never()) {
      costs.jct_s += (std::min(of.finish, until) - from).to_seconds();
      ++counted;
    }
    if (from < until) count_deadline(job.request, of.finish, until, costs, used);
    const Instant end = std::min(of.finish, until);
    unfinished += of.finish.is_never() && until.is_never() && takes_part(job);
    if (of.finish.is_never() && (until.is_never() || from >= until || !takes_part(job))) continue;
    jct_s.push_back((end - job.request.submitted).to_seconds());
    jct_sum_s += jct_s.back();
    if (until.is_never()) costs.jct_s += (of.finish - from).to_seconds(), ++counted;
    if (!job.group && jct_s.back() > 0) shares.push_back((prospects[at].passed_s + left_s[at]) / jct_s.back());
    last = std::max(last, end);
    const Instant start = std::min(of.start, until);
    if (start.is_never() || !job.allocation.empty()) continue;
    wait_s += (start - job.request.submitted).to_seconds();
    ++waited;
  }
  trial.jobs = std::max(trial.jobs, counted);
  trial.unfinished = std::max(trial.unfinished, unfinished);
  if (counted == 0) return std::nullopt;
  costs.jct_s /= static_cast<double>(counted);
  costs.late += used / static_cast<double>(counted);
  const double makespan_s = (last - present.now).to_seconds();
  if (until.is_never()) costs.makespan_s = makespan_s, costs.unfair = unfairness(shares);
  trial.costs.push_back(costs);
  const auto n = static_cast<double>(std::max<std::size_t>(1, jct_s.size()));
  std::sort(jct_s.begin(), jct_s.end());
  const double available = makespan_s * gpus_up(present);
  return Figures{.wait_s = waited > 0 ? wait_s / static_cast<double>(waited) : 0,
                 .jct_s = jct_sum_s / n,
                 .jct_p95_s = jct_s.empty() ? 0 : percentile(jct_s, 0.95),
                 .makespan_s = makespan_s,
                 .utilization = available > 0 ? std::min(1.0, future.gpu_s / available) : 0,
                 .preemptions = static_cast<double>(future.preemptions),
                 .migrations = static_cast<double>(future.migrations)};
}

Figures medians(const std::vector<Figures>& futures) {
  Figures median;
  if (futures.empty()) return median;
  for (double Figures::*figure : {&Figures::wait_s, &Figures::jct_s, &Figures::jct_p95_s, &Figures::makespan_s,
                                  &Figures::utilization, &Figures::preemptions, &Figures::migrations}) {
    std::vector<double> values;
    for (const Figures& one : futures) values.push_back(one.*figure);
    std::sort(values.begin(), values.end());
    median.*figure = percentile(values, 0.5);
  }
  return median;
}

std::uint64_t seed_of(const WhatIfSettings& settings, std::size_t draw) { return settings.seed * 1'000'003 + draw; }

Future future_of(const Present& present, const std::vector<Lengths::Prospect>& prospects, const Contender& contender,
                 const WhatIfSettings& settings, const std::vector<double>& left_s, std::uint64_t seed,
                 bool notes_holds = false) {
  return settings.continue_present(present, contender.make_policy(),
                                   {.left_s = left_s,
                                    .left_s_of_member = draws_of_members(prospects, seed),
                                    .until = settings.until,
                                    .notes_holds = notes_holds,
                                    .seed = seed,
                                    .stop = settings.stop});
}

// The draw of the future that stands for all.
std::size_t median_draw(const std::vector<Costs>& costs) {
  std::vector<std::size_t> draws(costs.size());
  std::iota(draws.begin(), draws.end(), std::size_t{0});
  std::sort(draws.begin(), draws.end(),
            [&](std::size_t a, std::size_t b) { return std::tie(costs[a].jct_s, a) < std::tie(costs[b].jct_s, b); });
  return draws.empty() ? 0 : draws[draws.size() / 2];
}

void add_schedules(const Present& present, const std::vector<Lengths::Prospect>& prospects,
                   const std::vector<Contender>& contenders, const WhatIfSettings& settings,
                   std::vector<Trial>& trials) {
  const std::uint64_t seed = seed_of(settings, median_draw(trials.front().costs));
  const std::vector<double> left_s = draw_all_left_s(prospects, seed);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (trials[i].failure) continue;
    Future future = future_of(present, prospects, contenders[i], settings, left_s, seed, true);
    if (!future.is_cut && !future.failure) trials[i].schedule = std::move(future.holds);
  }
}

}  // namespace

std::vector<Trial> what_if(const Present& present, const std::vector<Lengths::Prospect>& prospects,
                           const std::vector<Contender>& contenders, const WhatIfSettings& settings) {
  std::vector<Trial> trials(contenders.size());
  std::vector<std::vector<Future>> futures(contenders.size());
  std::vector<std::vector<Figures>> figures(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) trials[i].name = contenders[i].name;
  bool is_cut = false;
  for (std::size_t draw = 0; draw < settings.draws && !is_cut; ++draw) {
    const std::uint64_t seed = seed_of(settings, draw);
    const std::vector<double> left_s = draw_all_left_s(prospects, seed);
    std::vector<Future> round(contenders.size());
    for (std::size_t i = 0; i < contenders.size() && !is_cut; ++i) {
      if (trials[i].failure) continue;
      round[i] = future_of(present, prospects, contenders[i], settings, left_s, seed);
      trials[i].failure = round[i].failure;
      is_cut = round[i].is_cut;
    }
    if (is_cut) break;  // all contenders have seen the same futures
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (trials[i].failure) continue;
      if (const auto one = add(present, prospects, left_s, round[i], settings.until, trials[i]))
        figures[i].push_back(*one);
      futures[i].push_back(std::move(round[i]));
    }
    if (settings.is_enough && settings.is_enough(draw + 1)) break;
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    Trial& trial = trials[i];
    trial.draws = futures[i].size();
    trial.figures = medians(figures[i]);
    for (std::size_t at = 0; at < present.jobs.size() && !trial.failure; ++at)
      trial.forecasts.push_back(summarize(present, at, prospects[at], futures[i]));
  }
  if (settings.with_schedule && !trials.empty()) add_schedules(present, prospects, contenders, settings, trials);
  return trials;
}

}  // namespace sl::forecast
