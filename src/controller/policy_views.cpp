#include "controller/policy_views.h"

#include "controller/views.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

json::array strings(const std::vector<std::string>& from) {
  json::array array;
  for (const std::string& word : from) array.push_back(json::string(word));
  return array;
}

json::array notes(const PolicyInfo& info, const MissingFacts& missing) {
  return strings(missing.sentences(info.needs, "waiting"));
}

json::object parameter_view(const ParameterInfo& p) {
  constexpr const char* types[] = {"number", "integer", "boolean", "choice"};
  const bool bounded = p.min < p.max;
  return {{"name", p.name},
          {"type", types[static_cast<int>(p.type)]},
          {"unit", p.unit},
          {"default", p.default_value},
          {"min", bounded ? json::value(p.min) : json::value(nullptr)},
          {"max", bounded ? json::value(p.max) : json::value(nullptr)},
          {"choices", strings(p.choices)},
          {"help", p.help}};
}

json::object given_parameters(const store::PolicyRow& row) {
  json::error_code error;
  json::value given = json::parse(row.parameters_json, error);
  return error || !given.is_object() ? json::object() : std::move(given.get_object());
}

json::object failure_view(const PolicyFailure& failure) {
  return {{"name", failure.name}, {"text", failure.text}, {"at", rfc3339(failure.at_us)}};
}

}  // namespace

MissingFacts missing_facts(const Core& core) {
  MissingFacts missing;
  for (const JobIndex job : core.waiting()) missing.count(core.job(job).request);
  return missing;
}

json::object policy_info_view(const PolicyInfo& info, const MissingFacts& missing) {
  json::array needs, parameters;
  for (const Need& need : info.needs) needs.push_back(json::string(to_string(need)));
  for (const ParameterInfo& p : info.parameters) parameters.push_back(parameter_view(p));
  return {{"name", info.name},
          {"title", info.title},
          {"summary", info.summary},
          {"good_for", info.good_for},
          {"weak_for", info.weak_for},
          {"needs", std::move(needs)},
          {"aliases", strings(info.aliases)},
          {"preemptive", info.preemptive},
          {"elastic", info.elastic},
          {"work_conserving", info.work_conserving},
          {"parameters", std::move(parameters)},
          {"notes", notes(info, missing)}};
}

json::object policy_view(const Logic& logic) {
  const store::PolicyRow& policy = logic.policy();
  const auto& history = logic.policy_history();
  const Instant undo_until = logic.undo_until();
  const PolicyInfo& info = logic.policy_info();
  const auto& failure = logic.policy_failure();
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
          {"failure", failure ? json::value(failure_view(*failure)) : json::value(nullptr)},
          {"notes", notes(info, missing_facts(logic.core()))}};
}

json::object policy_change_view(const store::PolicyRow& row) {
  return {{"name", row.name}, {"parameters", given_parameters(row)}, {"since", rfc3339(row.since_us)}, {"by", row.by}};
}

}  // namespace sl::controller
