#include "agent/ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "agent/wait_status.h"

namespace sl::agent {
namespace {

constexpr int requests_to_stop[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
constexpr timespec until_asked_again = {5, 0};  // the first request may have come before a copy could receive it

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

void set_role(const Member& member) {
  set("SCHEDULEARN_ROLE", member.role);
  set("SCHEDULEARN_ROLE_INDEX", std::to_string(member.index));
  set("SCHEDULEARN_ROLE_COUNT", std::to_string(member.count));
  set("CUDA_VISIBLE_DEVICES", member.gpu);
  set("NVIDIA_VISIBLE_DEVICES", member.gpu.empty() ? "void" : member.gpu);
}

// In the child: signals that arrived in the meantime are delivered now, with a new program's default handling.
[[noreturn]] void become(int local_rank, const Member& member, char** arguments, const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  set("RANK", std::to_string(member.rank));
  set("LOCAL_RANK", std::to_string(member.role.empty() ? local_rank : 0));  // a member's only GPU is the first it sees
  if (!member.role.empty()) set_role(member);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(arguments[0], arguments);
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(127);
}

// Collects copies that have ended: the first failure becomes the result. Returns whether any is left.
bool collect(int& result) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (result == 0) result = exit_code_of(status);
  }
  return ended == 0;
}

}  // namespace

std::string to_text(const std::vector<Member>& members) {
  if (members.empty()) return "";
  std::ostringstream text;
  if (members.front().role.empty()) text << members.size() << '@' << members.front().rank;
  for (const Member& member : members) {
    if (member.role.empty()) break;
    text << (&member == &members.front() ? "" : ",") << member.role << '@' << member.rank << '/' << member.index << '/'
         << member.count << (member.gpu.empty() ? "" : ":") << member.gpu;
  }
  return text.str();
}

std::vector<Member> parse_members(const std::string& text) {
  std::vector<Member> members;
  int count = 0, first = 0, read = 0;
  if (std::sscanf(text.c_str(), "%d@%d%n", &count, &first, &read) == 2 && read == static_cast<int>(text.size())) {
    for (int i = 0; i < count; ++i) members.push_back({.rank = first + i});
    return members;
  }
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) {
    Member member;
    const std::size_t at = std::min(one.find('@'), one.size());
    const std::size_t colon = one.find(':', at);
    member.role = one.substr(0, at);
    if (colon != std::string::npos) member.gpu = one.substr(colon + 1);
    if (std::sscanf(one.c_str() + at, "@%d/%d/%d", &member.rank, &member.index, &member.count) != 3) return {};
    members.push_back(std::move(member));
  }
  return members;
}

int run_ranks(const std::vector<Member>& members, char** arguments) {
  if (members.empty()) return std::fputs("no ranks to start\n", stderr), 2;
  sigset_t awaited, before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  for (const int request : requests_to_stop) sigaddset(&awaited, request);
  ::sigprocmask(SIG_BLOCK, &awaited, &before);  // they are accepted one after the other below
  int result = 0;
  for (std::size_t rank = 0; rank < members.size() && result == 0; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) become(static_cast<int>(rank), members[rank], arguments, before);
    if (child < 0) std::perror("cannot start a rank"), result = 1;
  }
  bool stopping = false, ask = result != 0;
  while (true) {
    if (ask && !stopping) ::kill(0, SIGTERM);  // the whole group
    siginfo_t signal{};
    const int number = ::sigtimedwait(&awaited, &signal, &until_asked_again);
    if (number > 0 && number != SIGCHLD && signal.si_pid != ::getpid()) stopping = true;
    const bool had_failed = result != 0;
    if (!collect(result)) return result;
    ask = had_failed ? number < 0 : result != 0;
  }
}

}  // namespace sl::agent
