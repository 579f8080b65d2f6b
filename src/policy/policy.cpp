#include "policy/policy.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/suggest.h"

namespace sl {
namespace {

std::string normalised(std::string_view text) {  // input ignores case, `_`, `-` and spaces
  std::string result;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    result.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return result;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Result<std::string> check_number(const ParameterInfo& info, const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number)) {
    return invalid("bad-parameter", "parameter " + info.name + " is not a number: " + value);
  }
  if (info.type == ParameterType::integer && number != std::floor(number)) {
    return invalid("bad-parameter", "parameter " + info.name + " is not a whole number: " + value);
  }
  if (info.min < info.max && (number < info.min || number > info.max)) {
    char range[80];
    std::snprintf(range, sizeof range, "%g to %g", info.min, info.max);
    return invalid("bad-parameter", "parameter " + info.name + " is out of range: " + value)
        .note(std::string("it goes from ") + range + (info.unit.empty() ? "" : " " + info.unit));
  }
  return value;
}

Result<std::string> check_value(const ParameterInfo& info, const std::string& value) {
  switch (info.type) {
    case ParameterType::number:
    case ParameterType::integer:
      return check_number(info, value);
    case ParameterType::boolean:
      if (value == "true" || value == "false") return value;
      return invalid("bad-parameter", "parameter " + info.name + " is true or false, not " + value);
    case ParameterType::choice:
      if (std::find(info.choices.begin(), info.choices.end(), value) != info.choices.end()) return value;
      return invalid("bad-parameter", "parameter " + info.name + " cannot be " + value)
          .note("choose one of " + list_of(info.choices));
  }
  return value;
}

Error unknown_parameter(const PolicyInfo& info, const std::string& name) {
  std::vector<std::string> names;
  for (const ParameterInfo& p : info.parameters) names.push_back(p.name);
  Error error = invalid("unknown-parameter", "policy " + info.name + " has no parameter " + name)
                    .note(names.empty() ? "it has none" : "it has " + list_of(names));
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
  error.hints.push_back("schedulearn policy show " + info.name);
  return error;
}

}  // namespace

const ParameterInfo* find_parameter(const PolicyInfo& info, std::string_view name) {
  const auto at = std::find_if(info.parameters.begin(), info.parameters.end(),
                               [&](const ParameterInfo& p) { return normalised(p.name) == normalised(name); });
  return at == info.parameters.end() ? nullptr : &*at;
}

Result<Parameters> Parameters::parse(const PolicyInfo& info, const GivenParameters& given) {
  Parameters result;
  for (const ParameterInfo& parameter : info.parameters)
    result.values_.emplace_back(parameter.name, parameter.default_value);
  for (const auto& [name, value] : given) {
    const ParameterInfo* parameter = find_parameter(info, name);
    if (!parameter) return unknown_parameter(info, name);
    Result<std::string> checked = check_value(*parameter, value);
    if (!checked.ok()) return checked.error();
    result.values_[static_cast<std::size_t>(parameter - info.parameters.data())].second = *checked;
  }
  return result;
}

const std::string& Parameters::text(std::string_view name) const {
  const auto at = std::find_if(values_.begin(), values_.end(), [&](const auto& pair) { return pair.first == name; });
  SL_CHECK(at != values_.end(), "a policy asked for a parameter it does not declare");
  return at->second;
}

double Parameters::number(std::string_view name) const {
  const std::string& value = text(name);
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::vector<JobIndex> Policy::queue_order(const Snapshot& snapshot) const {
  std::vector<JobIndex> order(snapshot.waiting.begin(), snapshot.waiting.end());
  std::sort(order.begin(), order.end(),
            [&](JobIndex a, JobIndex b) { return submitted_before(snapshot.job(a), snapshot.job(b)); });
  return order;
}

}  // namespace sl
