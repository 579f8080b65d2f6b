// web: the address of the web page, opened in a browser if there is a desktop.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"

namespace sl::cli {
namespace {

bool has_desktop() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value && *value != '\0') return true;
  }
  return false;
}

// xdg-open returns once it has found a browser; what it says is not ours to show.
bool open_browser(const std::string& address) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_RDWR, 0);
  std::string program = "xdg-open", argument = address;
  char* const arguments[] = {program.data(), argument.data(), nullptr};  // NOLINT(modernize-avoid-c-arrays)
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, "xdg-open", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return failed == 0 && ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Without the slash at its end.
std::string without_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

int web(const Context& context, const std::vector<std::string>& selectors, bool may_open) {
  // Asked over its socket, the controller says where it listens.
  const Result<json::value> cluster = context.get("/api/v1/cluster");
  if (!cluster.ok()) return fail(cluster.error());
  const std::string address =
      without_slash(context.socket.empty() ? context.url : text_at(*cluster, "url", context.url)) + "/ui/";
  std::vector<std::string> addresses;
  if (selectors.empty()) addresses.push_back(address);
  if (!selectors.empty()) {
    const auto ids = select_jobs(context, selectors);
    if (!ids.ok()) return fail(ids.error());
    for (const std::int64_t id : *ids) addresses.push_back(address + "jobs/" + std::to_string(id));
  }
  for (const std::string& each : addresses) std::printf("%s\n", each.c_str());
  std::fflush(stdout);
  if (may_open && context.interactive && addresses.size() == 1 && has_desktop() && !open_browser(addresses.front()))
    std::fprintf(stderr, "no browser could be opened\n");
  return 0;
}

}  // namespace sl::cli
