#include "agent/process_start.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "agent/cgroups.h"
#include "agent/clocks.h"
#include "agent/process_trees.h"
#include "agent/processes.h"
#include "agent/programs.h"
#include "agent/spawn.h"

namespace sl::agent {
namespace {

std::vector<char*> pointers(const Fields& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// The job's own fault, unless the server is short of what every program needs.
Error cannot_start(int error) {
  constexpr int of_server[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, EIO, ENOSPC, EDQUOT, EROFS};
  const bool is_ours = std::ranges::find(of_server, error) != std::end(of_server);
  return invalid(is_ours ? "server_setup" : "setup", std::string("cannot start it: ") + std::strerror(error));
}

// Output and journal are the server's in any case.
Error cannot_write(const std::string& what, int error) {
  return unavailable("server_setup", "cannot write " + what + ": " + std::strerror(error));
}

// Everything that exec needs, prepared before fork.
struct Image {
  std::string program;
  Fields variables;
  std::vector<char*> arguments, environment;
};

Result<Image> prepare(const LaunchOrder& order, const std::string& mark) {
  Result<std::string> program = check_program(order.arguments[0], order.required, order.workdir, order.environment);
  if (!program.ok()) return program.error();
  Image image;
  image.program = std::move(*program);
  image.variables = order.environment;
  image.variables.push_back(std::string(tree_variable) + "=" + mark);
  image.arguments = pointers(order.arguments);
  image.environment = pointers(image.variables);
  return image;
}

// Read and written by the new process in the memory it shares with the launcher.
struct Birth {
  const LaunchOrder& order;
  const Image& image;
  const Surroundings& surroundings;
  pid_t launcher = 0;
  bool join = false;  // the group must be joined
  Started started;
  const char* unwritten = nullptr;  // what of ours could not be written; null: that is not the reason
  int error = 0;                    // why it has not become its program
};

bool write_down(Birth& birth) {
  const auto self = find_process(::getpid());
  birth.started.pid = ::getpid();
  birth.started.ticks = self ? self->started_ticks : 0;
  birth.started.wall_us = wall_now().us;
  const std::string line = to_line(birth.started);
  errno = ENOSPC;  // of a write that ends early
  return ::write(birth.surroundings.journal, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

bool open_streams(const LaunchOrder& order) {
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = ::open(order.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  return output >= 0 && ::dup2(input, 0) >= 0 && ::dup2(output, 1) >= 0 && ::dup2(output, 2) >= 0;
}

// Up to its program, which starts with none of our signals blocked or ignored. It dies with the launcher until its
// start is recorded, so that no process runs unknown. Returns if it cannot become its program, with the reason in
// errno.
void try_to_become(Birth& birth) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != birth.launcher) ::_exit(127);
  ::setsid();
  if (birth.join && !join_cgroup(birth.started.cgroup)) birth.started.cgroup.clear();
  if (!open_streams(birth.order)) return void(birth.unwritten = "its output");
  if (::chdir(birth.order.workdir.c_str()) != 0) return;
  if (birth.surroundings.journal >= 0 && !write_down(birth)) return void(birth.unwritten = "its start to the journal");
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setrlimit(RLIMIT_NOFILE, &birth.surroundings.files);
  if (!birth.order.fenced)
    ::prctl(PR_SET_PDEATHSIG, 0);  // without a launcher no other process would end it with its
                                   // lease
  ::execve(birth.image.program.c_str(), birth.image.arguments.data(), birth.image.environment.data());
}

void become(void* context) {
  Birth& birth = *static_cast<Birth*>(context);
  try_to_become(birth);
  birth.error = errno != 0 ? errno : EIO;
  ::_exit(127);
}

}  // namespace

Result<Started> start_process(const LaunchOrder& order, Started started, const Surroundings& surroundings) {
  const Result<Image> image = prepare(order, surroundings.mark);
  if (!image.ok()) return image.error();
  Birth birth = {order, *image, surroundings, ::getpid(), false, std::move(started)};
  pid_t pid = surroundings.cgroups == CgroupVersion::v2 ? spawn(birth.started.cgroup, become, &birth) : -1;
  if (pid < 0) {
    birth.join = !birth.started.cgroup.empty();
    pid = spawn("", become, &birth);
  }
  if (pid < 0) return cannot_start(errno);
  if (birth.error == 0) return std::move(birth.started);
  ::waitpid(pid, nullptr, 0);
  return birth.unwritten ? cannot_write(birth.unwritten, birth.error) : cannot_start(birth.error);
}

}  // namespace sl::agent
