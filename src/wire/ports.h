// The ports that a job publishes: their names, where they are reached, and what the job is told of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/job_spec.h"

namespace sl::wire {

bool is_port_name(std::string_view name);    // letters, digits and -, at most 32
Status validate_ports(const JobSpec& spec);  // error "bad-port"

// Where it is reached on the controller's port: "/jobs/5/proxy/notebook/".
std::string proxy_path(std::int64_t job, std::string_view name);
// The variable that tells the job the number ("PORT") or that path ("PATH") of its port: "SCHEDULEARN_PORT_NOTEBOOK".
std::string port_variable(std::string_view what, std::string_view name);

}  // namespace sl::wire
