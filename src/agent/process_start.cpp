#include "agent/process_start.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
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

constexpr const char* journal_text = "its start to the journal";

// Output and journal are the server's in any case.
Error cannot_write(const std::string& what, int error) {
  return unavailable("server_setup", "cannot write " + what + ": " + std::strerror(error));
}

// Everything that exec needs, prepared before fork.
struct Image {
  std::string program;
  Fields variables;
  std::vector<char*> arguments, environment;
  cpu_set_t cpus{};       // that it is to run on
  bool has_cpus = false;  // which no control group sees to
};

Result<Image> prepare(const LaunchOrder& order, const Started& started, const std::string& mark) {
  Result<std::string> program = check_program(order.arguments[0], order.required, order.workdir, order.environment);
  if (!program.ok()) return program.error();
  Image image;
  image.program = std::move(*program);
  image.variables = order.environment;
  image.variables.push_back(std::string(tree_variable) + "=" + mark);
  image.arguments = pointers(order.arguments);
  image.environment = pointers(image.variables);
  for (const int cpu : parse_cpu_list(order.limits.cpu_set)) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &image.cpus), image.has_cpus = !started.limits.contains("cpuset");
  }
  return image;
}

// Written by the new process in memory that the launcher sees.
struct News {
  std::int64_t pid = 0, ticks = 0, wall_us = 0;  // as in Started
  bool has_left_group = false;                   // it could not join it
  const char* unwritten = nullptr;               // what of ours could not be written; null: that is not the reason
  int error = 0;                                 // why it has not become its program
};

struct Birth {
  const LaunchOrder& order;
  const Image& image;
  const Surroundings& surroundings;
  pid_t launcher = 0;
  bool join = false;  // the group must be joined
  const Started& started;
  News* news = nullptr;
};

// Memory of its own, that a process which is started apart writes to as well.
class SharedNews {
 public:
  SharedNews() : at_(::mmap(nullptr, sizeof(News), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ != MAP_FAILED) new (at_) News();
  }
  ~SharedNews() {
    if (at_ != MAP_FAILED) ::munmap(at_, sizeof(News));
  }
  SharedNews(const SharedNews&) = delete;
  SharedNews& operator=(const SharedNews&) = delete;
  News* get() const { return at_ == MAP_FAILED ? nullptr : static_cast<News*>(at_); }

 private:
  void* at_;
};

bool write_down(const Birth& birth) {
  const auto self = find_process(::getpid());
  Started started = birth.started;
  started.pid = birth.news->pid = ::getpid();
  started.ticks = birth.news->ticks = self ? self->started_ticks : 0;
  started.wall_us = birth.news->wall_us = wall_now().us;
  if (birth.news->has_left_group) started.cgroup.clear();
  const std::string line = to_line(started);
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
void try_to_become(const Birth& birth) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != birth.launcher) ::_exit(127);
  ::setsid();
  if (birth.join && !join_cgroup(birth.started.cgroup)) birth.news->has_left_group = true;
  for (const auto& [controller, group] : birth.started.limits) {
    if (group != birth.started.cgroup && !join_cgroup(group)) return void(birth.news->unwritten = group.c_str());
  }
  if (birth.image.has_cpus) ::sched_setaffinity(0, sizeof birth.image.cpus, &birth.image.cpus);
  if (!open_streams(birth.order)) return void(birth.news->unwritten = "its output");
  if (::chdir(birth.order.workdir.c_str()) != 0) return;
  if (birth.surroundings.journal >= 0 && !write_down(birth)) return void(birth.news->unwritten = journal_text);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setrlimit(RLIMIT_NOFILE, &birth.surroundings.files);
  if (!birth.order.fenced)
    ::prctl(PR_SET_PDEATHSIG, 0);  // without a launcher no other process would end it with its
                                   // lease
  ::execve(birth.image.program.c_str(), birth.image.arguments.data(), birth.image.environment.data());
}

void wait_for_close(const int (&ends)[2]) {
  ::close(ends[1]);
  char nothing = 0;
  while (::read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
}

void become(void* context) {
  const Birth& birth = *static_cast<Birth*>(context);
  try_to_become(birth);
  birth.news->error = errno != 0 ? errno : EIO;
  ::_exit(127);
}

}  // namespace

Error cannot_record(int error) { return cannot_write(journal_text, error); }

Result<Started> start_process(const LaunchOrder& order, Started started, const Surroundings& surroundings) {
  const Result<Image> image = prepare(order, started, surroundings.mark);
  if (!image.ok()) return image.error();
  static const SharedNews news;  // each new process has been waited for when the next one comes
  if (!news.get()) return cannot_start(ENOMEM);
  *news.get() = News();
  Birth birth = {order, *image, surroundings, ::getpid(), false, started, news.get()};
  const bool apart = started.limits.contains("memory");
  int running[2] = {-1, -1};  // closed when the new process has become its program, or has ended
  if (apart && ::pipe2(running, O_CLOEXEC) != 0) return cannot_start(errno);
  pid_t pid = surroundings.cgroups == CgroupVersion::v2 ? spawn(started.cgroup, become, &birth, apart) : -1;
  if (pid < 0) {
    birth.join = !started.cgroup.empty();
    pid = spawn("", become, &birth, apart);
  }
  const int error = errno;
  if (apart) wait_for_close(running);
  if (pid < 0) return cannot_start(error);
  const bool is_recorded = surroundings.journal < 0 || news.get()->pid != 0;
  if (news.get()->error == 0 && is_recorded) {
    if (news.get()->has_left_group) started.cgroup.clear();
    if (news.get()->pid != 0)
      started.pid = news.get()->pid, started.ticks = news.get()->ticks, started.wall_us = news.get()->wall_us;
    return started;
  }
  ::waitpid(pid, nullptr, 0);
  if (!is_recorded && news.get()->error == 0) return invalid("setup", "it was ended before its program ran");
  return news.get()->unwritten ? cannot_write(news.get()->unwritten, news.get()->error)
                               : cannot_start(news.get()->error);
}

}  // namespace sl::agent
