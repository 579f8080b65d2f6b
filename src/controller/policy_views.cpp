#include "controller/policy_views.h"

#include "controller/views.h"
#include "policies/adaptive/auto.h"
#include "policies/catalogue.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

json::object given_parameters(const store::PolicyRow& row) {
  json::error_code error;
  json::value given = json::parse(row.parameters_json, error);
  return error || !given.is_object() ? json::object() : std::move(given.get_object());
}

}  // namespace

std::string parameter_text(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (!value.is_array()) return wire::json_text(value);
  std::string list;
  for (const json::value& item : value.get_array()) list += (list.empty() ? "" : ",") + parameter_text(item);
  return list;
}

std::optional<std::string> acting_policy(const PolicyLife& policies) {
  const store::PolicyRow& row = policies.in_force();
  if (row.name != auto_name || !row.source.empty()) return std::nullopt;
  const auto parameters = parse_parameters(policies.info(), policies.change_in_force().parameters);
  return parameters.ok() ? std::optional(read_auto(*parameters).acting) : std::nullopt;
}

MissingFacts missing_facts(const Core& core) {
  MissingFacts missing;
  for (const JobIndex job : core.waiting()) missing.count(core.job(job).request);
  return missing;
}

PolicyChange change_of(const PolicyBody& body) {
  PolicyChange change{.name = body.name};
  if (!body.parameters) return change;
  for (const auto& [name, value] : *body.parameters) change.parameters.emplace_back(name, parameter_text(value));
  return change;
}

PolicyBody body_of(const PolicyChange& change) {
  PolicyBody body{.name = change.name, .parameters = {}, .source = {}};
  if (change.parameters.empty()) return body;
  body.parameters.emplace();
  for (const auto& [name, value] : change.parameters) body.parameters->emplace(name, value);
  return body;
}

answers::Policy policy_view(const Logic& logic, const std::string& shadow) {
  const store::PolicyRow& policy = logic.policies().in_force();
  const store::PolicyRow* previous = logic.policies().previous();
  const Instant undo_until = logic.policies().undo_until();
  const PolicyInfo& info = logic.policies().info();
  answers::Policy view;
  view.name = policy.name;
  for (const ParameterInfo& p : info.parameters) view.parameters.members[p.name] = p.default_value;
  for (const auto& [name, value] : given_parameters(policy)) view.parameters.members[name] = value;
  view.since = {policy.since_us};
  view.by = policy.by;
  if (previous) view.previous = previous->name;
  view.acting = acting_policy(logic.policies());
  if (!shadow.empty()) view.shadow = shadow;
  if (!undo_until.is_never()) view.undo_until = wire::Time{undo_until.us};
  view.planned = planned_policy_view(logic.policies());
  if (!policy.source.empty()) view.source = policy.source;
  if (const auto& failure = logic.policies().failure())
    view.failure = {failure->name, failure->code, failure->text, {failure->at_us}};
  view.notes = missing_facts(logic.core()).sentences(info.needs, "waiting");
  return view;
}

std::optional<answers::PlannedPolicy> planned_policy_view(const PolicyLife& policies) {
  const auto& planned = policies.planned();
  if (!planned) return std::nullopt;
  json::object given;
  for (const auto& [name, value] : planned->change.parameters) given[name] = value;
  return answers::PlannedPolicy{
      planned->change.name, {std::move(given)}, {planned->at.us}, planned->by, {planned->planned.us}};
}

answers::EarlierPolicy policy_change_view(const store::PolicyRow& row) {
  const auto reason = row.reason.empty() ? std::nullopt : std::optional(row.reason);
  return {row.name, {given_parameters(row)}, {row.since_us}, row.by, reason};
}

}  // namespace sl::controller
