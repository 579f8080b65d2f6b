#include "archive/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

extern char** environ;

namespace sl::archive {
namespace {

constexpr std::size_t pipe_bytes = 64 << 10;

// The ends of three channels: ours do not block.
struct Channels {
  std::array<int, 3> ours = {-1, -1, -1}, theirs = {-1, -1, -1};
  ~Channels() {
    for (int fd : ours) close_one(fd);
    close_theirs();
  }
  // Pairs of sockets rather than pipes: writing to one whose reader has gone raises no signal.
  bool open() {
    for (std::size_t i = 0; i < ours.size(); ++i) {
      std::array<int, 2> pair{};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
      ours[i] = pair[0], theirs[i] = pair[1];
      ::fcntl(ours[i], F_SETFL, O_NONBLOCK);
    }
    return true;
  }
  void close_theirs() {
    for (int& fd : theirs) close_one(fd);
  }
  static void close_one(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

// Returns 0, or why it could not be started.
int spawn_program(const std::vector<std::string>& arguments, const Channels& channels, pid_t& pid) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int fd = 0; fd < 3; ++fd)
    posix_spawn_file_actions_adddup2(&files, channels.theirs[static_cast<std::size_t>(fd)], fd);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&pid, words[0], &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Writes what it is to read and reads what it writes, until it has closed both its outputs.
void exchange(Channels& channels, std::string_view input, ProgramEnd& end) {
  std::array<char, pipe_bytes> piece;
  const auto read_some = [&](int& fd, std::string& into) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n > 0) into.append(piece.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) Channels::close_one(fd);
  };
  auto& [in, out, err] = channels.ours;
  while (out >= 0 || err >= 0) {
    if (input.empty()) Channels::close_one(in);
    std::array<pollfd, 3> ready = {pollfd{in, POLLOUT, 0}, {out, POLLIN, 0}, {err, POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[0].revents != 0) {
      const ssize_t n = ::send(in, input.data(), input.size(), MSG_NOSIGNAL);
      if (n > 0) input.remove_prefix(static_cast<std::size_t>(n));
      if (n < 0 && errno != EAGAIN && errno != EINTR) input = {};  // it reads no more
    }
    if (ready[1].revents != 0) read_some(out, end.output);
    if (ready[2].revents != 0) read_some(err, end.errors);
  }
}

}  // namespace

Result<ProgramEnd> run_program(const std::vector<std::string>& arguments, const std::string& input) {
  Channels channels;
  pid_t pid = -1;
  const int error = channels.open() ? spawn_program(arguments, channels, pid) : errno;
  if (error == ENOENT) return not_found("program-missing", "there is no " + arguments[0] + " on this machine");
  if (error != 0) return unavailable("cannot-run", "cannot run " + arguments[0] + ": " + std::strerror(error));
  channels.close_theirs();
  ProgramEnd end;
  exchange(channels, input, end);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace sl::archive
