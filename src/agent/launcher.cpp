#include "agent/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <utility>

namespace sl::agent {
namespace {

constexpr std::size_t unsent_bytes_max = 64 << 20;
constexpr std::size_t journal_bytes_min = 8 << 20;  // below it compacting is not worth it

std::int64_t now_us() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000;
}

// What a lease is counted in: goes on while the machine sleeps, never jumps.
Instant boot_now() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return Instant{static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000};
}

// A small file that is there whole or not at all. Not synced: after a power cut nothing runs that it could tell of.
bool write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written && ::rename(temporary.c_str(), path.c_str()) == 0;
}

std::optional<Fields> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  Fields lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

constexpr std::int64_t us_per_tick = 10'000;  // the kernel tells start times in hundredths of a second

// When the process began, in ticks since boot (field 22 of /proc/PID/stat); -1 when there is none. A zombie has ended.
std::int64_t start_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream rest(text.substr(name_end + 2));
  std::string field;
  for (int i = 3; i <= 22 && rest >> field; ++i) {
    if (i == 3 && field == "Z") return -1;
  }
  return std::atoll(field.c_str());
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

// ---- the journal ----

struct Started {
  std::string key;
  std::int64_t pid = 0, ticks = 0, wall_us = 0;
  std::string gpus;
  bool fenced = false;
};

std::string start_line(const Started& s) {
  return "start\t" + s.key + "\t" + std::to_string(s.pid) + "\t" + std::to_string(s.ticks) + "\t" +
         std::to_string(s.wall_us) + "\t" + s.gpus + "\t" + (s.fenced ? "1" : "0") + "\n";
}

std::optional<Started> parse_start(const Fields& f) {
  if (f.size() != 7 || f[0] != "start") return std::nullopt;
  return Started{f[1], std::atoll(f[2].c_str()), std::atoll(f[3].c_str()), std::atoll(f[4].c_str()), f[5], f[6] == "1"};
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

std::string end_line(const LauncherState& s) {
  return "end\t" + s.key + "\t" + std::to_string(s.pid) + "\t" + std::to_string(s.started_us) + "\t" +
         std::to_string(s.ended_us) + "\t" + (s.exit_code ? std::to_string(*s.exit_code) : "") + "\t" +
         (s.signal ? std::to_string(*s.signal) : "") + "\t" + s.failure_kind + "\t" + one_line(s.failure_message) +
         "\t" + s.gpus + "\n";
}

Fields split(const std::string& line) {
  Fields fields;
  std::istringstream parts(line);
  for (std::string part; std::getline(parts, part, '\t');) fields.push_back(part);
  return fields;
}

std::optional<LauncherState> parse_end(Fields f) {
  if (f.size() < 9 || f[0] != "end") return std::nullopt;
  f.resize(10);
  const auto number = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(std::atoi(text.c_str()));
  };
  return LauncherState{f[1],
                       "exited",
                       std::atoll(f[2].c_str()),
                       std::atoll(f[3].c_str()),
                       std::atoll(f[4].c_str()),
                       number(f[5]),
                       number(f[6]),
                       f[7],
                       f[8],
                       f[9]};
}

// ---- starting a process ----

struct Image {  // all that exec needs, made before fork
  std::string program;
  std::vector<char*> arguments, environment;
};

// In the child, up to its program. It dies with the launcher until its start is on record, so that no process runs
// that nobody knows of. Never returns; what went wrong goes to `report`.
[[noreturn]] void become(const LaunchOrder& order, const Image& image, int journal, pid_t launcher, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto give_up = [&] {
    const int error = errno;
    (void)!::write(report, &error, sizeof error);
    ::_exit(127);
  };
  if (::getppid() != launcher) ::_exit(127);
  ::setsid();
  const std::string text =
      start_line({order.key, ::getpid(), boot_now().us / us_per_tick, now_us(), order.gpus, order.fenced});
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = ::open(order.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0 || ::dup2(input, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) give_up();
  if (::chdir(order.workdir.c_str()) != 0) give_up();
  if (::write(journal, text.data(), text.size()) != static_cast<ssize_t>(text.size())) give_up();
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!order.fenced) ::prctl(PR_SET_PDEATHSIG, 0);  // without a launcher nobody would end it with its lease
  ::execve(image.program.c_str(), image.arguments.data(), image.environment.data());
  give_up();
  ::_exit(127);
}

std::string boot_id() {
  const auto lines = read_lines("/proc/sys/kernel/random/boot_id");
  return lines && !lines->empty() ? lines->front() : "";
}

}  // namespace

// ---- starting up ----

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
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&mask, number);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signals_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  return listen();
}

bool Launcher::listen() {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "launcher.sock";  // relative: a data directory's path may be longer than a socket's name
  // Also out of the working directory of whoever started the agent.
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
  while (!logic_.is_done()) serve();
  return 0;
}

// ---- what a predecessor left ----

void Launcher::recover() {
  if (const auto lines = read_lines(dir_ + "/lease"); lines && lines->size() >= 2 && (*lines)[0] == boot_id())
    logic_.restore_lease(Instant{std::atoll((*lines)[1].c_str())});
  std::map<std::string, Started> started;
  std::map<std::string, LauncherState> ends;
  for (const std::string& line : read_lines(dir_ + "/journal").value_or(Fields{})) {
    const Fields fields = split(line);
    if (const auto start = parse_start(fields)) started[start->key] = *start;
    if (const auto end = parse_end(fields)) ends[end->key] = *end;
    if (fields.size() == 2 && fields[0] == "forget") started.erase(fields[1]), ends.erase(fields[1]);
  }
  for (const auto& [key, state] : ends) logic_.restore_ended(state);
  for (const auto& [key, start] : started) {
    started_[key] = start_line(start);
    if (ends.count(key) != 0) continue;
    LauncherState state;
    state.key = key, state.state = "running", state.gpus = start.gpus;
    state.pid = start.pid, state.started_us = start.wall_us;
    recover_started(state, start.ticks, start.fenced);
  }
  compact_journal();
  logic_.settle(boot_now());
}

// Started, and no end on record: it runs on, or it ended while no launcher watched.
void Launcher::recover_started(const LauncherState& state, std::int64_t ticks, bool fenced) {
  const auto pid = static_cast<pid_t>(state.pid);
  const bool alive = std::abs(start_ticks(pid) - ticks) <= 2;  // else the number is another's by now
  const int watched = alive ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (watched < 0) return logic_.adopt_gone(state);
  adopted_[state.pid] = watched;
  logic_.adopt(state, fenced);
}

// Only what somebody still has to hear of.
void Launcher::compact_journal() {
  std::string text;
  for (const auto& [key, line] : started_) text += line;
  for (const auto& [key, attempt] : logic_.attempts()) {
    if (attempt.state.state == "exited") text += end_line(attempt.state);
  }
  const std::string path = dir_ + "/journal";
  if (journal_ >= 0) ::fdatasync(journal_), ::close(journal_);
  const int fresh = ::open((path + ".new").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool whole = fresh >= 0 && ::write(fresh, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                     ::fdatasync(fresh) == 0;
  if (fresh >= 0) ::close(fresh);
  if (whole) ::rename((path + ".new").c_str(), path.c_str());  // else the long one goes on
  journal_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  journal_bytes_ = text.size();
  compact_at_ = std::max(journal_bytes_min, 2 * text.size());
}

// ---- the loop ----

void Launcher::serve() {
  std::vector<pollfd> waits = {{signals_, POLLIN, 0}, {listener_, POLLIN, 0}};
  if (client_ >= 0) waits.push_back({client_, static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  for (const auto& [pid, watched] : adopted_) waits.push_back({watched, POLLIN, 0});
  const Instant wake = logic_.next_wake();
  const std::int64_t wait_ms =
      wake.is_never() ? -1 : std::clamp<std::int64_t>((wake - boot_now()).us / 1'000 + 1, 0, 60'000);
  if (::poll(waits.data(), waits.size(), static_cast<int>(wait_ms)) < 0) return;
  if ((waits[0].revents & POLLIN) != 0) reap();
  for (std::size_t i = 2; i < waits.size(); ++i) {
    if (waits[i].revents != 0 && waits[i].fd != client_) adopted_ended(waits[i].fd);
  }
  if (client_ >= 0 && waits.size() > 2 && waits[2].fd == client_) {
    if ((waits[2].revents & POLLOUT) != 0) flush();
    if ((waits[2].revents & ~POLLOUT) != 0) read_client();
  }
  if ((waits[1].revents & POLLIN) != 0) accept_client();
  logic_.settle(boot_now());
  if (journal_bytes_ > compact_at_) compact_journal();
}

void Launcher::reap() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) > 0) {
  }
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (adopted_.count(pid) == 0) child_ended(pid, status);
  }
}

void Launcher::child_ended(pid_t pid, int status) {
  int error = 0;
  if (const auto report = reports_.find(pid); report != reports_.end()) {
    if (::read(report->second, &error, sizeof error) != sizeof error) error = 0;
    ::close(report->second);
    reports_.erase(report);
  }
  error == 0 ? logic_.on_ended(pid, status)
             : logic_.on_start_failed(pid, std::string("cannot start it: ") + std::strerror(error));
}

void Launcher::adopted_ended(int watched) {
  const auto at =
      std::find_if(adopted_.begin(), adopted_.end(), [&](const auto& one) { return one.second == watched; });
  if (at == adopted_.end()) return;
  const std::int64_t pid = at->first;
  ::close(watched);
  adopted_.erase(at);
  logic_.on_ended(pid, LauncherLogic::unknown_status);
}

// The newest agent is the one that counts; another user's process is turned away.
void Launcher::accept_client() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != ::getuid() && peer.uid != 0)) {
    ::close(fd);
    return;
  }
  drop_client();
  client_ = fd;
}

void Launcher::drop_client() {
  if (client_ >= 0) ::close(std::exchange(client_, -1));
  reader_ = {};
  unsent_.clear();
}

void Launcher::read_client() {
  char buffer[65536];
  const ssize_t n = ::recv(client_, buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) reader_.add(std::string_view(buffer, static_cast<std::size_t>(n)));
  while (const auto order = reader_.next()) logic_.obey(*order, boot_now());
  if (n <= 0 || reader_.broken()) drop_client();
}

// Never waits for an agent that does not read: jobs and leases come first.
void Launcher::flush() {
  while (client_ >= 0 && !unsent_.empty()) {
    const ssize_t n = ::send(client_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return drop_client();
    unsent_.erase(0, static_cast<std::size_t>(n));
  }
}

// ---- LauncherPorts ----

Result<std::int64_t> Launcher::spawn(const LaunchOrder& order) {
  const auto failed = [](const std::string& why) { return invalid("setup", why); };
  ::mkdir(attempt_dir(order.key).c_str(), 0700);
  struct stat info {};
  if (::stat(order.workdir.c_str(), &info) != 0) return failed("no such working directory: " + order.workdir);
  if (!S_ISDIR(info.st_mode)) return failed("the working directory is not a directory: " + order.workdir);
  if (!order.required.empty() && find_program(order.required, order.workdir, order.environment).empty())
    return failed("no such command: " + order.required);
  Image image = {find_program(order.arguments[0], order.workdir, order.environment), pointers(order.arguments),
                 pointers(order.environment)};
  if (image.program.empty()) return failed("no such command: " + order.arguments[0]);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return failed(std::string("cannot start it: ") + std::strerror(errno));
  const pid_t launcher = ::getpid(), pid = ::fork();
  if (pid == 0) become(order, image, journal_, launcher, report[1]);
  ::close(report[1]);
  if (pid < 0) {
    ::close(report[0]);
    return failed(std::string("cannot start it: ") + std::strerror(errno));
  }
  reports_[pid] = report[0];
  started_[order.key] = start_line({order.key, pid, boot_now().us / us_per_tick, now_us(), order.gpus, order.fenced});
  return static_cast<std::int64_t>(pid);
}

void Launcher::signal(std::int64_t pid, int number) { ::kill(static_cast<pid_t>(-pid), number); }

void Launcher::write_end(const LauncherState& state) { append(end_line(state)); }

void Launcher::write_forgotten(const std::string& key) {
  append("forget\t" + key + "\n");
  started_.erase(key);
}

// A full disk does not keep an end from being told: then the controller's word is the only one.
void Launcher::append(const std::string& line) {
  if (::write(journal_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::fprintf(stderr, "schedulearn-launcher: cannot write to %s/journal: %s\n", dir_.c_str(), std::strerror(errno));
  journal_bytes_ += line.size();
}

void Launcher::sync() { ::fdatasync(journal_); }

void Launcher::write_lease(Instant until) {
  write_whole(dir_ + "/lease", boot_id() + "\n" + std::to_string(until.us) + "\n");
}

// Its output is there from before its program runs.
bool Launcher::was_started(const std::string& key) { return exists(attempt_dir(key) + "/output"); }

void Launcher::tell(const Fields& message) {
  if (client_ < 0) return;
  unsent_ += frame(message);
  flush();
  if (unsent_.size() > unsent_bytes_max) drop_client();  // it asks again for the list when it is back
}

std::int64_t Launcher::wall_us() { return now_us(); }

}  // namespace sl::agent
