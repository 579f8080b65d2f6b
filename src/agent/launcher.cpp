#include "agent/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/clocks.h"
#include "agent/lease_file.h"
#include "agent/processes.h"

namespace sl::agent {
namespace {

constexpr Duration alone_at_most = Duration::whole_seconds(600);

}  // namespace

// ---- starting up ----

bool Launcher::open() {
  ::mkdir((dir_ + "/attempts").c_str(), 0700);
  const int lock = ::open((dir_ + "/launcher.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // Held until the process ends. A predecessor that was just killed may take a moment to release it.
  bool locked = false;
  for (int tries = 0; lock >= 0 && !locked && tries < 200; ++tries) {
    locked = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (!locked) ::usleep(10'000);
  }
  if (!locked) return false;
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
  const std::string name = "launcher.sock";  // relative: the path of a data directory may be longer than a socket's
                                             // name can be
  // This also leaves the working directory of the agent's starter.
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
  watch_warden();
  recover();
  alone_since_ = boot_now();
  while (!logic_.is_done() && !is_deserted()) serve();
  return 0;
}

// ---- what a predecessor left ----

void Launcher::recover() {
  Remains remains{read_journal(dir_ + "/journal"), read_lease(dir_)};
  logic_.recover(remains, boot_id());
  journal_.begin(std::move(remains.journal));
  logic_.settle(boot_now());
}

// ---- the loop ----

void Launcher::serve() {
  std::vector<pollfd> waits = {{signals_, POLLIN, 0}, {listener_, POLLIN, 0}};
  waits.push_back({client_, static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  for (const int adopted : runtime_.descriptors()) waits.push_back({adopted, POLLIN, 0});
  const Instant wake = logic_.next_wake();
  const std::int64_t wait_ms = wake.is_never()
                                   ? (client_ < 0 ? 60'000 : -1)
                                   : std::clamp<std::int64_t>((wake - boot_now()).us / 1'000 + 1, 0, 60'000);
  if (::poll(waits.data(), waits.size(), static_cast<int>(wait_ms)) < 0) return;
  // Before the ends are read: if this process has stood still, the warden may have ended what had lost its lease.
  logic_.enforce_lease(boot_now());
  const bool ended = waits[0].revents != 0 ||
                     std::any_of(waits.begin() + 3, waits.end(), [](const pollfd& wait) { return wait.revents != 0; });
  if (ended) take_ended();
  if ((waits[2].revents & POLLOUT) != 0) flush();
  if (client_ >= 0 && (waits[2].revents & ~POLLOUT) != 0) read_client();
  if ((waits[1].revents & POLLIN) != 0) accept_client();
  logic_.settle(boot_now());
  journal_.tidy();
}

bool Launcher::is_deserted() const {
  return client_ < 0 && logic_.is_idle() && boot_now() - alone_since_ >= alone_at_most;
}

void Launcher::take_ended() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) > 0) {
  }
  watch_warden();
  for (const ProcessRuntime::Ended& ended : runtime_.take_ended()) {
    logic_.on_ended(ended.key, ended.status.value_or(LauncherLogic::unknown_status));
    alone_since_ = boot_now();
  }
}

// There is a warden for as long as the launcher runs.
void Launcher::watch_warden() {
  if (warden_.pid() > 0 && ::waitpid(warden_.pid(), nullptr, WNOHANG) == 0) return;
  warden_.start(dir_);
  runtime_.ignore(warden_.pid());
}

// The newest agent counts.
void Launcher::accept_client() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (!is_welcome(fd)) {
    ::close(fd);
    return;
  }
  drop_client();
  client_ = fd;
}

// Other users' processes are not welcome, nor are jobs, although they run as the same user: they could start and end
// others.
bool Launcher::is_welcome(int client) const {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::getuid() || peer.uid == 0) && !runtime_.holds(peer.pid);
}

void Launcher::drop_client() {
  if (client_ >= 0) ::close(std::exchange(client_, -1));
  alone_since_ = boot_now();
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

void Launcher::write_lease(Instant until) { agent::write_lease(dir_, {boot_id(), until}); }

// Its output exists from before its program runs.
bool Launcher::was_started(const std::string& key) {
  return ::access((attempt_folder(dir_, key) + "/output").c_str(), F_OK) == 0;
}

void Launcher::tell(const Fields& message) {
  if (client_ < 0) return;
  unsent_ += frame(message);
  flush();
  if (unsent_.size() > unsent_bytes_max) drop_client();  // it requests the list again when it is back
}

std::int64_t Launcher::wall_us() { return wall_now().us; }

}  // namespace sl::agent
