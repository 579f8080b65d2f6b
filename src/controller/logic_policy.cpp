// The policy in force and those before it: switching, undoing, and finding both again after a restart.
#include <fmt/format.h>

#include <algorithm>

#include "controller/logic.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr std::size_t history_max = 100;
constexpr Duration undo_life = Duration::whole_seconds(600);
constexpr std::size_t orders_max = 4;  // one after the other, up to 4 s each: before callers give up
// So many faults of a policy within this time are a failure.
constexpr std::size_t faults_max = 3;
constexpr Duration faults_count_for = Duration::whole_seconds(600);

// With the names the policy gives them, whatever the user's spelling.
std::string parameters_json(const PolicyInfo& info, const GivenParameters& given) {
  boost::json::object object;
  for (const auto& [name, value] : given) object[find_parameter(info, name)->name] = value;
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

store::EventRow change_event(const store::PolicyRow& from, const store::PolicyRow& to) {
  store::EventRow event;
  event.at_us = to.since_us;
  event.kind = "policy.changed";
  event.actor_type = to.by == "schedulearn" ? "system" : "user";
  event.actor_name = to.by;
  event.from = from.name;
  event.to = to.name;
  event.data_json = to.parameters_json;
  return event;
}

store::EventRow failure_event(const PolicyFailure& failure, const store::PolicyRow& next) {
  store::EventRow event;
  event.at_us = failure.at_us;
  event.kind = "policy.failed";
  event.actor_type = "system";
  event.actor_name = "schedulearn";
  event.from = failure.name;
  event.to = next.name;
  event.text = failure.text;
  return event;
}

PolicyChange change_to(const store::PolicyRow& row) {
  return {row.name, parse_parameters(row.parameters_json), row.source};
}

// It ends up in lists, file names of tracebacks and shell commands.
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
  return invalid("bad-policy-name", "a policy of your own is called as its file is: mine.py")
      .note("letters, digits, _, - and dots, 64 at most");
}

Result<MadePolicy> make_built_in(const PolicyChange& change) {
  const PolicyEntry* entry = find_policy(change.name);
  if (!entry) {
    Error error = unknown_policy(change.name);
    if (change.name.ends_with(".py"))
      error.hints = {"the text of a policy in Python goes into \"source\"; schedulearn policy set ./FILE.py sends it"};
    return error;
  }
  const auto parameters = Parameters::parse(entry->info, change.parameters);
  if (!parameters.ok()) return parameters.error();
  return MadePolicy{entry->info, entry->make(*parameters)};
}

store::PolicyRow row_of(const PolicyChange& change, const PolicyInfo& info, const std::string& by, Instant now) {
  return {now.us, info.name, parameters_json(info, change.parameters), by, change.source};
}

Error overtaken(const std::string& name, const std::string& in_force) {
  return conflict("policy-overtaken",
                  fmt::format("while {} was being read, another policy was chosen: {}", name, in_force))
      .hint("schedulearn policy history");
}

}  // namespace

void Logic::restore_policy(const store::Loaded& loaded, Instant now) {
  PolicyMemory memory;
  for (const store::SettingRow& row : loaded.settings) {
    if (row.key == "last_server") memory.last_server = core_.find_server(row.value);
    if (row.key == "policy_blob") memory.blob = row.value;
  }
  core_.restore_memory(std::move(memory));
  policy_history_.assign(loaded.policies.begin(), loaded.policies.end());
  if (policy_history_.empty()) policy_history_.push_back({now.us, settings_.policy, "{}", "default"});
  if (!policy().source.empty()) {  // nobody decides before it has been read
    policy_info_.name = policy_info_.title = policy().name;
    policy_info_.summary = "Its file is being read; more is known in a moment.";
    return make_own({PolicyOrder::Purpose::fresh, change_to(policy()), policy_number_});
  }
  auto made = make_built_in(change_to(policy()));
  if (!made.ok()) {  // an older version knew it
    policy_failure_ = {policy().name, made.error().message, now.us};
    policy_history_.push_back({now.us, settings_.policy, "{}", "schedulearn"});
    made = make_built_in({settings_.policy});
  }
  SL_CHECK(made.ok(), "the default policy exists");
  policy_info_ = std::move(made->info);
  core_.set_policy(std::move(made->policy), now, engine_.effects());
}

void Logic::set_policy(PolicyChange change, const std::string& by, Instant now, Told done) {
  if (tape_) {
    boost::json::object given;
    for (const auto& [key, value] : change.parameters) given[key] = value;
    boost::json::object input = {{"name", change.name}, {"parameters", std::move(given)}, {"by", by}};
    if (!change.source.empty()) input["source"] = change.source;
    tape_->input(now, "policy", std::move(input));
  }
  if (Status fine = check_name(change); !fine.ok()) return done(fine);
  PolicyOrder order{PolicyOrder::Purpose::asked, std::move(change), ++policies_asked_, by, std::move(done)};
  if (!order.change.source.empty()) {
    if (policy_orders_.size() < orders_max) return make_own(std::move(order));
    return order.done(unavailable("policies-busy", fmt::format("{} policies are being read already", orders_max))
                          .hint("try again in a few seconds"));
  }
  auto made = make_built_in(order.change);
  if (!made.ok()) return order.done(made.error());
  change_policy(std::move(order), std::move(*made), now);
}

void Logic::change_policy(PolicyOrder order, MadePolicy made, Instant now) {
  if (recorder_.is_refusing()) return order.done(recorder_.failure());
  policy_failure_.reset();
  failed_sources_.clear();
  policy_number_ = order.number;
  store::PolicyRow row = row_of(order.change, made.info, order.by, now);
  adopt(std::move(row), std::move(made), now);
  recorder_.when_durable(std::move(order.done));
}

void Logic::adopt(store::PolicyRow row, MadePolicy made, Instant now) {
  // The one a new installation begins with is not written before there is something to tell it from.
  if (policy_history_.size() == 1 && policy().by == "default") recorder_.write(policy());
  recorder_.write_event(change_event(policy(), row));
  recorder_.write(row);
  policy_history_.push_back(std::move(row));
  if (policy_history_.size() > history_max) policy_history_.pop_front();
  policy_info_ = std::move(made.info);
  policy_faults_.clear();
  core_.set_policy(std::move(made.policy), now, engine_.effects());
}

// ---- users' own policies ----

void Logic::make_own(PolicyOrder order) {
  policy_orders_.push_back(std::move(order));
  outside_.make_policy(policy_orders_.back().change);
}

void Logic::on_policy_made(Result<MadePolicy> made, Instant now) {
  if (tape_)
    tape_->input(now, "policy_made",
                 made.ok() ? boost::json::object{} : boost::json::object{{"failure", made.error().message}});
  SL_CHECK(!policy_orders_.empty(), "what is made was asked for");
  PolicyOrder order = std::move(policy_orders_.front());
  policy_orders_.pop_front();
  const bool is_overtaken = order.number < policy_number_;
  switch (order.purpose) {
    case PolicyOrder::Purpose::asked:
      if (!made.ok()) return order.done(made.error());
      if (is_overtaken) return order.done(overtaken(order.change.name, policy().name));
      return change_policy(std::move(order), std::move(*made), now);
    case PolicyOrder::Purpose::fresh:
      if (is_overtaken) return;
      if (!made.ok()) return void(on_policy_fault(made.error(), now));
      policy_info_ = std::move(made->info);
      return core_.set_policy(std::move(made->policy), now, engine_.effects());
    case PolicyOrder::Purpose::replacement:
      if (is_overtaken) return;
      if (made.ok()) return replace_policy(*order.failure, order.change, std::move(*made), now);
      failed_sources_.insert(order.change.source);
      give_up_policy(*order.failure, now);
  }
}

// Until another one has been made, nobody decides.
bool Logic::replace_failed_policy(Instant now) {
  const auto fault = core_.policy_failure();
  const bool is_replacing = std::any_of(policy_orders_.begin(), policy_orders_.end(), [](const PolicyOrder& order) {
    return order.purpose != PolicyOrder::Purpose::asked;
  });
  return fault && !is_replacing && on_policy_fault(*fault, now);
}

// A fresh process at first: who knows what the old one still believes.
bool Logic::on_policy_fault(const Error& fault, Instant now) {
  while (!policy_faults_.empty() && policy_faults_.front() + faults_count_for < now) policy_faults_.pop_front();
  policy_faults_.push_back(now);
  if (policy_faults_.size() >= faults_max) return give_up_policy(fault, now);
  make_own({PolicyOrder::Purpose::fresh, change_to(policy()), policy_number_});
  return false;
}

// Back to the last one that works: never to one that failed too, and in the end to the one every installation has.
bool Logic::give_up_policy(const Error& failure, Instant now) {
  failed_sources_.insert(policy().source);
  PolicyChange back{settings_.policy};
  for (auto past = policy_history_.rbegin(); past != policy_history_.rend(); ++past) {
    if (failed_sources_.contains(past->source)) continue;
    if (past->source.empty() && !make_built_in(change_to(*past)).ok()) continue;
    back = change_to(*past);
    break;
  }
  if (!back.source.empty()) {
    make_own(
        {.purpose = PolicyOrder::Purpose::replacement, .change = back, .number = policy_number_, .failure = failure});
    return false;
  }
  auto made = make_built_in(back);
  SL_CHECK(made.ok(), "the default policy exists");
  replace_policy(failure, back, std::move(*made), now);
  return true;
}

void Logic::replace_policy(const Error& failure, const PolicyChange& change, MadePolicy made, Instant now) {
  store::PolicyRow row = row_of(change, made.info, "schedulearn", now);
  policy_failure_ = {policy().name, failure.message, now.us};
  recorder_.write_event(failure_event(*policy_failure_, row));
  adopt(std::move(row), std::move(made), now);
}

// ---- undo ----

Instant Logic::undo_until() const {
  return policy_history_.size() < 2 ? Instant::never() : Instant{policy().since_us} + undo_life;
}

void Logic::undo_policy(const std::string& by, Instant now, Told done) {
  if (policy_history_.size() < 2)
    return done(conflict("nothing-to-undo", fmt::format("the policy has always been {}", policy().name))
                    .hint("schedulearn policy history"));
  const store::PolicyRow back = policy_history_[policy_history_.size() - 2];
  if (now > undo_until())
    return done(conflict("undo-too-late", fmt::format("{} has been in force for more than 10 min", policy().name))
                    .note(fmt::format("it was {} before", back.name))
                    .hint(command_for(back)));
  set_policy(change_to(back), by, now, std::move(done));
}

}  // namespace sl::controller
