#include "policies/catalogue.h"

namespace sl {
namespace {

namespace json = boost::json;

json::array strings(const std::vector<std::string>& from) {
  json::array array;
  for (const std::string& word : from) array.push_back(json::string(word));
  return array;
}

json::object parameter_view(const ParameterInfo& p) {
  const bool bounded = p.min < p.max;
  return {{"name", p.name},
          {"type", to_string(p.type)},
          {"unit", p.unit},
          {"default", p.default_value},
          {"min", bounded ? json::value(p.min) : json::value(nullptr)},
          {"max", bounded ? json::value(p.max) : json::value(nullptr)},
          {"choices", strings(p.choices)},
          {"help", p.help}};
}

}  // namespace

json::array notes_of(const PolicyInfo& info, const MissingFacts& missing) {
  return strings(missing.sentences(info.needs, "waiting"));
}

json::object to_json(const PolicyInfo& info, const MissingFacts& missing) {
  json::array needs, parameters;
  for (const Need& need : info.needs) needs.push_back(json::string(to_string(need)));
  for (const ParameterInfo& p : info.parameters) parameters.push_back(parameter_view(p));
  return {{"name", info.name},
          {"title", info.title},
          {"summary", info.summary},
          {"good_for", info.good_for},
          {"weak_for", info.weak_for},
          {"placement", info.placement},
          {"needs", std::move(needs)},
          {"aliases", strings(info.aliases)},
          {"preemptive", info.preemptive},
          {"elastic", info.elastic},
          {"work_conserving", info.work_conserving},
          {"parameters", std::move(parameters)},
          {"notes", notes_of(info, missing)}};
}

}  // namespace sl
