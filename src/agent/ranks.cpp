#include "agent/ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace sl::agent {
namespace {

constexpr int requests_to_stop[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
constexpr timespec until_asked_again = {5, 0};  // the first request may have come before a copy could hear it

// In the child: signals that came meanwhile arrive now, as a program that has just begun takes them.
[[noreturn]] void become(int rank, char** arguments, const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(arguments[0], arguments);
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(127);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// Of copies that have ended: the first failure becomes the result. Returns whether any is left.
bool collect(int& result) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (result == 0) result = code_of(status);
  }
  return ended == 0;
}

}  // namespace

int run_ranks(int count, char** arguments) {
  sigset_t awaited, before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  for (const int request : requests_to_stop) sigaddset(&awaited, request);
  ::sigprocmask(SIG_BLOCK, &awaited, &before);  // they are taken below, one after the other
  int result = 0;
  for (int rank = 0; rank < count && result == 0; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) become(rank, arguments, before);
    if (child < 0) std::perror("cannot start a rank"), result = 1;
  }
  bool stopping = false, ask = result != 0;
  while (true) {
    if (ask && !stopping) ::kill(0, SIGTERM);  // all of our group
    siginfo_t signal{};
    const int number = ::sigtimedwait(&awaited, &signal, &until_asked_again);
    if (number > 0 && number != SIGCHLD && signal.si_pid != ::getpid()) stopping = true;
    const bool had_failed = result != 0;
    if (!collect(result)) return result;
    ask = had_failed ? number < 0 : result != 0;
  }
}

}  // namespace sl::agent
