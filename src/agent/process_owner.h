// Whose a process is. Apart from processes.h, since programs that are linked statically cannot know users.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace sl::agent {

struct ProcessOwner {
  std::string user, program;
};
// Empty if there is no such process.
std::optional<ProcessOwner> find_owner(pid_t pid);

}  // namespace sl::agent
