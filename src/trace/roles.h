// The column `roles` of a trace: what members a job runs with, and what each of them needs.
//
//   scheduler 1 gpus=0 cpus=1|server 2 gpus=0 cpus=4 mem_mib=8192|worker 1..4 cpus=2
//
// Roles are separated by |, the parts of one by spaces: its name; how many members, or from the fewest to those that are
// wanted; GPUs of one member, 1 or 0 (default 1); what else one member needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"

namespace sl::trace {

// Nothing where the text is none, or says the same twice.
std::optional<std::vector<Role>> parse_roles(std::string_view text);
std::string to_text(const std::vector<Role>& roles);

}  // namespace sl::trace
