// What a job gets of the environment that it was submitted from.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/job_spec.h"

namespace sl::cli {

// Adds to the job's `env` what makes a command mean the same there as here (PATH, an active virtual or conda
// environment, PYTHONPATH, LD_LIBRARY_PATH), as far as it is set here and the job does not set it itself. What is no
// UTF-8 text cannot be sent and is left out with a note.
void add_submitter_environment(boost::json::object& job);

// Adds what --env asks for: NAME=VALUE, or NAME for the value it has here.
Status add_variables(boost::json::object& job, const std::vector<std::string>& entries);

// What the submitter would be surprised by, one sentence each.
std::vector<std::string> notes_about(const wire::JobSpec& spec);

}  // namespace sl::cli
