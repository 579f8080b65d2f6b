// schedulearn-init run OUTPUT WORKDIR DEVICE REQUIRED COMMAND...: the first process of a container (src/container/run.h). Linked
// statically, so that it runs in every image. Starts the job's command, writes its output where that of plain processes
// goes, passes on signals, waits for processes that lost their parent, and writes down how the job ended:
//
//   begun | exit CODE | signal NUMBER | failed MESSAGE | no_device
//   oom_kills COUNT, memory_peak BYTES     of the container, as far as the kernel tells
//
// WORKDIR empty: where it is. DEVICE: that the engine must have put here, since some leave out GPUs without a word; empty:
// none. REQUIRED: a program that must exist besides the command; empty: none.
// At /.schedulearn/terminal, if that is there, it asks for the job's terminal.
// schedulearn-init shell COMMAND...: a command beside the job, with its secrets.
// schedulearn-init ranks MEMBERS COMMAND..., schedulearn-init mpi ...: see ranks.h and mpi.h.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "agent/mpi.h"
#include "agent/programs.h"
#include "agent/ranks.h"

extern char** environ;

namespace {

using namespace sl;

constexpr const char *lock_file = "/.schedulearn/lock", *end_file = "/.schedulearn/end",
                     *terminal_file = "/.schedulearn/terminal";
constexpr int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::string first_bytes(const char* path) {
  char text[4096];
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : ::read(file, text, sizeof text);
  if (file >= 0) ::close(file);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

std::string whole(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  std::string text;
  char piece[4096];
  for (ssize_t n; file >= 0 && (n = ::read(file, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  if (file >= 0) ::close(file);
  return text;
}

// "7" of "low 0\noom_kill 7\n"
std::string figure_of(const std::string& text, const std::string& name) {
  const std::size_t at = ("\n" + text).find("\n" + name + " ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string memory_lines() {
  std::string kills = figure_of(first_bytes("/sys/fs/cgroup/memory.events"), "oom_kill");
  if (kills.empty()) kills = figure_of(first_bytes("/sys/fs/cgroup/memory/memory.oom_control"), "oom_kill");
  std::string peak = first_bytes("/sys/fs/cgroup/memory.peak");
  if (peak.empty()) peak = first_bytes("/sys/fs/cgroup/memory/memory.max_usage_in_bytes");
  peak = peak.substr(0, peak.find('\n'));
  return (kills.empty() ? "" : "oom_kills " + kills + "\n") + (peak.empty() ? "" : "memory_peak " + peak + "\n");
}

bool write_to_end_file(const std::string& text) {
  const int file = ::open(end_file, O_WRONLY | O_TRUNC | O_CLOEXEC);
  const bool is_written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) ::close(file);
  return is_written;
}

void write_end(const std::string& how) { write_to_end_file(how + "\n" + memory_lines()); }

// The program outside that runs this container holds the lock. If it is gone, so is the attempt.
bool is_wanted() {
  const int file = ::open(lock_file, O_RDONLY | O_CLOEXEC);
  const bool is_held = file >= 0 && ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (file >= 0) ::close(file);
  return is_held;
}

// It writes there when the job may begin: whoever freezes or ends the attempt reaches this process by then.
bool may_begin() {
  constexpr useconds_t first_pause_us = 500, pause_max_us = 20'000;
  for (useconds_t pause = first_pause_us; is_wanted(); pause = std::min(pause * 2, pause_max_us)) {
    if (!first_bytes(lock_file).empty()) return true;
    ::usleep(pause);
  }
  return false;
}

bool open_streams(const char* output) {
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(output, O_WRONLY | O_APPEND | O_CLOEXEC);
  return out >= 0 && ::dup2(input, 0) >= 0 && ::dup2(out, 1) >= 0 && ::dup2(out, 2) >= 0;
}

// -1: it has none.
int receive_terminal() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, terminal_file, sizeof address.sun_path - 1);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char byte = 0;
  iovec bytes = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  int terminal = -1;
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::recvmsg(connection, &message, MSG_CMSG_CLOEXEC) > 0) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(&terminal, CMSG_DATA(header), sizeof terminal);
  }
  ::close(connection);
  return terminal;
}

[[noreturn]] void become(const std::string& program, int terminal, char** command) {
  ::setsid();
  for (int stream = 0; terminal >= 0 && stream <= 2; ++stream) ::dup2(terminal, stream);
  if (terminal >= 0) ::ioctl(terminal, TIOCSCTTY, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program.c_str(), command, environ);
  write_end(std::string("failed cannot start it: ") + std::strerror(errno));
  ::_exit(127);
}

// Waits for the job's first process. Everything else ends with this process.
int watch(pid_t job, const sigset_t& signals) {
  for (;;) {
    siginfo_t info{};
    if (::sigwaitinfo(&signals, &info) < 0) continue;
    if (info.si_signo != SIGCHLD) {
      if (::kill(-job, info.si_signo) != 0) ::kill(job, info.si_signo);  // it has no group of its own yet
      continue;
    }
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended == job) return status;
    }
  }
}

int end_of(int status) {
  if (WIFSIGNALED(status)) {
    write_end("signal " + std::to_string(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
  }
  if (WEXITSTATUS(status) != 127 || !first_bytes(end_file).starts_with("failed"))
    write_end("exit " + std::to_string(WEXITSTATUS(status)));
  return WEXITSTATUS(status);
}

int fail(const std::string& message) {
  write_end("failed " + message);
  return 127;
}

// Secrets that are to be variables: "WANDB_API_KEY=wandb,TOKEN=hub" names their files. False: one cannot be read.
bool take_secrets() {
  const char *uses = std::getenv("SCHEDULEARN_SECRET_VARIABLES"), *folder = std::getenv("SCHEDULEARN_SECRETS_DIR");
  std::string rest = uses && folder ? uses : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size()), equals = rest.find('=');
    const std::string path = std::string(folder) + "/" + rest.substr(equals + 1, end - equals - 1);
    if (equals >= end || ::access(path.c_str(), R_OK) != 0) return false;
    ::setenv(rest.substr(0, equals).c_str(), whole(path.c_str()).c_str(), 1);
    rest.erase(0, end + 1);
  }
  ::unsetenv("SCHEDULEARN_SECRET_VARIABLES");
  return true;
}

// Images often have no bash.
void use_shell_of_image(char** command) {
  static char sh[] = "/bin/sh";
  if (command[0] == std::string_view("/bin/bash") && ::access("/bin/bash", X_OK) != 0) command[0] = sh;
}

int run(const char* output, const std::string& workdir, const std::string& device, const std::string& required,
        char** command) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int number : passed_on) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  if (!is_wanted() || !first_bytes(end_file).empty()) return 125;  // or it has run before: somebody starts it by hand
  if (!open_streams(output)) return fail(std::string("cannot write its output: ") + std::strerror(errno));
  if (!device.empty() && ::access(device.c_str(), F_OK) != 0) {
    write_end("no_device");
    return 127;
  }
  if (!workdir.empty() && ::chdir(workdir.c_str()) != 0) return fail("no such working directory: " + workdir);
  use_shell_of_image(command);
  char here[4096];
  if (!::getcwd(here, sizeof here)) return fail("there is no working directory");
  ::setenv("PWD", here, 1);
  if (!take_secrets()) return fail("cannot read its secrets");
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  const Result<std::string> program = agent::check_program(command[0], required, here, environment);
  if (!program.ok()) return fail(program.error().message + " in the image");
  if (!may_begin() || !write_to_end_file("begun\n")) return 125;
  const bool has_terminal = ::access(terminal_file, F_OK) == 0;
  const int terminal = has_terminal ? receive_terminal() : -1;
  if (has_terminal && terminal < 0) return fail("its terminal cannot be had");
  const pid_t job = ::fork();
  if (job == 0) become(*program, terminal, command);
  if (job < 0) return fail(std::string("cannot start it: ") + std::strerror(errno));
  return end_of(watch(job, signals));
}

}  // namespace

int main(int argc, char** argv) {
  const bool starts_command = argc > 3 && (argv[1] == std::string_view("ranks") ||
                                           (argv[1] == std::string_view("mpi") && argv[2] == std::string_view("rank")));
  if (starts_command) use_shell_of_image(argv + 3);
  if (argc > 3 && argv[1] == std::string_view("ranks"))
    return sl::agent::run_ranks(sl::agent::parse_members(argv[2]), argv + 3);
  if (argc > 2 && argv[1] == std::string_view("shell")) {
    take_secrets();  // its files may be gone with the job
    ::execvp(argv[2], argv + 2);
    std::fprintf(stderr, "%s: %s\n", argv[2], std::strerror(errno));
    return 127;
  }
  if (argc > 2 && argv[1] == std::string_view("mpi")) return sl::agent::run_mpi(argv + 2);
  if (argc < 7 || argv[1] != std::string_view("run")) return 2;
  return run(argv[2], argv[3], argv[4], argv[5], argv + 6);
}
