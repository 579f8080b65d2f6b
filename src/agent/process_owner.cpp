#include "agent/process_owner.h"

#include <pwd.h>
#include <sys/stat.h>

#include <array>

#include "agent/proc_file.h"

namespace sl::agent {

std::optional<ProcessOwner> find_owner(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid);
  struct stat folder {};
  if (::stat(path.c_str(), &folder) != 0) return std::nullopt;
  std::string program = read_proc_file(path + "/comm");
  if (program.ends_with('\n')) program.pop_back();
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  ::getpwuid_r(folder.st_uid, &entry, buffer.data(), buffer.size(), &found);
  return ProcessOwner{found ? found->pw_name : std::to_string(folder.st_uid), program};
}

}  // namespace sl::agent
