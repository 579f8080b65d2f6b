// schedulearn-terminal FOLDER SOCKET KEEP_S CONTAINER: serves shells among the processes of an attempt, at SOCKET in FOLDER.
// CONTAINER: the folder of the attempt's container; empty: the shells are processes here.
// schedulearn-terminal FOLDER SOCKET KEEP_S CONTAINER USER COMMAND...: is the attempt's first process, and the first of the
// shells is the job itself, which USER connects to. COMMAND is a process here; in a container, the program that runs that.
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
  if (argc < 5 || ::chdir(argv[1]) != 0) return 2;
  const bool is_job = argc > 6;
  const std::string container = argv[4];
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
  int status = 0;
  if (is_job) {
    const auto start_job = [&](terminal::ShellOrder order) {
      order.command = {argv + 6, argv + argc};
      return terminal::start_here(order);
    };
    server.run_job(argv[5], start_job, [&](int code) {
      status = code < 0 ? 1 : code;
      loop.stop();
    });
    loop.on_signals({SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2},
                    [&](int number) { server.signal_job(number); });
  }
  loop.run();
  ::unlink(argv[2]);
  return status;
}
