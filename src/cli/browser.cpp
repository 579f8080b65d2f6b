#include "cli/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace sl::cli {

bool has_desktop() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value && *value != '\0') return true;
  }
  return false;
}

// What xdg-open says is not ours to show.
bool open_browser(const std::string& address) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_RDWR, 0);
  std::string program = "xdg-open", argument = address;
  char* const arguments[] = {program.data(), argument.data(), nullptr};  // NOLINT(modernize-avoid-c-arrays)
  // In a session of its own: Ctrl-C is for us, not for the browser, which may be the only one.
  posix_spawnattr_t ways;
  posix_spawnattr_init(&ways);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&ways, &none);
  posix_spawnattr_setflags(&ways, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, "xdg-open", &actions, &ways, arguments, environ);
  posix_spawnattr_destroy(&ways);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return failed == 0 && ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace sl::cli
