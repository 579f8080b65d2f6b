// The ports that an attempt publishes on this server ([ports] of a job file): chosen before it starts, kept in its folder
// for later agents.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/job_spec.h"

namespace sl::agent {

using PublishedPorts = std::map<std::string, int>;  // by name

// `taken`: those of other attempts here. Error "setup": somebody else has one that the job insists on.
Result<PublishedPorts> choose_ports(const std::map<std::string, wire::PortSpec>& wanted, const std::set<int>& taken);

void write_ports(const std::string& attempt_dir, const PublishedPorts& ports);
PublishedPorts read_ports(const std::string& attempt_dir);
// Of all these attempts.
std::set<int> ports_of(const std::vector<std::string>& attempt_dirs);

}  // namespace sl::agent
