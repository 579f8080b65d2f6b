#include "controller/submission_forecast.h"

#include <memory>

#include "controller/estimate_views.h"
#include "wire/members.h"

namespace sl::controller {
namespace {

constexpr Duration answered_within = Duration::whole_seconds(1);
constexpr Duration submission_draws_time = Duration::milliseconds(200);  // then the futures drawn so far have to do
constexpr Duration submission_draws_time_most = Duration::milliseconds(800);

// The last of the present's jobs. What it is to start after and is not among them has ended.
Job next_job(JobRequest request, const forecast::Present& present) {
  request.id = JobId(present.jobs.empty() ? 1 : present.jobs.back().request.id.value + 1);
  if (request.prerequisites) {
    Prerequisites open = *request.prerequisites;
    for (auto* jobs : {&open.after, &open.after_any})
      std::erase_if(*jobs, [&](JobId job) { return present.find(job) == present.jobs.size(); });
    request.prerequisites = std::make_shared<const Prerequisites>(std::move(open));
  }
  Job job;
  job.state_since = job.waiting_since = present.now;
  job.request = std::move(request);
  return job;
}

// On the forecast's thread.
answers::Estimate expected(Forecasts& forecasts, Told& told, JobRequest request, const forecast::RunKind& kind) {
  const Instant begin = forecasts.now();
  std::vector<forecast::JobFacts> facts = forecasts.known().facts_of(told);
  forecast::Present& present = told.present;
  present.jobs.push_back(next_job(std::move(request), present));
  present.next_wake = present.now;  // it is a reason to decide
  facts.push_back({.kind = kind});
  const auto passed = [&] { return forecasts.now() - begin; };
  forecast::Forecast made{.at = present.now, .policy = told.policy.name};
  auto maker = forecasts.maker_of(told.policy);
  if (maker.ok()) {
    made = forecast::make_forecast(
        present, facts, forecasts.known().lengths(),
        {.policy_name = told.policy.name,
         .make_policy = std::move(*maker),
         .continue_present = forecasts.continue_present(),
         .is_enough =
             [&](std::size_t draws) { return draws >= forecast::draws_least || passed() > submission_draws_time; },
         .stop = [&] { return forecasts.is_ending() || passed() > submission_draws_time_most; }});
  } else {
    made.failure = maker.error();
  }
  if (!made.jobs.empty()) forecasts.correct(made.jobs.back(), made.at);
  std::vector<std::string> servers;
  for (const Server& server : present.servers) servers.push_back(server.description.name);
  return submission_estimate(made, present.jobs.back().request.id, servers);
}

}  // namespace

void forecast_submission(Forecasts& forecasts, const Logic& logic, const wire::JobSpec& spec, Instant now,
                         std::function<void(const std::optional<answers::Estimate>&)> done) {
  if (!forecasts.continue_present() || forecasts.is_full() || wire::is_group(spec)) return done(std::nullopt);
  if (spec.hold) {
    answers::Estimate held{.confidence = "unknown", .evaluated_at = {now.us}};
    held.text = "no estimate while it is held";
    return done(held);
  }
  const auto once = [done = std::move(done),
                     is_done = std::make_shared<bool>(false)](const std::optional<answers::Estimate>& estimate) {
    if (!std::exchange(*is_done, true)) done(estimate);
  };
  JobRequest request = logic.request_of(spec, now);
  auto told = std::make_shared<Told>(forecasts.tell_present(now));
  forecasts.ask([told, request = std::move(request), kind = kind_of(spec), once](Forecasts& self) {
    self.learn(*told);
    const auto estimate = std::make_shared<std::optional<answers::Estimate>>(expected(self, *told, request, kind));
    self.post([once, estimate] { once(*estimate); });
  });
  forecasts.at(now + answered_within, [once] { once(std::nullopt); });
}

}  // namespace sl::controller
