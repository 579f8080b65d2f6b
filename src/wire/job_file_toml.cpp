#include <boost/json.hpp>
#include <sstream>

#include <toml++/toml.h>

#include "wire/job_file.h"
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

Result<JobSpec> parse_job_toml(std::string_view text, const std::string& base_dir) {
  Result<boost::json::object> object = toml_to_json(text);
  if (!object.ok()) return object.error();
  return job_from_json(std::move(*object), base_dir);
}

}  // namespace sl::wire
