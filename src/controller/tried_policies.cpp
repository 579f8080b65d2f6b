#include "controller/tried_policies.h"

#include <algorithm>
#include <memory>

#include "controller/estimate_views.h"
#include "forecast/arrivals.h"

namespace sl::controller {
namespace {

constexpr Duration trial_time = Duration::milliseconds(1'300);  // then the futures drawn so far have to do
constexpr Duration trial_time_most = Duration::whole_seconds(15);
constexpr std::size_t jobs_shown_most = 100, holds_shown_most = 2'000;

// On the forecast's thread.
Result<TriedPolicies> try_now(Forecasts& forecasts, Told& told, const TrialWishes& wishes,
                              const std::vector<JobCopy>& recent) {
  const Instant begin = forecasts.now();
  std::vector<forecast::Contender> contenders;
  for (const PolicyChange& policy : wishes.policies) {
    auto maker = forecasts.maker_of(policy);
    if (!maker.ok()) return maker.error();
    contenders.push_back({policy.name, std::move(*maker)});
  }
  auto prospects = forecast::prospects_of(told.present, forecasts.known().facts_of(told), forecasts.known().lengths());
  TriedPolicies tried;
  tried.at = told.present.now;
  for (const Server& server : told.present.servers) tried.servers.push_back(server.description.name);
  for (std::size_t at = 0; at < prospects.size(); ++at) {
    const Job& job = told.present.jobs[at];
    tried.jobs.push_back(job.request.id);
    tried.users.push_back(told.present.users.text(job.request.user));
    if (prospects[at].basis.kind == forecast::BasisKind::none) tried.unknown.push_back(job.request.id);
  }
  std::vector<forecast::RecentJob> coming;
  for (const JobCopy& job : recent)
    coming.push_back({job->request, {.kind = forecasts.known().kind_for(job->request), .progress = {}}});
  tried.arrivals =
      forecast::add_arrivals(told.present, prospects, coming, wishes.arrivals, forecasts.known().lengths());
  const auto passed = [&forecasts, begin] { return forecasts.now() - begin; };
  tried.trials = forecast::what_if(told.present, prospects, contenders,
                                   {.continue_present = forecasts.continue_present(),
                                    .until = wishes.until.us > 0 ? tried.at + wishes.until : Instant::never(),
                                    .with_schedule = wishes.with_schedule,
                                    .is_enough = [&](std::size_t) { return passed() > trial_time; },
                                    .stop = [&] { return forecasts.is_ending() || passed() > trial_time_most; }});
  tried.took = passed();
  return tried;
}

std::optional<wire::Time> median(const std::optional<forecast::Range>& range) {
  return range ? std::optional(wire::Time{range->p50.us}) : std::nullopt;
}

std::vector<answers::Hold> schedule_view(const std::vector<forecast::Hold>& holds,
                                         const std::vector<std::string>& servers) {
  std::vector<answers::Hold> view;
  for (const forecast::Hold& hold : holds) {
    answers::Hold& one = view.emplace_back();
    one.job_id = hold.job.value;
    one.server = servers[hold.server.value];
    hold.gpus.for_each([&](int gpu) { one.gpus.push_back(gpu); });
    one.from = {hold.from.us};
    if (!hold.to.is_never()) one.to = wire::Time{hold.to.us};
  }
  return view;
}

}  // namespace

void try_on_present(Forecasts& forecasts, TrialWishes wishes, Instant now,
                    std::function<void(Result<TriedPolicies>)> done) {
  if (!forecasts.continue_present()) return done(unavailable("no-forecasts", "this controller makes no forecasts"));
  if (forecasts.is_full())
    return done(unavailable("forecasts-busy", "too many forecasts that were asked for are being worked out")
                    .hint("try again in a few seconds"));
  auto told = std::make_shared<Told>(forecasts.tell_present(now));
  told->present.next_wake = now;  // a policy that takes over decides at once
  wishes.policies.insert(wishes.policies.begin(), told->policy);
  auto recent = forecasts.recent().since(now - wishes.arrivals);
  // What is known may go back less far; then it comes again that much sooner.
  if (!recent.empty())
    wishes.arrivals = std::min(wishes.arrivals, now - recent.front()->request.submitted + Duration::whole_seconds(1));
  forecasts.ask([told, recent, wishes = std::move(wishes), done = std::move(done)](Forecasts& self) {
    self.learn(*told);
    auto tried = std::make_shared<Result<TriedPolicies>>(try_now(self, *told, wishes, recent));
    self.post([tried, done] { done(std::move(*tried)); });
  });
}

answers::Tried tried_view(const TriedPolicies& tried, const std::string& user, const JobBook& book) {
  answers::Tried view;
  std::size_t unfinished_least = SIZE_MAX;
  for (const forecast::Trial& trial : tried.trials) {
    if (!trial.failure) unfinished_least = std::min(unfinished_least, trial.unfinished);
  }
  for (std::size_t i = 0; i < tried.trials.size(); ++i) {
    const forecast::Trial& trial = tried.trials[i];
    answers::TriedPolicy& policy = view.policies.emplace_back();
    policy.name = trial.name;
    policy.in_force = i == 0;
    policy.jobs = trial.jobs;
    policy.draws = trial.draws;
    policy.unfinished = trial.unfinished;
    if (trial.failure) policy.failure = trial.failure->message;
    if (trial.failure || trial.draws == 0 || trial.unfinished > unfinished_least) continue;
    policy.avg_wait_s = trial.figures.wait_s;
    policy.avg_jct_s = trial.figures.jct_s;
    policy.p95_jct_s = trial.figures.jct_p95_s;
    policy.makespan_s = trial.figures.makespan_s;
    policy.gpu_allocation_pct = trial.figures.utilization * 100;
    policy.preemptions = trial.figures.preemptions;
    policy.migrations = trial.figures.migrations;
    if (trial.schedule && trial.schedule->size() <= holds_shown_most)
      policy.schedule = schedule_view(*trial.schedule, tried.servers);
  }
  for (std::size_t at = 0; at < tried.jobs.size(); ++at) {
    if (tried.users[at] != user || ++view.jobs_total > static_cast<std::int64_t>(jobs_shown_most)) continue;
    answers::TriedJob& job = view.jobs.emplace_back();
    job.job_id = tried.jobs[at].value;
    if (const JobEntry* entry = book.find(tried.jobs[at])) job.name = entry->row.name;
    for (const forecast::Trial& trial : tried.trials) {
      const forecast::JobForecast* known = at < trial.forecasts.size() ? &trial.forecasts[at] : nullptr;
      job.expected.push_back(
          {trial.name, known ? median(known->start) : std::nullopt, known ? median(known->finish) : std::nullopt});
    }
  }
  for (const JobId job : tried.unknown) view.left_out.push_back(job.value);
  view.arrivals = tried.arrivals;
  view.evaluated_at = {tried.at.us};
  view.took_s = tried.took.to_seconds();
  return view;
}

}  // namespace sl::controller
