#include "wire/members.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/number_ranges.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

using Values = std::map<std::string, std::string>;  // by placeholder

// The value of each key of the matrix for that member. The last key varies fastest.
Values values_of(const JobSpec& group, std::int64_t index) {
  Values values;
  values["index"] = std::to_string(index);
  for (auto at = group.matrix.rbegin(); at != group.matrix.rend(); ++at) {
    const auto count = static_cast<std::int64_t>(at->second.size());
    values[at->first] = at->second[static_cast<std::size_t>(index % count)];
    index /= count;
  }
  return values;
}

// Braces around anything else stay as they are.
std::string filled(const std::string& text, const Values& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at), close = text.find('}', open);
    if (close == std::string::npos) return result + text.substr(at);
    const auto value = values.find(text.substr(open + 1, close - open - 1));
    result += text.substr(at, open - at);
    result += value == values.end() ? "{" : value->second;
    at = value == values.end() ? open + 1 : close + 1;
  }
  return result;
}

CommandLine filled(const CommandLine& command, const Values& values) {
  if (const auto* line = std::get_if<std::string>(&command)) return filled(*line, values);
  std::vector<std::string> words = std::get<std::vector<std::string>>(command);
  for (std::string& word : words) word = filled(word, values);
  return words;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A value of a matrix as a command line shows it.
Result<std::string> value_text(const json::value& value, const std::string& at) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_bool()) return std::string(value.get_bool() ? "true" : "false");
  if (value.is_double()) {
    std::array<char, 40> text{};
    return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), value.get_double()).ptr);
  }
  if (value.is_uint64()) return std::to_string(value.get_uint64());
  if (value.is_int64()) return std::to_string(value.get_int64());
  return detail::wrong_type(at, "a number, a text, true or false");
}

Status read_values(const json::value& value, const std::string& at, std::vector<std::string>& into) {
  const json::array one = {value};
  for (const json::value& item : value.is_array() ? value.get_array() : one) {
    auto text = value_text(item, at);
    if (!text.ok()) return text.error();
    into.push_back(std::move(*text));
  }
  return {};
}

Status read_matrix(const json::value& value, const std::string& at, JobSpec& into) {
  if (value.is_null()) return {};
  if (!value.is_object()) return detail::wrong_type(at, "a table");
  for (const auto& [key, values] : value.get_object()) {
    const std::string pointer = detail::pointer_to(at, key);
    const Status read = key == "max_running" ? detail::read(values, into.max_running, Unknown::reject, pointer)
                                             : read_values(values, pointer, into.matrix[key]);
    if (!read.ok()) return read;
  }
  return {};
}

std::int64_t combinations(const JobSpec& spec) {
  std::int64_t count = spec.matrix.empty() ? 0 : 1;
  for (const auto& [key, values] : spec.matrix)
    count = std::min(count * static_cast<std::int64_t>(values.size()), members_max + 1);
  return count;
}

bool is_key(const std::string& name) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, is_word) && name != "index";
}

// "0-99%4" is what Slurm takes.
Error bad_array(const std::string& numbers) {
  Error error =
      invalid("bad-array", "the numbers of an array are whole, ascending and not negative; not \"" + numbers + "\"")
          .at("/array");
  const std::size_t percent = numbers.find('%');
  if (percent == std::string::npos) return std::move(error).hint("--array 0-99").hint("--array 1,5,7-9");
  return std::move(error).hint("--array " + numbers.substr(0, percent) + " --max-running " +
                               numbers.substr(percent + 1));
}

}  // namespace

std::int64_t member_count(const JobSpec& spec) {
  return spec.array ? NumberRanges::parse(*spec.array).value_or(NumberRanges()).count() : combinations(spec);
}

std::int64_t member_index(const JobSpec& group, std::int64_t place) {
  return group.array ? NumberRanges::parse(*group.array)->at(place) : place;
}

std::optional<std::int64_t> place_of_member(const JobSpec& group, std::int64_t index) {
  if (group.array) return NumberRanges::parse(*group.array)->place_of(index);
  return index >= 0 && index < member_count(group) ? std::optional(index) : std::nullopt;
}

JobSpec member_spec(const JobSpec& group, std::int64_t group_id, std::int64_t place) {
  const Values values = values_of(group, member_index(group, place));
  JobSpec spec = group;
  spec.array.reset();
  spec.matrix.clear();
  spec.max_running = 0;
  spec.hold = false;
  spec.after.clear();
  spec.after_any.clear();
  spec.not_before.reset();
  spec.name = filled(group.name, values);
  if (spec.name == group.name) spec.name += "-" + values.at("index");
  spec.command = filled(group.command, values);
  spec.workdir = filled(group.workdir, values);
  if (spec.checkpoint.dir) spec.checkpoint.dir = filled(*spec.checkpoint.dir, values);
  for (auto& [name, value] : spec.env) value = filled(value, values);
  for (const auto& [key, value] : values) {
    if (key != "index") spec.env["SCHEDULEARN_MATRIX_" + upper(key)] = value;
  }
  spec.env["SCHEDULEARN_INDEX"] = values.at("index");
  spec.env["SCHEDULEARN_GROUP_ID"] = std::to_string(group_id);
  return spec;
}

void read_members(Keys& keys, JobSpec& into) {
  keys.with("array", [&](const json::value& v, const std::string& at) -> Status {
    if (v.is_int64()) return into.array = std::to_string(v.get_int64()), Status();
    return detail::read(v, into.array, Unknown::reject, at);
  });
  keys.with("matrix", [&](const json::value& v, const std::string& at) { return read_matrix(v, at, into); });
  keys.take("max_running", into.max_running);
}

Status validate_members(const JobSpec& spec) {
  if (spec.array) {
    const auto numbers = NumberRanges::parse(*spec.array);
    if (!numbers || numbers->empty()) return bad_array(*spec.array);
  }
  for (const auto& [key, values] : spec.matrix) {
    if (!is_key(key))
      return invalid("bad-matrix",
                     "a key of the matrix consists of letters, digits and _, and is not index; not \"" + key + "\"")
          .at("/matrix");
    if (values.empty())
      return invalid("bad-matrix", "the matrix names no value of " + key)
          .hint(key + " = [0.1, 0.01]")
          .at("/matrix/" + key);
  }
  const std::int64_t combined = combinations(spec);
  if (std::max(member_count(spec), combined) > members_max)
    return invalid("too-many-members", "a group has at most " + std::to_string(members_max) + " members")
        .hint("split it, or let one job do several parts of the work")
        .at(combined > members_max ? "/matrix" : "/array");
  if (combined > 0 && spec.array && NumberRanges::parse(*spec.array)->at_or_above(combined))
    return invalid("bad-array", "the matrix has " + std::to_string(combined) +
                                    " combinations, numbered from 0: it lacks some of array = \"" + *spec.array + "\"")
        .hint("an array beside a matrix says which of its combinations run")
        .at("/array");
  if (spec.max_running < 0 || (spec.max_running > 0 && !is_group(spec)))
    return invalid("bad-max-running", "max_running limits how many members of an array or a matrix run at once")
        .hint("--array 0-99 --max-running 4")
        .at("/max_running");
  return {};
}

Status read_after(const json::value& value, const std::string& at, std::vector<std::int64_t>& into) {
  if (value.is_null()) return {};
  const json::array one = {value};
  for (const json::value& item : value.is_array() ? value.get_array() : one) {
    json::error_code not_whole;  // or beyond 2^63
    const auto id = item.is_double() || !item.is_number() ? 0 : item.to_number<std::int64_t>(not_whole);
    if (id == 0 || not_whole)
      return invalid("bad-after", "the jobs to start after are named by their numbers")
          .note("schedulearn submit also knows names and last")
          .at(at);
    into.push_back(id);
  }
  return {};
}

Status read_not_before(const json::value& value, const std::string& at, JobSpec& into) {
  if (value.is_null()) return {};
  if (!value.is_string()) return detail::wrong_type(at, "a time like \"2026-11-23T21:00:00Z\"");
  const auto us = parse_time_us(std::string_view(value.get_string()));
  if (!us.ok()) return Error(us.error()).at(at);
  into.not_before = time_text(*us);
  return {};
}

Status validate_prerequisites(const JobSpec& spec) {
  for (const auto* jobs : {&spec.after, &spec.after_any}) {
    const char* at = jobs == &spec.after ? "/after" : "/after_any";
    if (std::cmp_greater(jobs->size(), prerequisites_max))
      return invalid("bad-after", "a job starts after at most " + std::to_string(prerequisites_max) + " others").at(at);
    for (const std::int64_t id : *jobs) {
      if (id < 1) return invalid("bad-after", "no job has the number " + std::to_string(id)).at(at);
    }
  }
  if (!spec.not_before) return {};
  const auto us = parse_time_us(*spec.not_before);
  return us.ok() ? Status() : Status(Error(us.error()).at("/not_before"));
}

}  // namespace sl::wire
