#include "cli/surroundings.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace sl::cli {

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry && entry->pw_name ? entry->pw_name : std::to_string(::getuid());
}

std::string own_host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

Result<std::string> read_token_file(const std::string& path) {
  std::string token = read_secret(path);
  if (!token.empty()) return token;
  const bool is_there = ::access(path.c_str(), R_OK) == 0;
  return invalid("bad-token-file", is_there ? "the token file " + path + " has no first line"
                                            : "cannot read the token file " + path + ": " + std::strerror(errno));
}

std::string read_secret(const std::string& path) {
  std::ifstream file(path);
  std::string secret;
  std::getline(file, secret);
  return secret;
}

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

std::string own_data_directory() {
  if (const std::string chosen = variable("SCHEDULEARN_DATA"); !chosen.empty()) return chosen;
  if (const std::string xdg = variable("XDG_DATA_HOME"); !xdg.empty()) return xdg + "/schedulearn";
  const std::string home = variable("HOME");
  return (home.empty() ? "/tmp" : home) + "/.local/share/schedulearn";
}

}  // namespace sl::cli
