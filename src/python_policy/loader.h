// Turns the text of a Python file into a policy, as the registry does for built-in ones. `app` and the commands pass on
// the loader or the maker, so that neither the simulator nor the controller knows about processes.
#pragma once

#include "policy/policy.h"
#include "python_policy/conversation.h"

namespace sl::python_policy {

inline constexpr std::size_t source_bytes_max = 256 << 10;

HostSettings simulation_settings();
// For a running cluster: 50 ms per decision, 2 s to read the file, no privileges. Faults go to standard error.
HostSettings live_settings();

// Reads the file for its description; its policies start their processes at their first decision.
PolicyLoader make_loader(HostSettings settings);
// The process that reads the file also decides, so the first decision costs only a round trip.
OwnPolicyMaker make_maker(HostSettings settings);

// Whether this names a file instead of a built-in policy.
bool is_file_name(std::string_view name);
// The contents of the file, and its name without folders. Errors: "no-such-file", "policy-too-large".
Result<Script> read_script(const std::string& path);

}  // namespace sl::python_policy
