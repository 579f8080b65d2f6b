#include "controller/auto_policy.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "base/suggest.h"
#include "controller/tried_policies.h"

namespace sl::controller {
namespace {

constexpr std::size_t pasts = 4;  // only what has not ended is drawn
constexpr Duration looking_back_takes_most = Duration::whole_seconds(15);

}  // namespace

void AutoPolicy::on_turn(Instant now) {
  const store::PolicyRow& row = logic_.policies().in_force();
  if (row.name != auto_name || !row.source.empty() || !forecasts_.continue_present()) return window_.forget();
  if (row.since_us != since_us_) read_parameters();
  const bool looks_back = forecast::looks_back(rules_.objective);
  if (looks_back && !window_.is_open()) look_back(now);
  window_.look();
  if (is_busy_ || now < next_ || logic_.core().waiting().empty()) return;
  next_ = now + Duration::seconds(parameters_.every_s);
  looks_back ? look_back(now) : ask(now);
}

void AutoPolicy::look_back(Instant now) {
  const std::int64_t before = window_.number();
  const auto past = window_.ask(now, {});
  if (window_.number() != before) past_.window_began();
  if (!past) return;
  is_busy_ = true;
  // On the forecast's thread.
  forecasts_.ask([this, past, parameters = parameters_, since_us = since_us_](Forecasts& self) {
    const Instant begin = self.now();
    std::vector<forecast::Contender> contenders;
    const auto add = [&](const std::string& name) {
      auto maker = self.maker_of({.name = name});
      if (maker.ok()) contenders.push_back({name, std::move(*maker)});
    };
    add(parameters.acting);
    for (const std::string& name : parameters.candidates) {
      if (name != parameters.acting) add(name);
    }
    const auto replay = past->replay(self);
    auto trials = forecast::what_if(
        replay.present, replay.prospects, contenders,
        {.continue_present = self.continue_present(), .until = past->told->present.now, .draws = pasts, .stop = [&] {
           return self.is_ending() || self.now() > begin + looking_back_takes_most;
         }});
    self.post([this, trials = std::move(trials), number = past->number, since_us]() mutable {
      is_busy_ = false;
      if (number != window_.number() || logic_.policies().in_force().since_us != since_us) return;
      past_.add_to(trials);
      change(trials, forecasts_.now());
    });
  });
}

void AutoPolicy::read_parameters() {
  current_ = logic_.policies().change_in_force();
  since_us_ = logic_.policies().in_force().since_us;
  const auto read = parse_parameters(logic_.policies().info(), current_.parameters);
  SL_CHECK(read.ok(), "the parameters of the policy in force were checked");
  parameters_ = read_auto(*read);
  rules_ = {.objective = *forecast::parse_objective(parameters_.objective),
            .hold = Duration::seconds(parameters_.hold_s),
            .gain = parameters_.gain_pct / 100};
}

void AutoPolicy::ask(Instant now) {
  std::vector<PolicyChange> others;
  for (const std::string& name : parameters_.candidates) {
    if (name != parameters_.acting) others.push_back({.name = name});
  }
  is_busy_ = true;
  const Duration ahead = Duration::seconds(parameters_.ahead_s);
  TrialWishes wishes{.policies = std::move(others), .arrivals = ahead};
  if (rules_.objective == forecast::Objective::mean_jct) wishes.until = ahead;
  try_on_present(forecasts_, std::move(wishes), now, [this, since_us = since_us_](Result<TriedPolicies> tried) {
    is_busy_ = false;
    if (!tried.ok() || logic_.policies().in_force().since_us != since_us) return;
    tried->trials.front().name = parameters_.acting;
    change(tried->trials, forecasts_.now());
  });
}

void AutoPolicy::change(const std::vector<forecast::Trial>& trials, Instant now) {
  // What a user chose need not be held.
  const bool was_changed = logic_.policies().in_force().by == auto_name;
  const Instant last = was_changed ? Instant{since_us_} : now - rules_.hold;
  const auto choice = forecast::choose(trials, rules_, now, last);
  if (!choice) return;
  PolicyChange next = current_;
  std::erase_if(next.parameters, [](const auto& given) { return is_same_name(given.first, "acting"); });
  next.parameters.emplace_back("acting", choice->policy);
  next.reason = choice->why;
  logic_.set_policy(std::move(next), auto_name, now, [](const Status&) {});
}

}  // namespace sl::controller
