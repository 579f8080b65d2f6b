#include "agent/ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

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
[[noreturn]] void become(int rank, const Member& member, char** arguments, const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  set("RANK", std::to_string(rank));
  set("LOCAL_RANK", std::to_string(member.role.empty() ? rank : 0));  // a member's only GPU is the first it sees
  if (!member.role.empty()) set_role(member);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(arguments[0], arguments);
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(127);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// Collects copies that have ended: the first failure becomes the result. Returns whether any is left.
bool collect(int& result) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (result == 0) result = code_of(status);
  }
  return ended == 0;
}

}  // namespace

std::string to_text(const std::vector<Member>& members) {
  if (members.empty() || members.front().role.empty()) return std::to_string(members.size());
  std::string text;
  for (const Member& member : members)
    text += (text.empty() ? "" : ",") + member.role + (member.gpu.empty() ? "" : ":" + member.gpu);
  return text;
}

std::vector<Member> parse_members(std::string_view text) {
  int plain = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, plain).ptr == end) return std::vector<Member>(static_cast<std::size_t>(plain));
  std::vector<Member> members;
  std::map<std::string, int> count_of;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view one = text.substr(begin, comma - begin);
    const std::size_t colon = std::min(one.find(':'), one.size());
    const std::string role(one.substr(0, colon));
    members.push_back({role, count_of[role]++, 1, std::string(one.substr(std::min(colon + 1, one.size())))});
    begin = comma + 1;
  }
  for (Member& member : members) member.count = count_of[member.role];
  return members;
}

int run_ranks(const std::vector<Member>& members, char** arguments) {
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
