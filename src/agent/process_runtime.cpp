#include "agent/process_runtime.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "agent/proc_file.h"
#include "agent/process_start.h"

namespace sl::agent {

std::string attempt_folder(const std::string& data_dir, const std::string& key) {
  return data_dir + "/attempts/" + key;
}

ProcessTree tree_of(const std::string& data_dir, const Started& started) {
  return {static_cast<pid_t>(started.pid), started.ticks, started.cgroup, attempt_folder(data_dir, started.key)};
}

ProcessRuntime::ProcessRuntime(std::string data_dir, Journal& journal, std::uint64_t open_files)
    : dir_(std::move(data_dir)), boot_(boot_id()), journal_(journal) {
  const char* only = std::getenv("SCHEDULEARN_CGROUPS");
  cgroups_ = Cgroups::make_folder(only ? only : "");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::getrlimit(RLIMIT_NOFILE, &files_);
  const rlimit all = {files_.rlim_max, files_.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &all);
  if (open_files > 0) files_.rlim_cur = std::min<rlim_t>(open_files, files_.rlim_max);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
}

// What is started gets control groups of attempts that are over, so the journal has to know that they are.
Result<std::int64_t> ProcessRuntime::start(const LaunchOrder& order) {
  if (!journal_.make_whole()) return cannot_record(errno);
  Started started;
  started.key = order.key, started.gpus = order.gpus, started.fenced = order.fenced, started.boot = boot_;
  // A container has control groups of its engine; so its tree is found as where there are none.
  if (!order.has_container) started.cgroup = cgroups_.make(order.key);
  const std::string cgroup = started.cgroup;
  if (!order.has_container) {
    auto limited = cgroups_.make_limited(order.key, cgroup, order.limits);
    if (!limited.ok()) return cgroups_.take_back(cgroup), limited.error();
    started.limits = std::move(*limited);
  }
  const LimitGroups limits = started.limits;
  const Surroundings surroundings = {attempt_folder(dir_, order.key), journal_.descriptor(), files_,
                                     cgroups_.version()};
  Result<Started> begun = start_process(order, std::move(started), surroundings);
  if (!begun.ok() || begun->cgroup.empty()) cgroups_.take_back(cgroup);
  if (!begun.ok()) return cgroups_.take_back(limits), begun.error();
  journal_.note_start(*begun);
  leaders_[order.key] = {static_cast<pid_t>(begun->pid), -1};
  ProcessTree tree = tree_of(dir_, *begun);
  tree.has_container = order.has_container;
  trees_.add(order.key, std::move(tree));
  started_[order.key] = *begun;
  environments_[order.key] = order.environment;
  return begun->pid;
}

bool ProcessRuntime::adopt(const Started& started) {
  started_[started.key] = started;
  ProcessTree tree = tree_of(dir_, started);
  tree.is_own = false;
  trees_.add(started.key, tree);
  const int process = open_process(tree.leader, tree.started_ticks);
  const auto facts = find_process(tree.leader);
  if (process < 0) return false;
  leaders_[started.key] = {tree.leader, process};
  return facts && !facts->is_zombie;
}

// A program may overwrite the environment that the kernel shows, so it is asked only about those that were adopted.
Fields ProcessRuntime::environment_of(const std::string& key, pid_t leader) const {
  if (const auto at = environments_.find(key); at != environments_.end()) return at->second;
  Fields environment;
  std::istringstream entries(read_proc_file("/proc/" + std::to_string(leader) + "/environ"));
  for (std::string entry; std::getline(entries, entry, '\0');) {
    if (!entry.starts_with(std::string(tree_variable) + "=")) environment.push_back(entry);
  }
  return environment;
}

void ProcessRuntime::join(const JoinOrder& order) {
  const ProcessTree* tree = trees_.find(order.key);
  const auto at = started_.find(order.key);
  const auto leader = tree ? find_process(tree->leader) : std::nullopt;
  if (!leader || at == started_.end() || leader->started_ticks != tree->started_ticks || leader->is_zombie) return;
  LaunchOrder program;
  program.key = order.key, program.arguments = order.arguments, program.fenced = at->second.fenced;
  program.environment = environment_of(order.key, tree->leader);
  program.workdir = "/", program.output = "/dev/null";
  Started member = at->second;
  (void)start_process(program, std::move(member), {attempt_folder(dir_, order.key), -1, files_, cgroups_.version()});
}

void ProcessRuntime::limit(const std::string& key, const Limits& limits) {
  const auto at = started_.find(key);
  if (at == started_.end()) return;
  if (const Status set = apply_limits(at->second.limits, limits); !set.ok())
    std::fprintf(stderr, "schedulearn-launcher: attempt %s: %s\n", key.c_str(), set.error().message.c_str());
}

MemoryUse ProcessRuntime::memory_use(const std::string& key) {
  const auto at = started_.find(key);
  return at == started_.end() ? MemoryUse() : sl::agent::memory_use(at->second.limits);
}

// A group is addressed by its leader's number, which stays the leader's until it is waited for.
void ProcessRuntime::signal(const std::string& key, int number) {
  const ProcessTree* tree = trees_.find(key);
  if (!tree) return;
  const auto leader = find_process(tree->leader);
  if (leader && leader->started_ticks == tree->started_ticks) ::kill(-tree->leader, number);
}

// The leader is waited for only now: until then its number cannot be reused.
void ProcessRuntime::forget(const std::string& key) {
  if (const ProcessTree* tree = trees_.find(key)) {
    if (tree->is_own) ::waitpid(tree->leader, nullptr, WNOHANG);
    // In v2 a group remembers that it was killed: Linux 6.18 also kills what is started in it afterwards.
    tree->was_killed ? remove_cgroup(tree->cgroup) : cgroups_.take_back(tree->cgroup);
  }
  if (const auto at = started_.find(key); at != started_.end()) cgroups_.take_back(at->second.limits);
  trees_.remove(key);
  started_.erase(key);
  environments_.erase(key);
}

std::vector<ProcessRuntime::Ended> ProcessRuntime::take_ended() {
  std::vector<Ended> ended;
  for (auto at = leaders_.begin(); at != leaders_.end();) {
    auto& [key, leader] = *at;
    siginfo_t info{};
    pollfd process = {leader.process, POLLIN, 0};
    if (leader.process < 0 ? ::waitid(P_PID, static_cast<id_t>(leader.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
                                 info.si_pid == 0
                           : ::poll(&process, 1, 0) <= 0) {
      ++at;
      continue;
    }
    if (leader.process >= 0) {
      ::close(leader.process);
      ended.push_back({key, std::nullopt});
    } else {
      ended.push_back({key, info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status});
    }
    trees_.on_leader_ended(key);
    at = leaders_.erase(at);
  }
  wait_for_orphans();
  return ended;
}

void ProcessRuntime::wait_for_orphans() const {
  for (const pid_t child : own_children().value_or(std::vector<pid_t>{})) {
    if (!trees_.is_leader(child)) ::waitpid(child, nullptr, WNOHANG);
  }
}

std::vector<int> ProcessRuntime::descriptors() const {
  std::vector<int> all;
  for (const auto& [key, leader] : leaders_) {
    if (leader.process >= 0) all.push_back(leader.process);
  }
  return all;
}

// A process that has left everything else is still in its control group.
bool ProcessRuntime::holds(pid_t pid) const {
  const std::string groups = read_proc_file("/proc/" + std::to_string(pid) + "/cgroup");
  for (const auto& [key, tree] : trees_.all()) {
    const std::size_t folder = tree.cgroup.find("/schedulearn-");
    if (folder == std::string::npos) continue;
    const std::string group = tree.cgroup.substr(folder);
    if (groups.find(group + "\n") != std::string::npos || groups.find(group + "/") != std::string::npos) return true;
  }
  return trees_.holds(pid);
}

}  // namespace sl::agent
