#include "agent/programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

namespace sl::agent {
namespace {

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

Error missing(const std::string& command, const std::string& workdir) {
  struct stat info {};
  const std::string path = command[0] == '/' ? command : workdir + "/" + command;
  const bool is_file =
      command.find('/') != std::string::npos && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  const bool is_line = !is_file && command.find(' ') != std::string::npos;
  return invalid("setup", (is_file ? "not executable (chmod +x): " : "no such command: ") + command +
                              (is_line ? " (this was one word in quotes; each word must be one of its own)" : ""));
}

}  // namespace

std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.compare(0, name.size(), name) == 0 && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return "";
}

std::string find_program(const std::string& command, const std::string& workdir,
                         const std::vector<std::string>& environment) {
  if (command.find('/') != std::string::npos) {
    const std::string path = command[0] == '/' ? command : workdir + "/" + command;
    return is_program(path) ? path : "";
  }
  std::istringstream folders(value_of(environment, "PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? workdir : folder) + "/" + command;
    if (is_program(path)) return path;
  }
  return "";
}

Result<std::string> check_program(const std::string& command, const std::string& required, const std::string& workdir,
                                  const std::vector<std::string>& environment) {
  struct stat info {};
  if (::stat(workdir.c_str(), &info) != 0) return invalid("setup", "no such working directory: " + workdir);
  if (!S_ISDIR(info.st_mode)) return invalid("setup", "the working directory is not a directory: " + workdir);
  if (!required.empty() && find_program(required, workdir, environment).empty()) return missing(required, workdir);
  std::string program = find_program(command, workdir, environment);
  if (program.empty()) return missing(command, workdir);
  return program;
}

}  // namespace sl::agent
