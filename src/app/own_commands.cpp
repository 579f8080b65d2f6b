#include "app/own_commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "agent/spawn.h"
#include "wire/error.h"

namespace sl::app {
namespace {

using std::chrono::steady_clock;

constexpr int look_every_ms = 200;
constexpr int least_urgent = 19;
constexpr std::size_t printed_max = 16 << 20;  // more is not kept

// A sanitizer reserves far more memory than it uses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false;
#else
constexpr bool limits_memory = true;
#endif

// All that the new process needs: it shares our memory until it becomes the command, and may not allocate any.
struct Start {
  char* const* arguments;
  char* const* environment;
  const char* folder;
  const controller::CommandLimits* limits;
  int output, errors;
};

void limit(__rlimit_resource resource, std::int64_t most) {
  const rlimit value{static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  ::setrlimit(resource, &value);
}

void become_command(void* context) {
  const Start& start = *static_cast<const Start*>(context);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpriority(PRIO_PROCESS, 0, least_urgent);
  if (limits_memory) limit(RLIMIT_AS, start.limits->memory_bytes);
  limit(RLIMIT_FSIZE, start.limits->file_bytes);
  limit(RLIMIT_CORE, 0);
  const int nothing = ::open("/dev/null", O_RDONLY);
  const bool is_ready = nothing >= 0 && ::dup2(nothing, 0) == 0 && ::dup2(start.output, 1) == 1 &&
                        ::dup2(start.errors, 2) == 2 && ::chdir(start.folder) == 0;
  ::syscall(SYS_close_range, 3, ~0U, 0);
  if (is_ready) ::execve("/proc/self/exe", start.arguments, start.environment);
  constexpr int cannot_run = 127;
  ::_exit(cannot_run);
}

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool is_open() const { return ends_[0] >= 0; }
  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() { ::close(std::exchange(ends_[1], -1)); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// False: nothing will come any more.
bool read_some(int fd, std::string& into) {
  std::array<char, 64 << 10> piece;
  const ssize_t n = ::read(fd, piece.data(), piece.size());
  if (n > 0 && into.size() < printed_max) into.append(piece.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

// Follows one process to its end.
class Following {
 public:
  Following(pid_t pid, Duration time, const std::function<bool(std::string_view)>& hear)
      : pid_(pid), until_(steady_clock::now() + std::chrono::microseconds(time.us)), hear_(hear) {}

  void read(int output, int errors) {
    std::array<pollfd, 2> ready = {pollfd{output, POLLIN, 0}, pollfd{errors, POLLIN, 0}};
    while (ready[0].fd >= 0 || ready[1].fd >= 0) {
      const int count = ::poll(ready.data(), ready.size(), look_every_ms);
      if (count > 0 && ready[0].revents != 0 && !read_some(output, printed_)) ready[0].fd = -1;
      if (count > 0 && ready[1].revents != 0 && !read_some(errors, errors_)) ready[1].fd = -1;
      if (!is_stopped_ && !tell_lines()) stop();
      if (!is_late_ && !is_stopped_ && steady_clock::now() >= until_) is_late_ = true, ::kill(pid_, SIGKILL);
    }
  }

  Result<std::string> end(const controller::CommandLimits& limits) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (is_stopped_) return conflict("not-running", "it was stopped");
    if (is_late_)
      return invalid("simulation-limit",
                     fmt::format("it took longer than the {:.0f} s that it may take", limits.time.to_seconds()));
    if (WIFSIGNALED(status))
      return invalid("simulation-limit",
                     fmt::format("it ended by signal {}; it may use {} MiB of memory and write files of {} MiB",
                                 WTERMSIG(status), limits.memory_bytes >> 20, limits.file_bytes >> 20));
    constexpr int cannot_run = 127;
    if (WEXITSTATUS(status) == cannot_run) return unavailable("cannot-run", "cannot run this program once more");
    if (WEXITSTATUS(status) != 0) return wire::error_from_text(errors_);
    return std::move(printed_);
  }

 private:
  bool tell_lines() {
    if (!hear_("")) return false;
    for (std::size_t end; (end = errors_.find('\n', told_)) != std::string::npos; told_ = end + 1)
      if (!hear_(std::string_view(errors_).substr(told_, end - told_))) return false;
    return true;
  }
  void stop() { is_stopped_ = true, ::kill(pid_, SIGKILL); }

  pid_t pid_;
  steady_clock::time_point until_;
  const std::function<bool(std::string_view)>& hear_;
  std::string printed_, errors_;
  std::size_t told_ = 0;  // of errors_
  bool is_stopped_ = false, is_late_ = false;
};

}  // namespace

Result<std::string> run_own_command(const std::vector<std::string>& arguments, const std::string& folder,
                                    const controller::CommandLimits& limits,
                                    const std::function<bool(std::string_view)>& hear) {
  Pipe output, errors;
  if (!output.is_open() || !errors.is_open())
    return unavailable("cannot-run", std::string("cannot make a pipe: ") + std::strerror(errno));
  std::vector<std::string> texts = {"schedulearn"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  // Nothing of the controller's: no address, no token, no settings of whoever started it.
  std::vector<std::string> variables = {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C.UTF-8"};
  std::vector<char*> words, environment;
  for (std::string& text : texts) words.push_back(text.data());
  for (std::string& text : variables) environment.push_back(text.data());
  words.push_back(nullptr), environment.push_back(nullptr);
  Start start{words.data(), environment.data(), folder.c_str(), &limits, output.writing(), errors.writing()};
  const pid_t pid = agent::spawn("", become_command, &start);
  if (pid < 0) return unavailable("cannot-run", std::string("cannot start a process: ") + std::strerror(errno));
  output.close_writing(), errors.close_writing();
  Following following(pid, limits.time, hear);
  following.read(output.reading(), errors.reading());
  return following.end(limits);
}

}  // namespace sl::app
