// Starts a process that shares this one's memory until it becomes another program, as with vfork(2): nothing is copied,
// which makes it about half as expensive as fork(2), and what it leaves in memory can be read afterwards. This process
// stands still in the meantime.
//
// The kernel, when it ends a process because its control group has no memory left, ends all that share its memory: so a
// process in a group with a limit is started `apart`, as with fork(2).
#pragma once

#include <sys/types.h>

#include <string>

namespace sl::agent {

// Runs child(context) in a new process, which must end in execve or _exit and must not hold memory of its own then.
// From its first moment it is in the v2 control group `cgroup`; "" for the caller's. Returns its number once it has
// become its program or has ended; -1 (errno) if there is none, also if the kernel cannot set the group.
// Apart, this process does not wait, and sees of what the other writes only what is in memory that both have mapped.
pid_t spawn(const std::string& cgroup, void (*child)(void*), void* context, bool apart = false);

}  // namespace sl::agent
