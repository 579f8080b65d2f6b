#include "agent/launcher_link.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

extern char** environ;

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

constexpr int connect_tries = 500;
constexpr auto connect_interval = std::chrono::milliseconds(10);
constexpr int ticks_between_pings = 20, ticks_of_silence_most = 60;  // 5 and 15 s

}  // namespace

std::string program_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return (failed ? fs::absolute(name ? name : ".") : program).parent_path();
}

bool LauncherLink::try_socket() {
  const int folder = ::open(settings_.data_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = settings_.data_dir + "/launcher.sock";
  // The path of a data directory may be longer than a socket's name can be: use its descriptor then.
  if (path.size() >= sizeof address.sun_path) path = "/proc/self/fd/" + std::to_string(folder) + "/launcher.sock";
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(folder);
  connected ? void(socket_ = fd) : void(::close(fd));
  return connected;
}

std::string LauncherLink::program() const {
  return settings_.program.empty() ? program_folder() + "/schedulearn-launcher" : settings_.program;
}

bool LauncherLink::has_another_build() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (socket_ < 0 || ::getsockopt(socket_, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  std::error_code failed;
  const fs::path running = fs::read_symlink("/proc/" + std::to_string(peer.pid) + "/exe", failed);
  const fs::path own = failed ? fs::path() : fs::canonical(program(), failed);
  return !failed && running != own;  // "… (deleted)" if it has been replaced
}

Status LauncherLink::start_launcher() const {
  std::string program = this->program();
  if (::access(program.c_str(), X_OK) != 0)
    return internal_error("launcher-missing", "the program that starts jobs is missing: " + program)
        .hint("install schedulearn again");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSID));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  const std::string log = settings_.data_dir + "/launcher.log";
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  // It outlives us, and so would anything it inherits: under `up` the controller's port, on which no one could listen
  // again.
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  std::string data_dir = settings_.data_dir, open_files = std::to_string(settings_.open_files);
  char* arguments[] = {program.data(), data_dir.data(), open_files.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &files, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return internal_error("launcher-missing", "cannot start " + program + ": " + std::strerror(error));
  std::thread([pid] { ::waitpid(pid, nullptr, 0); }).detach();  // no zombie, should it end before us
  return {};
}

Status LauncherLink::connect() {
  if (!try_socket()) {
    if (Status started = start_launcher(); !started.ok()) return started;
    for (int i = 0; i < connect_tries && socket_ < 0; ++i) {
      if (!try_socket()) std::this_thread::sleep_for(connect_interval);
    }
    if (socket_ < 0)
      return internal_error("launcher-missing",
                            "the launcher does not answer; see " + settings_.data_dir + "/launcher.log");
  }
  reader_ = {};
  ticks_ = 0, is_asked_ = true, answers_pings_ = false;
  is_of_another_build_ = has_another_build();
  watch_ = loop_.on_readable(socket_, [this] { read(); });
  send({"list"});
  send({"ping"});
  return {};
}

void LauncherLink::reconnect() {
  const Status connected = connect();
  if (connected.ok()) return;
  std::fprintf(stderr, "schedulearn agent: %s\n", connected.error().message.c_str());
  retry_ = loop_.after(Duration::whole_seconds(1), [this] { reconnect(); });
}

void LauncherLink::disconnect() {
  retry_.reset();
  watch_.reset();
  unsent_.clear();
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void LauncherLink::send_with_next(const Fields& message) {
  if (socket_ >= 0) unsent_ += frame(message);
}

void LauncherLink::send(const Fields& message) {
  send_with_next(message);
  flush();
  if (socket_ >= 0 && unsent_.size() > unsent_bytes_max) ::shutdown(socket_, SHUT_RDWR);  // read() sees it
}

void LauncherLink::flush() {
  while (socket_ >= 0 && !unsent_.empty()) {
    const ssize_t n = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) return;
    unsent_.erase(0, static_cast<std::size_t>(n));
  }
}

void LauncherLink::tick() {
  flush();
  if (socket_ < 0) return;
  ++ticks_;
  if (is_asked_ && answers_pings_ && ticks_ > ticks_of_silence_most) {
    std::fputs("schedulearn agent: the launcher does not answer; no job starts or ends here until it does\n", stderr);
    return lose();
  }
  if (is_asked_ || ticks_ < ticks_between_pings) return;
  ticks_ = 0, is_asked_ = true;
  send({"ping"});
}

void LauncherLink::read() {
  char buffer[65536];
  const ssize_t n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return lose();
  reader_.add(std::string_view(buffer, static_cast<std::size_t>(n)));
  while (const auto message = reader_.next()) {
    if (*message == Fields{"pong"}) {
      ticks_ = 0, is_asked_ = false, answers_pings_ = true;
    } else {
      events_.on_message(*message);
    }
  }
}

void LauncherLink::lose() {
  disconnect();
  events_.on_lost();
}

}  // namespace sl::agent
