// schedulearn-terminal FOLDER SOCKET KEEP_S [CONTAINER]: serves shells among the processes of an attempt, at SOCKET in FOLDER.
// CONTAINER: the folder of the attempt's container; without it the shells are processes here.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "terminal/server.h"

namespace {

using namespace sl;

// One program serves an attempt; a second one has come too late.
bool is_the_only_one() {
  const int file = ::open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || ::chdir(argv[1]) != 0) return 2;
  const std::string container = argc > 4 ? argv[4] : "";
  ::umask(0022);
  ::signal(SIGPIPE, SIG_IGN);
  if (!is_the_only_one()) return 0;
  net::EventLoop loop;
  terminal::Server server(
      loop, Duration::seconds(std::atof(argv[3])),
      [&](const terminal::ShellOrder& order) {
        return container.empty() ? terminal::start_here(order) : terminal::start_in_container(container, order);
      },
      [&] { loop.stop(); });
  loop.on_signals({SIGCHLD}, [&](int) { server.look_for_ends(); });
  net::ServerSettings settings;
  settings.address.clear();
  settings.socket_path = argv[2];
  const auto listening = net::HttpServer::listen(loop, settings, server);
  if (!listening.ok()) return 1;
  loop.run();
  ::unlink(argv[2]);
  return 0;
}
