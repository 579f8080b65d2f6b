#include "controller/shadow.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/policy_views.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr const char* setting_key = "shadow";
constexpr Duration question_pause_least = Duration::whole_seconds(2);
constexpr std::int64_t questions_per_window = 30;  // the older it is, the less changes
constexpr std::int64_t pause_per_question = 20;    // a twentieth of one processor at most
constexpr std::size_t window_jobs_most = 2'000;
constexpr Duration window_most = Duration::whole_seconds(86'400);
constexpr std::size_t futures_most = 16, futures_few = 4;
constexpr Duration futures_time = Duration::milliseconds(500), futures_time_most = Duration::whole_seconds(10);

// As the database keeps it.
struct Kept {
  PolicyBody policy;
  std::string by;
  std::int64_t since_us = 0;
};
BOOST_DESCRIBE_STRUCT(Kept, (), (policy, by, since_us))

store::RegretRow row_of(const forecast::Regret& regret, const std::string& in_force, const std::string& shadow) {
  const auto us = [](double seconds) { return Duration::seconds(seconds).us; };
  return {.at_us = regret.at.us,
          .since_us = regret.since.us,
          .jobs = static_cast<std::int64_t>(regret.jobs),
          .draws = static_cast<std::int64_t>(regret.draws),
          .in_force_us = us(regret.in_force_s),
          .shadow_us = us(regret.shadow_s),
          .mean_us = us(regret.mean_s),
          .low_us = us(regret.p10_s),
          .high_us = us(regret.p90_s),
          .in_force = in_force,
          .shadow = shadow};
}

}  // namespace

Shadow::Shadow(Logic& logic, Forecasts& forecasts, const std::vector<store::SettingRow>& settings)
    : logic_(logic), forecasts_(forecasts), window_(logic, window_jobs_most, window_most) {
  for (const store::SettingRow& row : settings) {
    if (row.key != setting_key || row.value.empty()) continue;
    const auto kept = wire::read_json<Kept>(row.value, wire::Unknown::ignore);
    if (!kept.ok()) continue;
    PolicyChange policy = change_of(kept->policy);
    if (make_policy(policy.name, policy.parameters).ok()) followed_ = {std::move(policy), kept->by, kept->since_us};
  }
}

void Shadow::start(History& history) {
  history.ask<std::vector<store::RegretRow>>([](store::Reader& reader) { return reader.regrets(); },
                                             [this](Result<std::vector<store::RegretRow>> rows) {
                                               if (rows.ok()) found_.insert(found_.begin(), rows->begin(), rows->end());
                                             });
}

void Shadow::follow(std::optional<PolicyChange> policy, const std::string& by, Instant now, Logic::Told done) {
  if (policy && !forecasts_.continue_present())
    return done(unavailable("no-forecasts", "this controller makes no forecasts"));
  if (policy && !policy->source.empty())
    return done(invalid("own-shadow", "only built-in policies can be followed, not " + policy->name)
                    .hint("schedulearn policy try ./" + policy->name + " compares one of your own once"));
  std::string kept;
  if (policy) {
    const auto made = make_policy(policy->name, policy->parameters);
    if (!made.ok()) return done(made.error());
    policy->name = find_policy(policy->name)->info.name;
    kept = wire::write_json(Kept{body_of(*policy), by, now.us});
  }
  const std::string before = followed_ ? followed_->policy.name : "", after = policy ? policy->name : "";
  followed_ = policy ? std::optional(Followed{std::move(*policy), by, now.us}) : std::nullopt;
  window_.forget();
  next_ = now;
  const store::EventRow event{
      .at_us = now.us,
      .kind = "policy.shadow",
      .actor_type = "user",
      .actor_name = by,
      .from = before,
      .to = after,
      .text = after.empty() ? "nothing follows any more" : after + " follows, without deciding"};
  logic_.note({event}, now, std::move(done), {{setting_key, kept}});
}

// ---- windows ----

void Shadow::on_turn(Instant now) {
  if (!followed_ || !forecasts_.continue_present()) return;
  window_.look();
  if (is_busy_ || now < next_) return;
  const store::PolicyRow& policy = logic_.policies().in_force();
  const std::int64_t before = window_.number();
  if (auto past = window_.ask(now, fmt::format("{} {}", policy.since_us, policy.name)))
    return ask(std::move(past), now);
  if (window_.number() != before) next_ = now + question_pause_least;
}

void Shadow::ask(std::shared_ptr<const WindowQuestion> past, Instant now) {
  is_busy_ = true;
  next_ = now + std::max(question_pause_least, Duration{(now - window_.since()).us / questions_per_window});
  // On the forecast's thread.
  forecasts_.ask([this, past, policy = followed_->policy](Forecasts& self) {
    const Instant begin = self.now();
    const auto passed = [&] { return self.now() - begin; };
    std::vector<forecast::Contender> contenders;
    for (const PolicyChange& change : {past->told->policy, policy}) {
      auto maker = self.maker_of(change);
      if (maker.ok()) contenders.push_back({change.name, std::move(*maker)});
    }
    const auto replay = past->replay(self);
    const auto trials = forecast::what_if(
        replay.present, replay.prospects, contenders,
        {.continue_present = self.continue_present(),
         .draws = futures_most,
         .is_enough = [&](std::size_t draws) { return draws >= futures_few && passed() > futures_time; },
         .stop = [&] { return self.is_ending() || passed() > futures_time_most; }});
    const auto regret = forecast::regret_of(trials, past->told->present.now, past->window->since());
    self.post([this, regret, number = past->number, in_force = past->told->policy.name, took = passed()] {
      is_busy_ = false;
      next_ = std::max(next_, forecasts_.now() + took * pause_per_question);
      note(regret, number, in_force);
    });
  });
}

void Shadow::note(const std::optional<forecast::Regret>& regret, std::int64_t window, const std::string& in_force) {
  if (!regret || !followed_ || window != window_.number() || !window_.is_open()) return;
  found_.push_back(row_of(*regret, in_force, followed_->policy.name));
  rows_.push_back(found_.back());
  if (std::cmp_greater(found_.size(), store::regrets_max)) found_.pop_front();
}

}  // namespace sl::controller
