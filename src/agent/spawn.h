// Starts a process that shares this one's memory until it becomes another program, as with vfork(2): nothing is copied,
// which makes it about half as expensive as fork(2), and what it leaves in memory can be read afterwards. This process
// stands still in the meantime.
#pragma once

#include <sys/types.h>

#include <string>

namespace sl::agent {

// Runs child(context) in a new process, which must end in execve or _exit and must not hold memory of its own then.
// From its first moment it is in the v2 control group `cgroup`; "" for the caller's. Returns its number once it has
// become its program or has ended; -1 (errno) if there is none, also if the kernel cannot set the group.
pid_t spawn(const std::string& cgroup, void (*child)(void*), void* context);

}  // namespace sl::agent
