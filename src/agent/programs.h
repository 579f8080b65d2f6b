// Finds the program that a command starts, as the job's own PATH and working directory tell.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sl::agent {

// The value of a variable in a list of NAME=value; empty if it is not there.
std::string value_of(const std::vector<std::string>& environment, const std::string& name);

// Its path; empty if there is none.
std::string find_program(const std::string& command, const std::string& workdir,
                         const std::vector<std::string>& environment);

// The path of `command`, after a look at the working directory and at `required`, a program that must be there too
// (empty: none). The error ("setup") is what the user reads.
Result<std::string> check_program(const std::string& command, const std::string& required, const std::string& workdir,
                                  const std::vector<std::string>& environment);

}  // namespace sl::agent
