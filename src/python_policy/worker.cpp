#include "python_policy/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "python_policy/texts.h"
#include "wire/visible.h"

namespace sl::python_policy {
namespace {

constexpr std::size_t answer_max = 16 << 20;
constexpr int channel_fd = 3, trace_fd = 4, host_fd = 5;  // as in policy_host.py
constexpr uid_t nobody = 65534;
constexpr const char* bootstrap = "import os;exec(compile(os.pread(5,1<<20,0),'policy_host.py','exec'))";

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* find_python() {
  for (const char* path : {"/usr/bin/python3", "/usr/local/bin/python3"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

void limit(__rlimit_resource what, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(what, &both);
}

// ---- in the child, between fork and exec: system calls only ----

void place_descriptors(int channel, int trace, int host) {
  const int high_channel = ::fcntl(channel, F_DUPFD, 16), high_trace = ::fcntl(trace, F_DUPFD, 16);
  const int high_host = ::fcntl(host, F_DUPFD, 16);
  ::dup2(high_channel, channel_fd);
  ::dup2(high_trace, trace_fd);
  ::dup2(high_host, host_fd);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::close_range(host_fd + 1, ~0U, 0);
}

void confine(const WorkerSettings& settings) {
  limit(RLIMIT_AS, settings.memory_max_bytes);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 64);
  if (!settings.sandbox) return;
  if (::unshare(CLONE_NEWNET) != 0) ::unshare(CLONE_NEWUSER | CLONE_NEWNET);  // if neither is allowed it runs anyway
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(nobody, nobody, nobody) != 0 ||
                           ::setresuid(nobody, nobody, nobody) != 0)) {
    ::_exit(126);
  }
  limit(RLIMIT_NPROC, 0);
}

[[noreturn]] void become_python(const WorkerSettings& settings, const char* python, pid_t parent, int channel,
                                int trace, int host) {
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  place_descriptors(channel, trace, host);
  confine(settings);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // last, since changing the user resets it
  if (::getppid() != parent) ::_exit(126);
  // A fixed hash seed, so that sets have a fixed order; nothing from our environment.
  const char* const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "PYTHONHASHSEED=0",
                                     "PYTHONDONTWRITEBYTECODE=1", nullptr};
  const char* const arguments[] = {"python3", "-S", "-s", "-c", bootstrap, settings.file.c_str(), nullptr};
  ::execve(python, const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
  ::_exit(127);
}

struct Descriptors {  // closes those that were not handed over
  int channel[2] = {-1, -1}, trace[2] = {-1, -1}, host = -1;
  ~Descriptors() {
    for (const int fd : {channel[0], channel[1], trace[0], trace[1], host}) {
      if (fd >= 0) ::close(fd);
    }
  }
  bool open() {
    const std::size_t size = std::strlen(policy_host_text);
    host = ::memfd_create("policy_host", MFD_CLOEXEC);
    return host >= 0 && ::write(host, policy_host_text, size) == static_cast<ssize_t>(size) &&
           ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) == 0 &&
           ::pipe2(trace, O_CLOEXEC | O_NONBLOCK) == 0;
  }
};

}  // namespace

Error to_error(const Fault& fault, const std::string& file) {
  std::string where = file;
  if (fault.line > 0) where += fmt::format(":{}", fault.line);
  if (!fault.function.empty()) where += fmt::format(": in {}", fault.function);
  return invalid("policy-" + fault.kind, fmt::format("{}: {}", where, wire::visible_name(fault.message)))
      .at(fault.line > 0 ? fmt::format("line {}", fault.line) : "");
}

Result<std::unique_ptr<Worker>> Worker::start(WorkerSettings settings) {
  const char* python = find_python();
  if (!python)
    return unavailable("no-python", "there is no /usr/bin/python3 to run " + settings.file + " with")
        .hint("apt-get install python3");
  Descriptors made;
  if (!made.open()) return internal_error("no-process", std::string("cannot talk to Python: ") + std::strerror(errno));
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) become_python(settings, python, parent, made.channel[1], made.trace[1], made.host);
  if (pid < 0) return internal_error("no-process", std::string("cannot start Python: ") + std::strerror(errno));
  ::setpgid(pid, pid);  // parent and child both call it; whichever comes first wins
  return std::unique_ptr<Worker>(
      new Worker(std::move(settings), pid, std::exchange(made.channel[0], -1), std::exchange(made.trace[0], -1)));
}

Worker::Worker(WorkerSettings settings, pid_t pid, int channel, int trace)
    : settings_(std::move(settings)), pid_(pid), channel_(channel), trace_(trace) {}

Worker::~Worker() {
  end();
  ::close(channel_);
  ::close(trace_);
}

bool Worker::exchange(std::string_view message, Duration deadline, std::string& answer, Fault& fault) {
  const std::int64_t until = now_us() + deadline.us;
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string frame;
  for (int byte = 0; byte < 4; ++byte) frame.push_back(static_cast<char>(size >> (8 * byte)));
  frame += message;
  std::string_view rest = frame;
  answer.clear();
  while (true) {
    const bool sending = !rest.empty();
    const Step step = sending ? send(rest) : receive(answer);
    if (step == Step::ended) return fault = ended(), false;
    if (step == Step::garbage) return fault = garbage(), false;
    if (step == Step::done && !sending) break;
    if (step == Step::again && !wait_for(sending ? POLLOUT : POLLIN, until)) return fault = too_slow(), false;
  }
  answer.erase(0, 4);
  return true;
}

Worker::Step Worker::send(std::string_view& rest) const {
  const ssize_t sent = ::send(channel_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Step::again : Step::ended;
  rest.remove_prefix(static_cast<std::size_t>(sent));
  return Step::done;
}

// Appends what has arrived; done once the frame is complete. At most one frame is expected.
Worker::Step Worker::receive(std::string& text) const {
  char buffer[65536];
  const ssize_t got = ::recv(channel_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Step::again : Step::ended;
  if (got == 0) return Step::ended;
  text.append(buffer, static_cast<std::size_t>(got));
  if (text.size() < 4) return Step::again;
  std::uint32_t size = 0;
  for (std::size_t byte = 0; byte < 4; ++byte)
    size |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[byte])) << (8 * byte);
  if (size > answer_max || text.size() > size + 4ULL) return Step::garbage;
  return text.size() == size + 4ULL ? Step::done : Step::again;
}

bool Worker::wait_for(short events, std::int64_t until_us) const {
  const std::int64_t left = until_us - now_us();
  if (left <= 0) return false;
  pollfd one{channel_, events, 0};
  ::poll(&one, 1, static_cast<int>((left + 999) / 1000));
  return true;
}

Fault Worker::too_slow() {
  ::kill(pid_, SIGUSR1);  // makes the interpreter write its stack, whatever it is doing
  Fault fault{"too-slow", "", 0, ""};
  locate(fault, 20);
  end();
  return fault;
}

Fault Worker::ended() {
  const int status = end();
  Fault fault{"crashed", "", 0, ""};
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
    fault.message = fmt::format("Python died of signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    fault.message = fmt::format("Python ended with status {}", WEXITSTATUS(status));
  } else {
    fault.message = "Python ended before it had answered";
  }
  locate(fault, 0);
  return fault;
}

Fault Worker::garbage() {
  end();
  return {"garbage", "its process wrote something that is not an answer", 0, ""};
}

// Finds the first line like `  File "mine.py", line 12 in order`: the author's innermost frame.
void Worker::locate(Fault& fault, int wait_ms) const {
  std::string text;
  char buffer[4096];
  pollfd one{trace_, POLLIN, 0};
  const std::string begin = fmt::format("File \"{}\", line ", settings_.file);
  while (::poll(&one, 1, wait_ms) > 0) {
    const ssize_t got = ::read(trace_, buffer, sizeof buffer);
    if (got <= 0 || text.size() > 65536) break;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.find(begin) != std::string::npos && text.back() == '\n') break;
  }
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return;
  fault.line = std::atoi(text.c_str() + at + begin.size());
  const std::size_t in = text.find(" in ", at), stop = text.find('\n', at);
  if (in < stop && stop != std::string::npos && text.compare(in + 4, stop - in - 4, "<module>") != 0)
    fault.function = text.substr(in + 4, stop - in - 4);
}

// A dying process closes its end before it can be reaped; its own exit status says more than our kill.
int Worker::end() {
  if (pid_ <= 0) return 0;
  siginfo_t info{};
  for (int tries = 0; tries < 20 && is_closed(); ++tries) {
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid_) break;
    ::poll(nullptr, 0, 1);
  }
  ::kill(-pid_, SIGKILL);  // with everything it may have started
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

bool Worker::is_closed() const {
  pollfd one{channel_, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & POLLHUP) != 0;
}

}  // namespace sl::python_policy
