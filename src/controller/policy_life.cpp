#include "controller/policy_life.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/damaged_rows.h"
#include "policies/adaptive/auto.h"
#include "wire/job_spec.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr std::size_t history_max = 100;
constexpr Duration undo_life = Duration::whole_seconds(600);
constexpr const char* plan_key = "policy_planned";  // of the setting
constexpr Duration plan_ahead_most = Duration::whole_seconds(366LL * 86'400);
constexpr std::size_t orders_max = 4;  // one after the other, up to 4 s each: shorter than callers wait
// This many faults of a policy within this time count as a failure.
constexpr std::size_t faults_max = 3;
constexpr Duration faults_count_for = Duration::whole_seconds(600);

// With the policy's own names, whatever the user's spelling.
GivenParameters with_own_names(const PolicyInfo& info, GivenParameters given) {
  for (auto& [name, value] : given) name = find_parameter(info.parameters, name)->name;
  return given;
}

std::string parameters_json(const GivenParameters& given) {
  boost::json::object object;
  for (const auto& [name, value] : given) object[name] = value;
  return boost::json::serialize(object);
}

GivenParameters parse_parameters(const std::string& json) {
  GivenParameters parameters;
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(json, error);
  if (error || !value.is_object()) return parameters;
  for (const auto& [name, given] : value.as_object()) {
    if (given.is_string()) parameters.emplace_back(name, given.as_string().c_str());
  }
  return parameters;
}

std::string command_for(const store::PolicyRow& row) {
  std::string command = "schedulearn policy set " + row.name;
  for (const auto& [name, value] : parse_parameters(row.parameters_json))
    command += fmt::format(" --param {}={}", name, value);
  return command;
}

// A change of the policy `auto` to another of its candidates.
bool is_by_itself(const store::PolicyRow& row) { return row.by == auto_name; }

store::EventRow change_event(const store::PolicyRow& from, const store::PolicyRow& to) {
  return {.at_us = to.since_us,
          .kind = "policy.changed",
          .actor_type = to.by == "schedulearn" || is_by_itself(to) ? "system" : "user",
          .actor_name = to.by,
          .from = from.name,
          .to = to.name,
          .text = to.reason,
          .data_json = to.parameters_json};
}

store::EventRow failure_event(const PolicyFailure& failure, const store::PolicyRow& next) {
  return {.at_us = failure.at_us,
          .kind = "policy.failed",
          .actor_type = "system",
          .actor_name = "schedulearn",
          .from = failure.name,
          .to = next.name,
          .text = failure.text};
}

// A plan as the store keeps it.
struct KeptPlan {
  std::string name, parameters_json, source, by;
  std::int64_t at_us = 0, planned_us = 0;
};
BOOST_DESCRIBE_STRUCT(KeptPlan, (), (name, parameters_json, source, by, at_us, planned_us))

store::EventRow plan_event(const char* kind, const std::string& policy, Instant at, const std::string& by,
                           Instant now) {
  return {.at_us = now.us,
          .kind = kind,
          .actor_type = "user",
          .actor_name = by,
          .to = policy,
          .text = "for " + wire::time_text(at.us)};
}

PolicyChange change_back_to(const store::PolicyRow& row) {
  return {row.name, parse_parameters(row.parameters_json), row.source};
}

// The name appears in lists, file names of tracebacks and shell commands.
Status check_name(const PolicyChange& change) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  if (change.source.empty()) return {};
  if (change.name.size() <= 64 && change.name.ends_with(".py") && change.name.size() > 3 &&
      std::all_of(change.name.begin(), change.name.end(), is_plain)) {
    return {};
  }
  return invalid("bad-policy-name",
                 "a policy of your own has the name of its file, up to 64 letters, digits and . _ -: mine.py");
}

Result<MadePolicy> make_built_in(const PolicyChange& change) {
  const PolicyEntry* entry = find_policy(change.name);
  if (!entry) {
    Error error = unknown_policy(change.name);
    if (change.name.ends_with(".py"))
      error.hints = {"the text of a policy in Python goes into \"source\"; schedulearn policy set ./FILE.py sends it"};
    return error;
  }
  const auto parameters = parse_parameters(entry->info, change.parameters);
  if (!parameters.ok()) return parameters.error();
  return MadePolicy{entry->info, entry->make(*parameters)};
}

store::PolicyRow row_of(const PolicyChange& change, const PolicyInfo& info, const std::string& by, Instant now) {
  return {now.us, info.name,     parameters_json(with_own_names(info, change.parameters)),
          by,     change.source, change.reason};
}

// Parameters that cannot be read would silently become the policy's defaults.
Status check_row(const store::PolicyRow& row) {
  boost::json::error_code error;
  const boost::json::value parameters = boost::json::parse(row.parameters_json, error);
  if (error || !parameters.is_object()) return invalid("bad-row", "its parameters are no JSON object");
  return {};
}

Error overtaken(const std::string& name, const std::string& in_force) {
  return conflict("policy-overtaken",
                  fmt::format("while {} was being read, another policy was chosen: {}", name, in_force))
      .hint("schedulearn policy history");
}

Error busy() {
  return unavailable("policies-busy", fmt::format("{} policies are being read already", orders_max))
      .hint("try again in a few seconds");
}

}  // namespace

void PolicyLife::restore(const store::Loaded& loaded, Instant now) {
  PolicyMemory memory;
  for (const store::SettingRow& row : loaded.settings) {
    if (row.key == "last_server") memory.last_server = core_.find_server(row.value);
    if (row.key == "policy_blob") memory.blob = row.value;
    if (row.key == plan_key && !row.value.empty()) restore_plan(row.value);
  }
  core_.restore_memory(std::move(memory));
  for (const store::PolicyRow& row : loaded.policies) {
    if (const Status read = check_row(row); read.ok()) {
      history_.push_back(row);
    } else {
      recorder_.write_event(row_set_aside("policy " + row.name, read.error().message, row.parameters_json, now));
    }
  }
  if (history_.empty()) recorder_.write(history_.emplace_back(store::PolicyRow{now.us, fallback_, "{}", "default"}));
  if (!in_force().source.empty()) {  // no policy decides before it has been read
    info_.name = info_.title = in_force().name;
    info_.summary = "Its file is being read; more is known in a moment.";
    return make_own({MakeOrder::Purpose::fresh, change_back_to(in_force()), number_});
  }
  auto made = make_built_in(change_back_to(in_force()));
  if (!made.ok()) {  // an older version of this program knew it
    failure_ = {in_force().name, made.error().code, made.error().message, now.us};
    history_.push_back({now.us, fallback_, "{}", "schedulearn", "", made.error().message});
    made = make_built_in({fallback_});
  }
  SL_CHECK(made.ok(), "the default policy exists");
  info_ = std::move(made->info);
  core_.set_policy(std::move(made->policy), now, engine_.effects());
}

void PolicyLife::set(PolicyChange change, const std::string& by, Instant now, Told done) {
  if (Status fine = check_name(change); !fine.ok()) return done(fine);
  if (is_in_force(change)) {
    failure_.reset();  // who chooses what took over has seen it
    return recorder_.when_durable(std::move(done));
  }
  MakeOrder order{MakeOrder::Purpose::asked, std::move(change), ++asked_, by, std::move(done)};
  if (!order.change.source.empty()) {
    if (make_orders_.size() < orders_max) return make_own(std::move(order));
    return order.done(busy());
  }
  auto made = make_built_in(order.change);
  if (!made.ok()) return order.done(made.error());
  change_to(std::move(order), std::move(*made), now);
}

bool PolicyLife::is_in_force(const PolicyChange& change) const {
  const bool another_is_asked_for = std::any_of(make_orders_.begin(), make_orders_.end(), [](const auto& order) {
    return order.purpose == MakeOrder::Purpose::asked;
  });
  if (another_is_asked_for || change.source != in_force().source) return false;
  const PolicyEntry* entry = change.source.empty() ? find_policy(change.name) : nullptr;
  if ((entry ? entry->info.name : change.name) != in_force().name) return false;
  const auto asked = sl::parse_parameters(info_, change.parameters);
  const auto present = sl::parse_parameters(info_, parse_parameters(in_force().parameters_json));
  return asked.ok() && present.ok() && asked->all() == present->all();
}

void PolicyLife::change_to(MakeOrder order, MadePolicy made, Instant now) {
  if (recorder_.is_refusing()) return order.done(recorder_.failure());
  failure_.reset();
  failed_sources_.clear();
  number_ = order.number;
  store::PolicyRow row = row_of(order.change, made.info, order.by, now);
  adopt(std::move(row), std::move(made), now);
  recorder_.when_durable(std::move(order.done));
}

void PolicyLife::adopt(store::PolicyRow row, MadePolicy made, Instant now) {
  recorder_.write_event(change_event(in_force(), row));
  recorder_.write(row);
  history_.push_back(std::move(row));
  if (history_.size() > history_max) history_.pop_front();
  info_ = std::move(made.info);
  faults_.clear();
  core_.set_policy(std::move(made.policy), now, engine_.effects());
}

// ---- later ----

void PolicyLife::restore_plan(const std::string& kept) {
  const auto plan = wire::read_json<KeptPlan>(kept, wire::Unknown::ignore);
  if (!plan.ok()) return;
  planned_ = {{plan->name, parse_parameters(plan->parameters_json), plan->source},
              plan->by,
              Instant{plan->at_us},
              Instant{plan->planned_us}};
}

void PolicyLife::plan(PolicyChange change, Instant at, const std::string& by, Instant now, Told done) {
  if (Status fine = check_name(change); !fine.ok()) return done(fine);
  if (at <= now || at > now + plan_ahead_most)
    return done(invalid("bad-time", at <= now
                                        ? "that time is past: " + wire::time_text(at.us)
                                        : "a change can be planned for a year ahead, not for " + wire::time_text(at.us))
                    .hint("schedulearn policy set " + change.name + " --at 21:00"));
  MakeOrder order{MakeOrder::Purpose::planned, std::move(change), 0, by, std::move(done), at};
  if (!order.change.source.empty()) {
    if (make_orders_.size() < orders_max) return make_own(std::move(order));
    return order.done(busy());
  }
  const auto made = make_built_in(order.change);
  if (!made.ok()) return order.done(made.error());
  keep_plan(std::move(order), made->info, now);
}

void PolicyLife::call_off(const std::string& by, Instant now, Told done) {
  if (!planned_)
    return done(conflict("nothing-planned", "no change of the policy is planned").hint("schedulearn policy show"));
  if (recorder_.is_refusing()) return done(recorder_.failure());
  recorder_.write(store::SettingRow{plan_key, ""});
  recorder_.write_event(plan_event("policy.called_off", planned_->change.name, planned_->at, by, now));
  planned_.reset();
  recorder_.when_durable(std::move(done));
}

void PolicyLife::keep_plan(MakeOrder order, const PolicyInfo& info, Instant now) {
  if (recorder_.is_refusing()) return order.done(recorder_.failure());
  PolicyChange& change = order.change;
  change.name = info.name;
  change.parameters = with_own_names(info, std::move(change.parameters));
  const KeptPlan kept{change.name, parameters_json(change.parameters), change.source, order.by, order.at.us, now.us};
  recorder_.write(store::SettingRow{plan_key, wire::write_json(kept)});
  recorder_.write_event(plan_event("policy.planned", change.name, order.at, order.by, now));
  planned_ = {std::move(change), order.by, order.at, now};
  recorder_.when_durable(std::move(order.done));
}

Instant PolicyLife::next_plan() const { return planned_ && !recorder_.is_refusing() ? planned_->at : Instant::never(); }

// The change and the end of the plan are in one transaction, unless the policy has to be made first.
void PolicyLife::carry_out_plan(Instant now) {
  if (next_plan() > now) return;
  PlannedChange plan = std::move(*planned_);
  planned_.reset();
  recorder_.write(store::SettingRow{plan_key, ""});
  plan.change.reason = "planned at " + wire::time_text(plan.planned.us);
  const std::string name = plan.change.name;
  set(std::move(plan.change), plan.by, now, [this, name, now](const Status& status) {
    if (status.ok() || recorder_.is_refusing()) return;  // what could not be written is written later
    recorder_.write_event(
        failure_event({name, status.error().code, "it was planned: " + status.error().message, now.us}, in_force()));
  });
}

// ---- users' own policies ----

void PolicyLife::make_own(MakeOrder order) {
  make_orders_.push_back(std::move(order));
  outside_.make_policy(make_orders_.back().change);
}

void PolicyLife::on_made(Result<MadePolicy> made, Instant now) {
  SL_CHECK(!make_orders_.empty(), "only requested policies are made");
  MakeOrder order = std::move(make_orders_.front());
  make_orders_.pop_front();
  const bool is_overtaken = order.number < number_;
  switch (order.purpose) {
    case MakeOrder::Purpose::asked:
      if (!made.ok()) return order.done(made.error());
      if (is_overtaken) return order.done(overtaken(order.change.name, in_force().name));
      return change_to(std::move(order), std::move(*made), now);
    case MakeOrder::Purpose::planned:
      if (!made.ok()) return order.done(made.error());
      return keep_plan(std::move(order), made->info, now);
    case MakeOrder::Purpose::fresh:
      if (is_overtaken) return;
      if (!made.ok()) return void(on_fault(made.error(), now));
      info_ = std::move(made->info);
      return core_.set_policy(std::move(made->policy), now, engine_.effects());
    case MakeOrder::Purpose::replacement:
      if (is_overtaken) return;
      if (made.ok()) return replace(*order.failure, order.change, std::move(*made), now);
      failed_sources_.insert(order.change.source);
      give_up(*order.failure, now);
  }
}

// Until another one has been made, no policy decides.
bool PolicyLife::replace_failed(Instant now) {
  if (const auto standstill = recorder_.take_standstill()) return give_up(*standstill, now);
  const auto fault = core_.policy_failure();
  const bool is_replacing = std::any_of(make_orders_.begin(), make_orders_.end(), [](const MakeOrder& order) {
    return order.purpose == MakeOrder::Purpose::fresh || order.purpose == MakeOrder::Purpose::replacement;
  });
  return fault && !is_replacing && on_fault(*fault, now);
}

// Starts a fresh process: the old one's state cannot be trusted.
bool PolicyLife::on_fault(const Error& fault, Instant now) {
  while (!faults_.empty() && faults_.front() + faults_count_for < now) faults_.pop_front();
  faults_.push_back(now);
  if (faults_.size() >= faults_max) return give_up(fault, now);
  make_own({MakeOrder::Purpose::fresh, change_back_to(in_force()), number_});
  return false;
}

// Goes back to the last policy that works: never to one that failed too, and in the end to the one of every
// installation.
bool PolicyLife::give_up(const Error& failure, Instant now) {
  failed_sources_.insert(in_force().source);
  PolicyChange back{fallback_};
  for (auto past = history_.rbegin(); past != history_.rend(); ++past) {
    if (failed_sources_.contains(past->source)) continue;
    if (past->source.empty() && !make_built_in(change_back_to(*past)).ok()) continue;
    back = change_back_to(*past);
    break;
  }
  if (!back.source.empty()) {
    make_own({.purpose = MakeOrder::Purpose::replacement, .change = back, .number = number_, .failure = failure});
    return false;
  }
  auto made = make_built_in(back);
  SL_CHECK(made.ok(), "the default policy exists");
  replace(failure, back, std::move(*made), now);
  return true;
}

void PolicyLife::replace(const Error& failure, const PolicyChange& change, MadePolicy made, Instant now) {
  store::PolicyRow row = row_of(change, made.info, "schedulearn", now);
  row.reason = fmt::format("{} failed: {}", in_force().name, failure.message);
  failure_ = {in_force().name, failure.code, failure.message, now.us};
  recorder_.write_event(failure_event(*failure_, row));
  adopt(std::move(row), std::move(made), now);
}

// ---- undo ----

std::size_t PolicyLife::chosen() const {
  std::size_t at = history_.size() - 1;
  while (at > 0 && is_by_itself(history_[at])) --at;
  return at;
}

PolicyChange PolicyLife::change_in_force() const { return change_back_to(in_force()); }

Instant PolicyLife::undo_until() const {
  return previous() ? Instant{history_[chosen()].since_us} + undo_life : Instant::never();
}

Result<PolicyChange> PolicyLife::undo(Instant now) const {
  if (!previous())
    return conflict("nothing-to-undo", fmt::format("the policy has always been {}", in_force().name))
        .hint("schedulearn policy history");
  const store::PolicyRow& back = *previous();
  if (now > undo_until())
    return conflict("undo-too-late", fmt::format("{} has been in force for more than 10 min", in_force().name))
        .note(fmt::format("it was {} before", back.name))
        .hint(command_for(back));
  PolicyChange change = change_back_to(back);
  change.reason = "undo of " + in_force().name;
  return change;
}

}  // namespace sl::controller
