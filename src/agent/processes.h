// What the kernel reports about processes (/proc), and signals that reach only the intended process. A number alone
// identifies nothing: it does so only together with the process's start time and the boot.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sl::agent {

struct ProcessFacts {
  pid_t pid = 0, parent = 0, session = 0;
  std::int64_t started_ticks = 0;  // hundredths of a second since boot
  bool is_zombie = false;          // ended, but not waited for yet
  bool is_stopped = false;         // by SIGSTOP or the like
};

// Empty if there is no such process.
std::optional<ProcessFacts> find_process(pid_t pid);
std::map<pid_t, ProcessFacts> all_processes();
// The children of the calling thread, started or inherited, including those that have ended and were not waited for. An
// empty optional: the kernel does not tell.
std::optional<std::vector<pid_t>> own_children();
// A variable of its initial environment; empty if it has none or may not be read.
std::string started_with(pid_t pid, std::string_view variable);
// Sends the signal only if the process is still the one that began then. Returns whether it was.
bool signal_process(pid_t pid, std::int64_t started_ticks, int number);
// A file descriptor that becomes readable when that process ends; -1 if it is not the one that began then.
int open_process(pid_t pid, std::int64_t started_ticks);
// Differs from boot to boot; empty if the kernel does not tell.
std::string boot_id();

}  // namespace sl::agent
