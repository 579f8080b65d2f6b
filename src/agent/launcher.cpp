#include "agent/launcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <utility>

namespace sl::agent {
namespace {

std::int64_t now_us() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000;
}

// Writes a small file so that it is there whole or not at all, also after a power cut.
bool write_durably(const std::string& dir, const char* name, const std::string& text) {
  const std::string path = dir + "/" + name, temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fdatasync(fd) == 0;
  ::close(fd);
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) return false;
  const int folder = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) ::fsync(folder), ::close(folder);
  return true;
}

std::optional<Fields> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  Fields lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Field 22 of /proc/PID/stat: when the process began, in ticks since boot. Empty when there is no such process.
std::string start_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream rest(text.substr(name_end + 2));
  std::string field;
  for (int i = 3; i <= 22 && rest >> field; ++i) {
    if (i == 3 && field == "Z") return "";  // a zombie has ended
  }
  return field;
}

std::string variable(const Fields& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.compare(0, name.size(), name) == 0 && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return "";
}

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Where a command is, by the job's own PATH and working directory; empty when it is nowhere.
std::string find_program(const std::string& command, const std::string& cwd, const Fields& environment) {
  if (command.find('/') != std::string::npos) {
    const std::string path = command[0] == '/' ? command : cwd + "/" + command;
    return is_program(path) ? path : "";
  }
  std::istringstream folders(variable(environment, "PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? cwd : folder) + "/" + command;
    if (is_program(path)) return path;
  }
  return "";
}

std::vector<char*> pointers(const Fields& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Its own session and process group, default signals, no input, output to the file. Returns errno, 0 when it runs.
int spawn(const std::string& program, const Fields& arguments, const Fields& environment, const std::string& cwd,
          const std::string& output, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawn_file_actions_addchdir_np(&files, cwd.c_str());
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  const int error =
      posix_spawn(pid, program.c_str(), &files, &attributes, pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

std::string exit_text(const LauncherState& s) {
  return std::to_string(s.ended_us) + "\n" + (s.exit_code ? std::to_string(*s.exit_code) : "") + "\n" +
         (s.signal ? std::to_string(*s.signal) : "") + "\n" + s.failure_kind + "\n" + s.failure_message + "\n" +
         s.gpus + "\n";
}

}  // namespace

bool Launcher::open() {
  ::mkdir((dir_ + "/attempts").c_str(), 0700);
  const int lock = ::open((dir_ + "/launcher.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // Held until the process ends. A predecessor that was just killed may take a moment to let go of it.
  bool locked = false;
  for (int tries = 0; lock >= 0 && !locked && tries < 200; ++tries) {
    locked = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (!locked) ::usleep(10'000);
  }
  if (!locked) return false;
  // Out of the working directory and the terminal of whoever started the agent.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&mask, number);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signals_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "launcher.sock";  // relative: a data directory's path may be longer than a socket's name
  if (::chdir(dir_.c_str()) != 0) return false;
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  ::unlink(name.c_str());
  const mode_t before = ::umask(0077);
  const bool bound = ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::umask(before);
  return bound && ::listen(listener_, 8) == 0;
}

int Launcher::run() {
  if (!open()) return 3;
  recover();
  while (true) {
    serve();
    bool running = false;
    for (const auto& [key, attempt] : attempts_) running = running || attempt.state.state == "running";
    if (shutting_down_ && !running) return 0;
  }
}

void Launcher::recover() {
  DIR* folder = ::opendir((dir_ + "/attempts").c_str());
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.') recover_attempt(entry->d_name);
  }
  ::closedir(folder);
}

void Launcher::recover_attempt(const std::string& key) {
  const std::string dir = attempt_dir(key);
  if (exists(dir + "/forgotten")) return;
  Attempt attempt;
  LauncherState& state = attempt.state;
  state.key = key;
  std::string ticks;
  if (const auto lines = read_lines(dir + "/started"); lines && lines->size() >= 4) {
    state.pid = std::atoll((*lines)[0].c_str());
    ticks = (*lines)[1];
    state.started_us = std::atoll((*lines)[2].c_str());
    state.gpus = (*lines)[3];
  }
  if (const auto lines = read_lines(dir + "/exit"); lines && lines->size() >= 6) {
    state.state = "exited";
    state.ended_us = std::atoll((*lines)[0].c_str());
    if (!(*lines)[1].empty()) state.exit_code = std::atoi((*lines)[1].c_str());
    if (!(*lines)[2].empty()) state.signal = std::atoi((*lines)[2].c_str());
    state.failure_kind = (*lines)[3], state.failure_message = (*lines)[4], state.gpus = (*lines)[5];
    attempts_.emplace(key, std::move(attempt));
    return;
  }
  if (state.started_us == 0) return;  // it never began
  state.state = "running";
  if (!ticks.empty() && start_ticks(static_cast<pid_t>(state.pid)) == ticks)
    attempt.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, state.pid, 0));
  Attempt& kept = attempts_.emplace(key, std::move(attempt)).first->second;
  if (kept.pidfd < 0) ended(kept, 0, false);
}

void Launcher::serve() {
  std::vector<pollfd> waits = {{signals_, POLLIN, 0}, {listener_, POLLIN, 0}};
  if (client_ >= 0) waits.push_back({client_, POLLIN, 0});
  for (const auto& [key, attempt] : attempts_) {
    if (attempt.pidfd >= 0) waits.push_back({attempt.pidfd, POLLIN, 0});
  }
  if (::poll(waits.data(), waits.size(), -1) < 0) return;
  if ((waits[0].revents & POLLIN) != 0) {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) > 0) {
    }
    reap();
  }
  for (auto& [key, attempt] : attempts_) {
    if (attempt.pidfd < 0) continue;
    pollfd one = {attempt.pidfd, POLLIN, 0};
    if (::poll(&one, 1, 0) > 0) ended(attempt, 0, false);
  }
  if (client_ >= 0 && waits.size() > 2 && waits[2].fd == client_ && waits[2].revents != 0) read_client();
  if ((waits[1].revents & POLLIN) != 0) accept_client();
}

// The newest agent is the one that counts; another user's process is turned away.
void Launcher::accept_client() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != ::getuid() && peer.uid != 0)) {
    ::close(fd);
    return;
  }
  if (client_ >= 0) ::close(client_);
  client_ = fd;
  reader_ = {};
}

void Launcher::read_client() {
  char buffer[65536];
  const ssize_t n = ::recv(client_, buffer, sizeof buffer, 0);
  if (n > 0) reader_.add(std::string_view(buffer, static_cast<std::size_t>(n)));
  while (const auto order = reader_.next()) obey(*order);
  if (n <= 0 || reader_.broken()) {
    ::close(client_);
    client_ = -1;
  }
}

void Launcher::obey(const Fields& order) {
  if (order.empty()) return;
  if (order[0] == "start" && order.size() >= 7) return start(order);
  if (order[0] == "signal" && order.size() == 3) return send_signal(order[1], std::atoi(order[2].c_str()));
  if (order[0] == "shutdown") shutting_down_ = true;
  if (order[0] == "forget" && order.size() == 2 && attempts_.count(order[1]) != 0 &&
      attempts_[order[1]].state.state == "exited") {
    write_durably(attempt_dir(order[1]), "forgotten", "");
    attempts_.erase(order[1]);
  }
  if (order[0] == "list") {
    for (const auto& [key, attempt] : attempts_) tell(attempt.state);
    const std::string text = frame({"listed"});
    if (client_ >= 0) (void)!::send(client_, text.data(), text.size(), MSG_NOSIGNAL);
  }
}

void Launcher::start(const Fields& order) {
  const std::string& key = order[1];
  if (const auto known = attempts_.find(key); known != attempts_.end())
    return tell(known->second.state);  // the order came twice
  const std::string dir = attempt_dir(key);
  if (key.find('/') != std::string::npos || exists(dir + "/forgotten")) return;
  const std::string &cwd = order[2], &output = order[3], &required = order[4];
  LauncherState& state = attempts_[key].state;
  state.key = key;
  state.gpus = order[5];
  const auto argument_count = static_cast<std::size_t>(std::atoi(order[6].c_str()));
  ::mkdir(dir.c_str(), 0700);
  if (argument_count == 0 || order.size() < 7 + argument_count)
    return fail_start(state, "the order to start it is broken");
  const Fields arguments(order.begin() + 7, order.begin() + 7 + static_cast<std::ptrdiff_t>(argument_count));
  const Fields environment(order.begin() + 7 + static_cast<std::ptrdiff_t>(argument_count), order.end());
  struct stat info {};
  if (::stat(cwd.c_str(), &info) != 0) return fail_start(state, "no such working directory: " + cwd);
  if (!S_ISDIR(info.st_mode)) return fail_start(state, "the working directory is not a directory: " + cwd);
  if (!required.empty() && find_program(required, cwd, environment).empty())
    return fail_start(state, "no such command: " + required);
  const std::string program = find_program(arguments[0], cwd, environment);
  if (program.empty()) return fail_start(state, "no such command: " + arguments[0]);
  pid_t pid = 0;
  if (const int error = spawn(program, arguments, environment, cwd, output, &pid); error != 0)
    return fail_start(state, "cannot start " + arguments[0] + ": " + std::strerror(error));
  state.state = "running";
  state.pid = pid;
  state.started_us = now_us();
  write_durably(dir, "started",
                std::to_string(pid) + "\n" + start_ticks(pid) + "\n" + std::to_string(state.started_us) + "\n" +
                    state.gpus + "\n");
  tell(state);
}

void Launcher::fail_start(LauncherState& state, const std::string& why) {
  state.state = "exited";
  state.ended_us = now_us();
  state.failure_kind = "setup";
  state.failure_message = why;
  write_durably(attempt_dir(state.key), "exit", exit_text(state));
  tell(state);
}

void Launcher::send_signal(const std::string& key, int number) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.state.state != "running" || number <= 0 || number > 64) return;
  ::kill(static_cast<pid_t>(-at->second.state.pid), number);
  if (number != SIGKILL) ::kill(static_cast<pid_t>(-at->second.state.pid), SIGCONT);  // a stopped process sees it too
}

void Launcher::reap() {
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    for (auto& [key, attempt] : attempts_) {
      if (attempt.state.pid == pid && attempt.state.state == "running" && attempt.pidfd < 0)
        ended(attempt, status, true);
    }
  }
}

// Whatever the job left behind in its process group ends with it.
void Launcher::ended(Attempt& attempt, int status, bool known) {
  LauncherState& state = attempt.state;
  if (known || attempt.pidfd >= 0) ::kill(static_cast<pid_t>(-state.pid), SIGKILL);
  if (attempt.pidfd >= 0) ::close(std::exchange(attempt.pidfd, -1));
  state.state = "exited";
  state.ended_us = now_us();
  if (!known) {
    state.failure_kind = "lost";
    state.failure_message = "the launcher was killed while the job ran, so its exit code is not known";
  } else if (WIFSIGNALED(status)) {
    state.signal = WTERMSIG(status);
  } else {
    state.exit_code = WEXITSTATUS(status);
  }
  write_durably(attempt_dir(state.key), "exit", exit_text(state));
  tell(state);
}

void Launcher::tell(const LauncherState& state) {
  if (client_ < 0) return;
  const std::string text = frame(to_fields(state));
  // The agent reads all the time; when it does not, it asks again for the list after it has reconnected.
  if (::send(client_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    ::shutdown(client_, SHUT_RDWR);
}

}  // namespace sl::agent
