#include "controller/tried_policies.h"

#include <memory>

#include "controller/estimate_views.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr Duration trial_time = Duration::milliseconds(1'300);  // then the futures drawn so far have to do
constexpr Duration trial_time_most = Duration::whole_seconds(15);
constexpr std::size_t jobs_shown_most = 100;

// On the forecast's thread.
Result<TriedPolicies> try_now(Forecasts& forecasts, const Told& told, const std::vector<PolicyChange>& policies) {
  const Instant begin = forecasts.now();
  std::vector<forecast::Contender> contenders;
  for (const PolicyChange& policy : policies) {
    auto maker = forecasts.maker_of(policy);
    if (!maker.ok()) return maker.error();
    contenders.push_back({policy.name, std::move(*maker)});
  }
  const auto prospects =
      forecast::prospects_of(told.present, forecasts.known().facts_of(told), forecasts.known().lengths());
  TriedPolicies tried;
  tried.at = told.present.now;
  for (std::size_t at = 0; at < prospects.size(); ++at) {
    const Job& job = told.present.jobs[at];
    tried.jobs.push_back(job.request.id);
    tried.users.push_back(told.present.users.text(job.request.user));
    if (prospects[at].basis.kind == forecast::BasisKind::none) tried.unknown.push_back(job.request.id);
  }
  const auto passed = [&forecasts, begin] { return forecasts.now() - begin; };
  tried.trials = forecast::what_if(told.present, prospects, contenders,
                                   {.continue_present = forecasts.continue_present(),
                                    .is_enough = [&](std::size_t) { return passed() > trial_time; },
                                    .stop = [&] { return forecasts.is_ending() || passed() > trial_time_most; }});
  tried.took = passed();
  return tried;
}

json::value median(const std::optional<forecast::Range>& range) {
  return range ? json::value(rfc3339(range->p50.us)) : json::value(nullptr);
}

}  // namespace

void try_on_present(Forecasts& forecasts, std::vector<PolicyChange> policies, Instant now,
                    std::function<void(Result<TriedPolicies>)> done) {
  if (!forecasts.continue_present()) return done(unavailable("no-forecasts", "this controller makes no forecasts"));
  auto told = std::make_shared<Told>(forecasts.tell_present(now));
  told->present.next_wake = now;  // a policy that takes over decides at once
  policies.insert(policies.begin(), told->policy);
  forecasts.ask([told, policies = std::move(policies), done = std::move(done)](Forecasts& self) {
    self.learn(*told);
    auto tried = std::make_shared<Result<TriedPolicies>>(try_now(self, *told, policies));
    self.post([tried, done] { done(std::move(*tried)); });
  });
}

json::object tried_view(const TriedPolicies& tried, const std::string& user) {
  json::array policies;
  for (std::size_t i = 0; i < tried.trials.size(); ++i) {
    const forecast::Trial& trial = tried.trials[i];
    const auto figure = [&](double value) {
      return trial.failure || trial.draws == 0 ? json::value(nullptr) : json::value(value);
    };
    policies.push_back(
        json::object{{"name", trial.name},
                     {"in_force", i == 0},
                     {"avg_wait_s", figure(trial.wait_s)},
                     {"avg_jct_s", figure(trial.jct_s)},
                     {"p95_jct_s", figure(trial.jct_p95_s)},
                     {"makespan_s", figure(trial.makespan_s)},
                     {"gpu_allocation_pct", figure(trial.utilization * 100)},
                     {"jobs", trial.jobs},
                     {"draws", trial.draws},
                     {"failure", trial.failure ? json::value(trial.failure->message) : json::value(nullptr)}});
  }
  json::array jobs;
  for (std::size_t at = 0; at < tried.jobs.size() && jobs.size() < jobs_shown_most; ++at) {
    if (tried.users[at] != user) continue;
    json::array expected;
    for (const forecast::Trial& trial : tried.trials) {
      const bool is_known = at < trial.forecasts.size();
      expected.push_back(
          json::object{{"policy", trial.name},
                       {"start", is_known ? median(trial.forecasts[at].start) : json::value(nullptr)},
                       {"finish", is_known ? median(trial.forecasts[at].finish) : json::value(nullptr)}});
    }
    jobs.push_back(json::object{{"job_id", tried.jobs[at].value}, {"expected", std::move(expected)}});
  }
  json::array unknown;
  for (const JobId job : tried.unknown) unknown.push_back(job.value);
  return {{"policies", std::move(policies)},
          {"jobs", std::move(jobs)},
          {"left_out", std::move(unknown)},
          {"evaluated_at", rfc3339(tried.at.us)},
          {"took_s", tried.took.to_seconds()}};
}

}  // namespace sl::controller
