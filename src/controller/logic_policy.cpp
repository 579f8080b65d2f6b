// The policy in force and those before it: switching, undoing, and finding both again after a restart.
#include <fmt/format.h>

#include <algorithm>

#include "controller/logic.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr std::size_t history_max = 100;
constexpr Duration undo_life = Duration::whole_seconds(600);

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
  auto made = make(change_to(policy()), policy_info_);
  if (!made.ok()) {  // an older version knew it, or a user's own no longer works
    policy_failure_ = {policy().name, made.error().message, now.us};
    policy_history_.push_back({now.us, settings_.policy, "{}", "schedulearn"});
    made = make({settings_.policy}, policy_info_);
  }
  SL_CHECK(made.ok(), "the default policy exists");
  core_.set_policy(std::move(*made), now, engine_.effects());
}

Result<PolicyEntry> Logic::find_entry(const PolicyChange& change) const {
  if (!change.source.empty()) {
    if (settings_.load_policy) return settings_.load_policy(change.name, change.source);
    return unavailable("no-own-policies", "this controller runs built-in policies only");
  }
  const PolicyEntry* entry = find_policy(change.name);
  if (entry) return *entry;
  Error error = unknown_policy(change.name);
  if (change.name.ends_with(".py"))
    error.hints = {"the text of a policy in Python goes into \"source\"; schedulearn policy set ./FILE.py sends it"};
  return error;
}

Result<std::unique_ptr<Policy>> Logic::make(const PolicyChange& change, PolicyInfo& info) const {
  auto entry = find_entry(change);
  if (!entry.ok()) return entry.error();
  const auto parameters = Parameters::parse(entry->info, change.parameters);
  if (!parameters.ok()) return parameters.error();
  info = std::move(entry->info);
  return entry->make(*parameters);
}

void Logic::adopt(store::PolicyRow row, PolicyInfo info, std::unique_ptr<Policy> made, Instant now) {
  // The one a new installation begins with is not written before there is something to tell it from.
  if (policy_history_.size() == 1 && policy().by == "default") recorder_.write(policy());
  recorder_.write_event(change_event(policy(), row));
  recorder_.write(row);
  policy_history_.push_back(std::move(row));
  if (policy_history_.size() > history_max) policy_history_.pop_front();
  policy_info_ = std::move(info);
  core_.set_policy(std::move(made), now, engine_.effects());
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
  PolicyInfo info;
  auto made = make(change, info);
  if (!made.ok()) return done(made.error());
  if (recorder_.is_refusing()) return done(recorder_.failure());
  policy_failure_.reset();
  failed_sources_.clear();
  store::PolicyRow row{now.us, info.name, parameters_json(info, change.parameters), by, std::move(change.source)};
  adopt(std::move(row), std::move(info), std::move(*made), now);
  recorder_.when_durable(std::move(done));
}

// Back to the last one that works: never to one that failed too, and in the end to the one every installation has.
bool Logic::replace_failed_policy(Instant now) {
  const auto failure = core_.policy_failure();
  if (!failure) return false;
  failed_sources_.insert(policy().source);
  PolicyInfo info;
  store::PolicyRow row{now.us, settings_.policy, "{}", "schedulearn"};
  Result<std::unique_ptr<Policy>> made = *failure;
  for (auto past = policy_history_.rbegin(); past != policy_history_.rend() && !made.ok(); ++past) {
    if (failed_sources_.contains(past->source)) continue;
    made = make(change_to(*past), info);
    if (made.ok()) row = {now.us, past->name, past->parameters_json, "schedulearn", past->source};
  }
  if (!made.ok()) made = make({settings_.policy}, info);
  SL_CHECK(made.ok(), "the default policy exists");
  policy_failure_ = {policy().name, failure->message, now.us};
  recorder_.write_event(failure_event(*policy_failure_, row));
  adopt(std::move(row), std::move(info), std::move(*made), now);
  return true;
}

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
