#include "controller/policy_views.h"

#include "controller/views.h"
#include "policies/catalogue.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

json::object given_parameters(const store::PolicyRow& row) {
  json::error_code error;
  json::value given = json::parse(row.parameters_json, error);
  return error || !given.is_object() ? json::object() : std::move(given.get_object());
}

json::object policy_failure_view(const PolicyFailure& failure) {
  return {{"name", failure.name}, {"text", failure.text}, {"at", rfc3339(failure.at_us)}};
}

}  // namespace

std::string parameter_text(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (!value.is_array()) return json::serialize(value);
  std::string list;
  for (const json::value& item : value.get_array()) list += (list.empty() ? "" : ",") + parameter_text(item);
  return list;
}

MissingFacts missing_facts(const Core& core) {
  MissingFacts missing;
  for (const JobIndex job : core.waiting()) missing.count(core.job(job).request);
  return missing;
}

json::object policy_view(const Logic& logic) {
  const store::PolicyRow& policy = logic.policies().in_force();
  const auto& history = logic.policies().history();
  const Instant undo_until = logic.policies().undo_until();
  const PolicyInfo& info = logic.policies().info();
  const auto& failure = logic.policies().failure();
  json::object parameters;
  for (const ParameterInfo& p : info.parameters) parameters[p.name] = p.default_value;
  for (const auto& [name, value] : given_parameters(policy)) parameters[name] = value;
  return {{"name", policy.name},
          {"parameters", std::move(parameters)},
          {"since", rfc3339(policy.since_us)},
          {"by", policy.by},
          {"previous", history.size() > 1 ? json::value(history[history.size() - 2].name) : json::value(nullptr)},
          {"undo_until", undo_until.is_never() ? json::value(nullptr) : json::value(rfc3339(undo_until.us))},
          {"source", policy.source.empty() ? json::value(nullptr) : json::value(policy.source)},
          {"failure", failure ? json::value(policy_failure_view(*failure)) : json::value(nullptr)},
          {"notes", notes_of(info, missing_facts(logic.core()))}};
}

json::object policy_change_view(const store::PolicyRow& row) {
  return {{"name", row.name},
          {"parameters", given_parameters(row)},
          {"since", rfc3339(row.since_us)},
          {"by", row.by},
          {"reason", row.reason.empty() ? json::value(nullptr) : json::value(row.reason)}};
}

}  // namespace sl::controller
