#include "agent/warden.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "agent/clocks.h"
#include "agent/lease_file.h"
#include "agent/process_runtime.h"
#include "base/lease.h"

namespace sl::agent {
namespace {

constexpr int looks = 600;  // of 10 ms; the controller allows a lost lease no longer than that (lease.h)
constexpr useconds_t look_interval_us = 10'000;
constexpr Duration allowance = Duration::whole_seconds(1);    // after which a launcher has not enforced the lease
constexpr Duration pause_most = Duration::whole_seconds(10);  // between two looks at the lease

bool end_all(ProcessTrees& trees) {
  bool all_gone = true;
  for (const auto& [key, tree] : trees.all()) {
    if (trees.is_gone(key)) continue;
    trees.kill(key);
    all_gone = false;
  }
  return all_gone;
}

void end_fenced(const std::string& data_dir, const JournalContents& journal) {
  ProcessTrees trees;
  for (const Started& started : fenced_in(journal, boot_id())) {
    ProcessTree tree = tree_of(data_dir, started);
    tree.is_own = false;
    trees.add(started.key, tree);
  }
  for (int look = 0; look < looks && !end_all(trees); ++look) ::usleep(look_interval_us);
}

// Never: there is none of this boot.
Instant lease_until(const std::string& data_dir) {
  const WrittenLease lease = read_lease(data_dir);
  return is_same_boot(lease.boot, boot_id()) ? lease.until : Instant::never();
}

// Looks at the lease from time to time. `ended_for`: the one that attempts have been ended for.
Duration watch_lease(const std::string& data_dir, Instant& ended_for) {
  const Instant until = lease_until(data_dir);
  if (until.is_never() || until == ended_for) return pause_most;
  const Instant over = until + fence_grace + allowance;
  if (boot_now() < over) return std::min(pause_most, over - boot_now());
  const JournalContents journal = read_journal(data_dir + "/journal");
  if (lease_until(data_dir) != until) return {};  // attempts may have been started since, with another one
  end_fenced(data_dir, journal);
  ended_for = until;
  return pause_most;
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
  Instant ended_for = Instant::never();
  for (bool has_ended = false; !has_ended;) {
    const Duration pause = watch_lease(data_dir, ended_for);
    pollfd launcher{0, POLLIN, 0};
    has_ended = ::poll(&launcher, 1, static_cast<int>(pause.us / 1'000) + 1) > 0;  // its end is all that can be read
  }
  end_fenced(data_dir, read_journal(data_dir + "/journal"));
  return 0;
}

}  // namespace sl::agent
