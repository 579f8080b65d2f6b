#include "agent/warden.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "agent/process_runtime.h"

namespace sl::agent {
namespace {

constexpr int looks = 600;  // of 10 ms; the controller allows a lost lease no longer than that (lease.h)
constexpr useconds_t look_interval_us = 10'000;

bool end_all(ProcessTrees& trees) {
  bool all_gone = true;
  for (const auto& [key, tree] : trees.all()) {
    if (trees.is_gone(key)) continue;
    trees.kill(key);
    all_gone = false;
  }
  return all_gone;
}

}  // namespace

void Warden::start(const std::string& data_dir) {
  if (alive_ >= 0) ::close(std::exchange(alive_, -1));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setsid();
    ::dup2(ends[0], 0);
    // A different name, so that ending launchers by name leaves it alone.
    ::execl("/proc/self/exe", "schedulearn-warden", "warden", data_dir.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[0]);
  alive_ = ends[1];
}

int run_warden(const std::string& data_dir) {
  ::prctl(PR_SET_NAME, "sl-warden");
  char byte = 0;
  while (::read(0, &byte, 1) < 0 && errno == EINTR) {
  }
  ProcessTrees trees;
  for (const Started& started : fenced_in(read_journal(data_dir + "/journal"), boot_id())) {
    ProcessTree tree = tree_of(data_dir, started);
    tree.is_own = false;
    trees.add(started.key, tree);
  }
  for (int look = 0; look < looks && !end_all(trees); ++look) ::usleep(look_interval_us);
  return 0;
}

}  // namespace sl::agent
