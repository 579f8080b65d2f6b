#include "controller/forecasts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "policy/policy_wrapper.h"

namespace sl::controller {
namespace {

constexpr Duration pause_least = Duration::whole_seconds(1);
constexpr std::int64_t pause_per_forecast = 4;                     // a fifth of one processor at most
constexpr std::int64_t pause_per_copy = 100;                       // a hundredth of the core's time at most
constexpr Duration renewed_after = Duration::whole_seconds(20);    // without any event: time has passed
constexpr Duration draws_time = Duration::milliseconds(300);       // then draws_least are enough
constexpr Duration draws_time_few = Duration::whole_seconds(3);    // then fewer are, if somebody has a question
constexpr Duration draws_time_most = Duration::whole_seconds(18);  // then fewer are
constexpr Duration forecast_time_most = Duration::whole_seconds(20);
constexpr std::size_t draws_few = 8;
constexpr std::size_t rows_most = 10'000;
constexpr Duration held_step = Duration::whole_seconds(900);
constexpr std::int64_t held_steps = 96;  // a day

store::EstimateRow row_of(const forecast::Shown& shown) {
  return {.job_id = shown.job.value,
          .shown_us = shown.at.us,
          .p10_us = shown.range.p10.us,
          .p50_us = shown.range.p50.us,
          .p90_us = shown.range.p90.us,
          .raw_p10_us = shown.raw.p10.us,
          .raw_p50_us = shown.raw.p50.us,
          .raw_p90_us = shown.raw.p90.us,
          .actual_us = shown.is_void  ? std::optional<std::int64_t>(0)
                       : shown.actual ? std::optional(shown.actual->us)
                                      : std::nullopt,
          .target = to_string(shown.target),
          .policy = shown.policy,
          .basis = shown.basis};
}

forecast::Shown shown_in(const store::EstimateRow& row) {
  forecast::Shown shown{.job = JobId(row.job_id),
                        .target = row.target == "start" ? forecast::Target::start : forecast::Target::finish,
                        .policy = row.policy,
                        .basis = row.basis,
                        .at = Instant{row.shown_us},
                        .raw = {Instant{row.raw_p10_us}, Instant{row.raw_p50_us}, Instant{row.raw_p90_us}},
                        .range = {Instant{row.p10_us}, Instant{row.p50_us}, Instant{row.p90_us}}};
  shown.is_void = row.actual_us == 0;
  if (row.actual_us && *row.actual_us != 0) shown.actual = Instant{*row.actual_us};
  return shown;
}

// Not before now, whatever is drawn.
forecast::Range from_now(forecast::Range range, Instant now) {
  for (Instant* at : {&range.p10, &range.p50, &range.p90}) *at = std::max(*at, now);
  return range;
}

}  // namespace

Forecasts::Forecasts(const Logic& logic, forecast::Continue continue_present, OwnPolicyMaker make_policy,
                     std::function<Instant()> clock, Post post)
    : logic_(logic),
      continue_(std::move(continue_present)),
      make_policy_(std::move(make_policy)),
      clock_(std::move(clock)),
      post_(std::move(post)),
      teller_(logic),
      recent_(logic) {}

Forecasts::~Forecasts() {
  is_ending_ = true;
  work_.stop();
  if (thread_.joinable()) thread_.join();
}

// ---- the core's thread ----

void Forecasts::start(History& history) {
  if (!continue_) return;
  is_started_ = true;
  thread_ = std::thread([this] { run(); });
  history.ask<std::vector<store::EstimateRow>>([](store::Reader& reader) { return reader.estimates(); },
                                               [this](Result<std::vector<store::EstimateRow>> rows) {
                                                 if (!rows.ok()) return;
                                                 ask([rows = std::move(*rows)](Forecasts& self) {
                                                   std::vector<forecast::Shown> shown;
                                                   for (const auto& row : rows) shown.push_back(shown_in(row));
                                                   self.record_.restore(std::move(shown));
                                                 });
                                               });
}

void Forecasts::ask(Work work) {
  ++questions_;
  work_.put([this, work = std::move(work)] {
    work(*this);
    --questions_;
  });
}

bool Forecasts::is_fresh(std::int64_t version) const {
  const auto latest = outlook_.latest();
  return latest && latest->version >= version;
}

void Forecasts::on_turn(Instant now) {
  if (!is_started_) return;
  recent_.look();
  serve(now);
  if (is_busy_) return;
  const bool has_changed = teller_.version() != asked_version_;
  const bool is_due =
      now >= next_at_ && (has_changed || (now >= asked_at_ + renewed_after && logic_.core().unfinished() > 0));
  const bool is_wanted = has_waiters_ && has_changed;
  if (!is_due && !is_wanted) return;
  const Instant begin = clock_();
  asked_at_ = now;
  auto told = std::make_shared<Told>(teller_.tell(now));
  asked_version_ = told->version;
  is_busy_ = true;
  const Duration copying = clock_() - begin;
  next_at_ = now + std::max({pause_least, copying * pause_per_copy, Duration{took_us_} * pause_per_forecast});
  ask([told](Forecasts& self) { self.make(told); });
}

Instant Forecasts::next_wake() const {
  Instant wake = Instant::never();
  for (const Waiter& waiter : waiters_) wake = std::min(wake, waiter.until);
  return wake;
}

void Forecasts::when_fresh(Instant now, Instant until, std::function<void()> then) {
  if (!is_started_ || is_fresh(teller_.version())) return then();
  waiters_.push_back({teller_.version(), until, std::move(then)});
  has_waiters_ = true;
  on_turn(now);
}

void Forecasts::at(Instant until, std::function<void()> then) {
  waiters_.push_back({INT64_MAX, until, std::move(then)});
}

void Forecasts::serve(Instant now) {
  if (waiters_.empty()) return;
  std::vector<Waiter> waiting;
  waiting.swap(waiters_);
  for (Waiter& waiter : waiting) {
    if (waiter.until <= now || is_fresh(waiter.version)) {
      waiter.then();
    } else {
      waiters_.push_back(std::move(waiter));
    }
  }
  has_waiters_ = std::any_of(waiters_.begin(), waiters_.end(), [](const Waiter& w) { return w.version != INT64_MAX; });
}

std::vector<store::EstimateRow> Forecasts::take_rows() {
  constexpr std::size_t most = 200;  // so that no commit takes longer because of them
  const std::lock_guard lock(rows_mutex_);
  if (rows_.size() <= most) return std::exchange(rows_, {});
  std::vector<store::EstimateRow> first(rows_.begin(), rows_.begin() + most);
  rows_.erase(rows_.begin(), rows_.begin() + most);
  return first;
}

// ---- the forecast's thread ----

void Forecasts::run() {
  constexpr int least_urgent = 19;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), least_urgent);  // of this thread: requests go first
  std::deque<std::function<void()>> work;
  while (work_.take(work, std::chrono::hours(1))) {
    for (auto& item : work) {
      if (!is_ending_) item();
    }
    work.clear();
  }
  own_.reset();  // its process was started here
}

Result<std::function<std::unique_ptr<Policy>()>> Forecasts::maker_of(const PolicyChange& change) {
  using Maker = std::function<std::unique_ptr<Policy>()>;
  if (change.source.empty()) {
    if (auto made = make_policy(change.name, change.parameters); !made.ok()) return made.error();
    return Maker([change] { return std::move(*make_policy(change.name, change.parameters)); });
  }
  const bool is_known = own_ && !own_->failure() && own_change_.source == change.source &&
                        own_change_.name == change.name && own_change_.parameters == change.parameters;
  if (!is_known) {
    if (!make_policy_) return unavailable("no-own-policies", "this controller runs built-in policies only");
    auto made = make_policy_(change.name, change.source, change.parameters);
    if (!made.ok()) return made.error();
    own_ = std::move(made->policy);
    own_change_ = change;
  }
  return Maker([own = own_] { return std::make_unique<PolicyWrapper>(own); });
}

void Forecasts::make(const std::shared_ptr<Told>& told) {
  const Instant begin = clock_();
  learn(*told);
  auto next = std::make_shared<Prospects>();
  next->version = told->version;
  forecast::ForecastSettings settings;
  settings.policy_name = told->policy.name;
  settings.continue_present = continue_;
  for (std::int64_t step = 0; step <= held_steps; ++step)
    settings.moments.push_back(told->present.now + held_step * step);
  settings.stop = [this, begin] { return is_ending_ || clock_() - begin > forecast_time_most; };
  settings.is_enough = [this, begin](std::size_t draws) {
    const Duration passed = clock_() - begin;
    if (draws >= forecast::draws_least) return passed > draws_time;
    return draws >= draws_few && passed > (questions_ > 1 ? draws_time_few : draws_time_most);
  };
  auto maker = maker_of(told->policy);
  if (maker.ok()) {
    settings.make_policy = std::move(*maker);
    next->forecast = forecast::make_forecast(told->present, known_.facts_of(*told), known_.lengths(), settings);
  } else {
    next->forecast = {.at = told->present.now, .policy = told->policy.name};
    next->forecast.failure = maker.error();
  }
  if (next->forecast.failure) own_.reset();
  correct(next->forecast);
  for (const Server& server : told->present.servers) next->servers.push_back(server.description.name);
  next->record = record_.hit_rates();
  next->open = record_.waiting();
  for (const forecast::Target target : {forecast::Target::start, forecast::Target::finish}) {
    for (std::size_t h = 0; h < forecast::horizons; ++h) {
      const auto horizon = static_cast<forecast::Horizon>(h);
      next->corrections.emplace_back(std::string(to_string(target)) + " " + to_string(horizon),
                                     record_.correction(target, horizon));
    }
  }
  next->took = clock_() - begin;
  took_us_ = next->took.us;
  outlook_.publish(std::move(next));
  is_busy_ = false;
  if (has_waiters_) post_([this] { serve(clock_()); });
}

void Forecasts::learn(const Told& told) {
  known_.learn(told);
  keep_record(told);
}

// What has become of the ranges that were shown.
void Forecasts::keep_record(const Told& told) {
  for (const Job& job : told.present.jobs) {
    if (!job.allocation.empty() && job.last_start.happened())
      record_.happened(job.request.id, forecast::Target::start, job.last_start);
  }
  for (const ToldEnd& end : told.ends) {
    if (end.state == to_string(JobState::cancelled)) {
      record_.forget(end.id);
      continue;
    }
    if (end.started) record_.happened(end.id, forecast::Target::start, *end.started);
    record_.happened(end.id, forecast::Target::finish, end.at);
  }
  record_.judge(told.present.now);
}

void Forecasts::correct(forecast::JobForecast& job, Instant now) const {
  if (job.start) job.start = from_now(record_.corrected(forecast::Target::start, *job.start, now), now);
  if (job.finish) job.finish = from_now(record_.corrected(forecast::Target::finish, *job.finish, now), now);
  fit_together(job, now);
}

// Widens or narrows the ranges as the record says, and keeps what is shown.
void Forecasts::correct(forecast::Forecast& forecast) {
  const auto show = [&](const forecast::JobForecast& job, forecast::Target target,
                        const std::optional<forecast::Range>& raw, const std::optional<forecast::Range>& range) {
    if (!range) return;
    record_.show({.job = job.job,
                  .target = target,
                  .policy = forecast.policy,
                  .basis = to_string(job.basis),
                  .at = forecast.at,
                  .raw = *raw,
                  .range = *range});
  };
  for (forecast::JobForecast& job : forecast.jobs) {
    const std::optional<forecast::Range> start = job.start, finish = job.finish;
    correct(job, forecast.at);
    show(job, forecast::Target::start, start, job.start);
    show(job, forecast::Target::finish, finish, job.finish);
  }
  const std::vector<forecast::Shown> changed = record_.take_changed();
  const std::lock_guard lock(rows_mutex_);
  for (const forecast::Shown& shown : changed) rows_.push_back(row_of(shown));
  if (rows_.size() > rows_most) rows_.erase(rows_.begin(), rows_.end() - static_cast<std::ptrdiff_t>(rows_most));
}

}  // namespace sl::controller
