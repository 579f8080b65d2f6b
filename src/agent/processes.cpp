#include "agent/processes.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "agent/proc_file.h"

namespace sl::agent {
namespace {

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

}  // namespace

std::optional<ProcessFacts> find_process(pid_t pid) {
  const std::string text = read_proc_file(folder_of(pid) + "/stat");
  const std::size_t name_end = text.rfind(')');  // the name may contain anything
  ProcessFacts facts;
  facts.pid = pid;
  char state = 0;
  long long ticks = 0;
  // Fields 3 to 6, then 22 of proc(5).
  if (name_end == std::string::npos ||
      std::sscanf(text.c_str() + name_end + 1,
                  " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld", &state,
                  &facts.parent, &facts.session, &ticks) != 4)
    return std::nullopt;
  facts.started_ticks = ticks;
  facts.is_stopped = state == 'T';
  facts.is_zombie = state == 'Z' || state == 'X';
  return facts;
}

std::map<pid_t, ProcessFacts> all_processes() {
  std::map<pid_t, ProcessFacts> table;
  DIR* folder = ::opendir("/proc");
  if (!folder) return table;
  while (const dirent* entry = ::readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    if (const auto facts = find_process(pid)) table[pid] = *facts;
  }
  ::closedir(folder);
  return table;
}

std::optional<std::vector<pid_t>> own_children() {
  constexpr const char* path = "/proc/thread-self/children";
  const std::string numbers = read_proc_file(path);
  if (numbers.empty() && ::access(path, R_OK) != 0) return std::nullopt;
  std::vector<pid_t> children;
  const char *at = numbers.data(), *end = at + numbers.size();
  pid_t child = 0;
  for (auto parsed = std::from_chars(at, end, child); parsed.ec == std::errc();
       parsed = std::from_chars(at, end, child)) {
    children.push_back(child);
    at = parsed.ptr + (parsed.ptr != end);  // each is followed by a space
  }
  return children;
}

std::string started_with(pid_t pid, std::string_view variable) {
  const std::string text = '\0' + read_proc_file(folder_of(pid) + "/environ");
  const std::string wanted = '\0' + std::string(variable) + "=";
  const std::size_t at = text.find(wanted);
  return at == std::string::npos ? "" : text.c_str() + at + wanted.size();
}

int open_process(pid_t pid, std::int64_t started_ticks) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return -1;
  const auto facts = find_process(pid);  // read after opening, so that the descriptor belongs to this process
  if (facts && facts->started_ticks == started_ticks) return process;
  ::close(process);
  return -1;
}

bool signal_process(pid_t pid, std::int64_t started_ticks, int number) {
  const int process = open_process(pid, started_ticks);
  if (process < 0) return false;
  const bool sent = ::syscall(SYS_pidfd_send_signal, process, number, nullptr, 0) == 0;
  ::close(process);
  return sent;
}

std::string boot_id() {
  std::string text = read_proc_file("/proc/sys/kernel/random/boot_id");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace sl::agent
