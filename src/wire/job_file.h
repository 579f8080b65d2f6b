// Reads a job document that is already a JSON object (from TOML or JSON text) into a JobSpec.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <optional>

#include "wire/job_spec.h"
#include "wire/source_line.h"

namespace sl::wire {

Result<JobSpec> job_from_json(boost::json::object object, const std::string& base_dir);

// TOML text as a JSON object, so that both formats take the same path. Error "malformed-toml" with line and column.
Result<boost::json::object> toml_to_json(std::string_view text);
// Where the value that a JSON pointer names stands in that text, or its key. Nothing: it is not there.
std::optional<Place> place_in_toml(std::string_view text, std::string_view pointer, bool of_key);

}  // namespace sl::wire
