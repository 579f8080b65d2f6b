// From the text of a Python file to a policy: what the registry is for built-in ones. `app` and the commands hand the
// loader or the maker to those who need it, so that neither the simulator nor the controller knows of processes.
#pragma once

#include "policy/policy.h"
#include "python_policy/conversation.h"

namespace sl::python_policy {

inline constexpr std::size_t source_bytes_max = 256 << 10;

HostSettings simulation_settings();
// Of a running cluster: 50 ms a decision, 2 s to read it, no rights. Faults go to standard error.
HostSettings live_settings();

// Reads the file to learn what it is; its policies start their processes at their first decisions.
PolicyLoader make_loader(HostSettings settings);
// The process that reads the file is the one that decides: the first decision costs a round trip.
OwnPolicyMaker make_maker(HostSettings settings);

// Whether this is the name of a file rather than that of a built-in policy.
bool is_file_name(std::string_view name);
// What is in the file, and its name without the folders. Errors: "no-such-file", "policy-too-large".
Result<Script> read_script(const std::string& path);

}  // namespace sl::python_policy
