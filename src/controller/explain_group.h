// Why the members of an array wait, and what the others do.
#pragma once

#include <optional>
#include <string>

#include "core/core.h"

namespace sl::controller {

// "2 of its members run, as many as may at once (max_running)"
std::string max_running_text(const Group& group);

// What the group's members do if none of them waits for GPUs. Nothing: some do, or only those that have not come up.
std::optional<std::string> busy_group_text(const Core& core, const Job& group);

}  // namespace sl::controller
