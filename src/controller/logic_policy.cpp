// The policy in force and those before it: switching, undoing, and finding both again after a restart.
#include <fmt/format.h>

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
  event.actor_type = "user";
  event.actor_name = to.by;
  event.from = from.name;
  event.to = to.name;
  event.data_json = to.parameters_json;
  return event;
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
  auto made = make_policy(policy().name, parse_parameters(policy().parameters_json));
  if (!made.ok()) made = make_policy(settings_.policy);  // an older version knew it
  SL_CHECK(made.ok(), "the default policy exists");
  core_.set_policy(std::move(*made), now, engine_.effects());
}

void Logic::set_policy(const std::string& name, const GivenParameters& parameters, const std::string& by, Instant now,
                       Told done) {
  if (tape_) {
    boost::json::object given;
    for (const auto& [key, value] : parameters) given[key] = value;
    tape_->input(now, "policy", {{"name", name}, {"parameters", std::move(given)}, {"by", by}});
  }
  auto made = make_policy(name, parameters);
  if (!made.ok()) return done(made.error());
  if (recorder_.is_refusing()) return done(recorder_.failure());
  // The one a new installation begins with is not written before there is something to tell it from.
  if (policy_history_.size() == 1 && policy().by == "default") recorder_.write(policy());
  const PolicyInfo& info = find_policy(name)->info;
  store::PolicyRow row{now.us, info.name, parameters_json(info, parameters), by};
  recorder_.write_event(change_event(policy(), row));
  recorder_.write(row);
  policy_history_.push_back(std::move(row));
  if (policy_history_.size() > history_max) policy_history_.pop_front();
  core_.set_policy(std::move(*made), now, engine_.effects());
  recorder_.when_durable(std::move(done));
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
  set_policy(back.name, parse_parameters(back.parameters_json), by, now, std::move(done));
}

}  // namespace sl::controller
