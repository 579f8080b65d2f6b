// Names of environment variables that a job may have.
#pragma once

#include <string>

#include "base/result.h"

namespace sl::wire {

// Error: "bad-env".
Status check_environment_name(const std::string& name);

}  // namespace sl::wire
