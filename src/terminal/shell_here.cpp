#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "terminal/shell.h"

namespace sl::terminal {
namespace {

winsize size_of(int columns, int rows) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  return size;
}

std::vector<std::string> own_shell() {
  const char* shell = std::getenv("SHELL");
  for (const char* one : {shell ? shell : "", "/bin/bash", "/bin/sh"}) {
    if (one[0] == '/' && ::access(one, X_OK) == 0) return {one, "-i"};
  }
  return {"/bin/sh", "-i"};
}

[[noreturn]] void become(const ShellOrder& order) {
  const std::vector<std::string> command = order.command.empty() ? own_shell() : order.command;
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::setenv("TERM", order.term.c_str(), 1);
  const char* folder = std::getenv("PWD");
  if (!folder || ::chdir(folder) != 0) (void)!::chdir("/");
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(arguments[0], arguments.data());
  const std::string why = std::string(arguments[0]) + ": " + std::strerror(errno) + "\r\n";
  (void)!::write(2, why.data(), why.size());
  ::_exit(errno == ENOENT ? 127 : 126);
}

class ShellHere : public Shell {
 public:
  ShellHere(int terminal, pid_t pid) : terminal_(terminal), pid_(pid) {}
  ~ShellHere() override { ::close(terminal_); }
  ShellHere(const ShellHere&) = delete;
  ShellHere& operator=(const ShellHere&) = delete;

  int descriptor() const override { return terminal_; }
  void resize(int columns, int rows) override {
    const winsize size = size_of(columns, rows);
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  // Also to what it has in the foreground, which an interactive shell starts in a group of its own. Once only to who leads
  // the terminal's session: of a job in a container that is not our child, which passes the signal on to it.
  void signal(int number) override {
    if (code_) return;
    const pid_t foreground = ::tcgetpgrp(terminal_);
    ::kill(-pid_, number);
    if (foreground > 0 && ::getsid(foreground) != foreground) ::kill(-foreground, number);
  }
  std::optional<int> exit_code() override {
    int status = 0;
    if (!code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
      code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return code_;
  }

 private:
  int terminal_;
  pid_t pid_;
  std::optional<int> code_;
};

}  // namespace

Result<std::unique_ptr<Shell>> start_here(const ShellOrder& order) {
  winsize size = size_of(order.columns, order.rows);
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) become(order);
  if (pid < 0) return unavailable("shell-failed", std::string("there is no terminal for it: ") + std::strerror(errno));
  ::fcntl(terminal, F_SETFD, FD_CLOEXEC);
  ::fcntl(terminal, F_SETFL, O_NONBLOCK);
  return std::unique_ptr<Shell>(std::make_unique<ShellHere>(terminal, pid));
}

}  // namespace sl::terminal
