#include "cli/pager.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/usage.h"

namespace sl::cli {
namespace {

constexpr const char* long_commands[] = {"ls",   "show",      "logs",        "why", "events",
                                         "help", "policy ls", "policy show", "man"};

// Its standard input is `input`. 0: it could not be started.
pid_t start(const std::string& program, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  std::string shell = "sh", flag = "-c", line = program;
  char* const arguments[] = {shell.data(), flag.data(), line.data(), nullptr};  // NOLINT(modernize-avoid-c-arrays)
  pid_t process = 0;
  const int failed = ::posix_spawn(&process, "/bin/sh", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? process : 0;
}

}  // namespace

OutputTerminal output_terminal() {
  if (::isatty(STDOUT_FILENO) == 0) return {};
  winsize size{};
  return {true, ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : std::size_t{0}};
}

bool is_long(const CLI::App& root) {
  return std::ranges::find(long_commands, typed_command(root)) != std::end(long_commands);
}

Pager::Pager(const std::string& program) {
  int ends[2] = {};  // NOLINT(modernize-avoid-c-arrays)
  if (program.empty() || program == "cat" || ::pipe2(ends, O_CLOEXEC) != 0) return;
  ::setenv("LESS", "FRX", 0);
  process_ = start(program, ends[0]);
  if (process_ > 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::signal(SIGINT, SIG_IGN);  // the pager's to answer: it would lose its terminal if we ended first
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

Pager::~Pager() {
  if (process_ <= 0) return;
  std::fflush(stdout);
  ::close(STDOUT_FILENO);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace sl::cli
