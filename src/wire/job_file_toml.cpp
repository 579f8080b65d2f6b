#include <algorithm>
#include <boost/json.hpp>
#include <sstream>

#include <toml++/toml.h>

#include "base/whole_number.h"
#include "wire/job_file.h"
#include "wire/json.h"
#include "wire/source_line.h"

namespace sl::wire {
namespace {

boost::json::value convert(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    boost::json::object object;
    for (const auto& [key, value] : *table) object[std::string_view(key.str())] = convert(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    boost::json::array result;
    for (const auto& value : *array) result.push_back(convert(value));
    return result;
  }
  if (const auto* text = node.as_string()) return boost::json::string(text->get());
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  std::ostringstream text;  // dates and times: as written
  node.visit([&](const auto& value) { text << value; });
  return boost::json::string(text.str());
}

}  // namespace

Result<boost::json::object> toml_to_json(std::string_view text) {
  // Keys such as a.b.c nest tables, which are taken apart one in the other: so many would exhaust the stack.
  constexpr std::ptrdiff_t dots_most = 5'000;
  if (std::count(text.begin(), text.end(), '.') > dots_most)
    return invalid("malformed-toml",
                   "this has more than " + std::to_string(dots_most) + " dots, which is too much for TOML here")
        .hint("the same as JSON has no such limit");
  try {
    return convert(toml::parse(text)).as_object();
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    const Place place{at.line, at.column};
    const std::string where = place_text(place);
    return with_source_line(
        invalid("malformed-toml", "this is not TOML: " + std::string(error.description()) + " at " + where).at(where),
        text, place);
  }
}

std::optional<Place> place_in_toml(std::string_view text, std::string_view pointer, bool of_key) {
  toml::table whole;
  try {
    whole = toml::parse(text);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
  const toml::node* node = &whole;
  toml::source_position at;
  while (!pointer.empty()) {
    const std::string word = detail::take_key(pointer);
    const toml::node* inner = nullptr;
    if (const auto* table = node->as_table()) {
      const auto found = table->find(word);
      if (found == table->end()) return std::nullopt;
      inner = &found->second;
      at = found->first.source().begin;
    } else if (const auto* array = node->as_array()) {
      const auto index = parse_whole_number(word);
      inner = index && *index >= 0 ? array->get(static_cast<std::size_t>(*index)) : nullptr;
    }
    if (!inner) return std::nullopt;
    node = inner;
    if (!of_key) at = node->source().begin;
  }
  return at.line > 0 ? std::optional(Place{at.line, at.column}) : std::nullopt;
}

Result<JobSpec> parse_job_toml(std::string_view text, const std::string& base_dir) {
  Result<boost::json::object> object = toml_to_json(text);
  if (!object.ok()) return object.error();
  return job_from_json(std::move(*object), base_dir);
}

}  // namespace sl::wire
