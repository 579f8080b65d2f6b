#include "base/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/check.h"
#include "base/suggest.h"

namespace sl {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    parts.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

double number_of(const std::string& checked) {
  double number = 0;
  std::from_chars(checked.data(), checked.data() + checked.size(), number);
  return number;
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
    std::snprintf(range, sizeof range, "%.15g to %.15g", info.min, info.max);
    return invalid("bad-parameter", "parameter " + info.name + " is out of range: " + value)
        .note(std::string("it goes from ") + range + (info.unit.empty() ? "" : " " + info.unit));
  }
  return value;
}

Result<std::string> check_ascending(const ParameterInfo& info, const std::string& value) {
  std::optional<double> last;
  for (const std::string& part : split(value, ',')) {
    const Result<std::string> checked = check_number(info, part);
    if (!checked.ok()) return checked.error();
    const double number = number_of(part);
    if (last && number <= *last)
      return invalid("bad-parameter", "the numbers of parameter " + info.name + " must rise: " + value)
          .hint(info.name + "=" + info.default_value + ", or several: " + info.name + "=100,200,400");
    last = number;
  }
  return value;
}

Result<std::string> check_choice(const ParameterInfo& info, const std::string& value) {
  if (std::find(info.choices.begin(), info.choices.end(), value) != info.choices.end()) return value;
  return invalid("bad-parameter", "parameter " + info.name + " cannot be " + value)
      .note("choose one of " + list_of(info.choices));
}

Result<std::string> check_names(const ParameterInfo& info, const std::string& value) {
  const std::vector<std::string> parts = split(value, ',');
  for (const std::string& part : parts) {
    if (const Result<std::string> known = check_choice(info, part); !known.ok()) return known.error();
    if (std::count(parts.begin(), parts.end(), part) > 1)
      return invalid("bad-parameter", "parameter " + info.name + " names " + part + " twice");
  }
  return value;
}

Result<std::string> check_value(const ParameterInfo& info, const std::string& value) {
  switch (info.type) {
    case ParameterType::number:
    case ParameterType::integer:
      return check_number(info, value);
    case ParameterType::ascending:
      return check_ascending(info, value);
    case ParameterType::boolean:
      if (value == "true" || value == "false") return value;
      return invalid("bad-parameter", "parameter " + info.name + " is true or false, not " + value);
    case ParameterType::choice:
      return check_choice(info, value);
    case ParameterType::names:
      return check_names(info, value);
  }
  return value;
}

Error unknown_parameter(const std::vector<ParameterInfo>& infos, const std::string& name, const std::string& owner) {
  std::vector<std::string> names;
  for (const ParameterInfo& p : infos) names.push_back(p.name);
  Error error = invalid("unknown-parameter", owner + " has no parameter " + name)
                    .note(names.empty() ? "it has none" : "it has " + list_of(names));
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

}  // namespace

const char* to_string(ParameterType type) {
  switch (type) {
    case ParameterType::number:
      return "number";
    case ParameterType::integer:
      return "integer";
    case ParameterType::boolean:
      return "boolean";
    case ParameterType::choice:
      return "choice";
    case ParameterType::ascending:
      return "ascending numbers";
    case ParameterType::names:
      return "names";
  }
  return "";
}

std::vector<std::string> split_values(const ParameterInfo* info, std::string_view text) {
  const bool is_list = info && (info->type == ParameterType::ascending || info->type == ParameterType::names);
  return split(text, is_list ? '/' : ',');
}

const ParameterInfo* find_parameter(const std::vector<ParameterInfo>& infos, std::string_view name) {
  const auto at =
      std::find_if(infos.begin(), infos.end(), [&](const ParameterInfo& p) { return is_same_name(p.name, name); });
  return at == infos.end() ? nullptr : &*at;
}

Result<Parameters> Parameters::parse(const std::vector<ParameterInfo>& infos, const GivenParameters& given,
                                     const std::string& owner) {
  Parameters result;
  for (const ParameterInfo& parameter : infos) result.values_.emplace_back(parameter.name, parameter.default_value);
  for (const auto& [name, value] : given) {
    const ParameterInfo* parameter = find_parameter(infos, name);
    if (!parameter) return unknown_parameter(infos, name, owner).at("/parameters/" + name);
    Result<std::string> checked = check_value(*parameter, value);
    if (!checked.ok()) return Error(checked.error()).at("/parameters/" + name);
    result.values_[static_cast<std::size_t>(parameter - infos.data())].second = *checked;
  }
  return result;
}

const std::string& Parameters::text(std::string_view name) const {
  const auto at = std::find_if(values_.begin(), values_.end(), [&](const auto& pair) { return pair.first == name; });
  SL_CHECK(at != values_.end(), "every parameter that is read is declared");
  return at->second;
}

double Parameters::number(std::string_view name) const { return number_of(text(name)); }

std::vector<std::string> Parameters::names(std::string_view name) const { return split(text(name), ','); }

std::vector<double> Parameters::numbers(std::string_view name) const {
  std::vector<double> list;
  for (const std::string& part : split(text(name), ',')) list.push_back(number_of(part));
  return list;
}

}  // namespace sl
