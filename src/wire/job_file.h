// Reads a job document that is already a JSON object (from TOML or JSON text) into a JobSpec.
#pragma once

#include <boost/json/object.hpp>
#include <functional>

#include "wire/job_spec.h"

namespace sl::wire {

Result<JobSpec> job_from_json(boost::json::object object, const std::string& base_dir);

// TOML text as a JSON object, so that both formats take the same path. Error "malformed-toml" with line and column.
Result<boost::json::object> toml_to_json(std::string_view text);

}  // namespace sl::wire
