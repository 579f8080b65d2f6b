#include "agent/process_trees.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "agent/cgroups.h"

namespace sl::agent {
namespace {

constexpr int freeze_looks = 100;

bool leader_runs(const ProcessTree& tree) {
  if (tree.leader_ended) return false;
  const auto leader = find_process(tree.leader);
  return leader && leader->started_ticks == tree.started_ticks && !leader->is_zombie;
}

bool is_in(const std::map<pid_t, ProcessFacts>& table, pid_t pid, std::int64_t started_ticks) {
  const auto at = table.find(pid);
  return at != table.end() && at->second.started_ticks == started_ticks;
}

}  // namespace

void ProcessTrees::add(const std::string& key, ProcessTree tree) {
  remove(key);
  if (tree.is_own) own_leaders_.insert(tree.leader);
  trees_[key] = std::move(tree);
}

void ProcessTrees::remove(const std::string& key) {
  const auto at = trees_.find(key);
  if (at == trees_.end()) return;
  if (at->second.is_own) own_leaders_.erase(at->second.leader);
  trees_.erase(at);
}

void ProcessTrees::on_leader_ended(const std::string& key) {
  if (const auto at = trees_.find(key); at != trees_.end()) at->second.leader_ended = true;
}

const ProcessTree* ProcessTrees::find(const std::string& key) const {
  const auto at = trees_.find(key);
  return at == trees_.end() ? nullptr : &at->second;
}

// Whether it is worth checking all processes of the machine. What one of our attempts has started and abandoned is our
// child; if all our children are leaders, nothing has escaped.
bool ProcessTrees::may_have_strays(const ProcessTree& tree) const {
  if (!tree.is_own || tree.has_container) return true;
  const auto children = own_children();
  return !children || std::any_of(children->begin(), children->end(),
                                  [&](pid_t child) { return child != helper_ && !is_leader(child); });
}

// What identifies a process directly: it leads a tree, is in a leader's session, or carries its mark.
std::string ProcessTrees::own_word(const ProcessFacts& process, const Table& table) const {
  for (const auto& [key, tree] : trees_) {
    // A session has its leader's number, which no other process has while the leader exists.
    if (process.session == tree.leader && is_in(table, tree.leader, tree.started_ticks)) return key;
  }
  const std::string mark = started_with(process.pid, tree_variable);
  for (const auto& [key, tree] : trees_) {
    if (!mark.empty() && mark == tree.mark) return key;
  }
  return "";
}

// By process: its attempt. Processes without an attempt are left out.
std::map<pid_t, std::string> ProcessTrees::owners(const Table& table) const {
  std::map<pid_t, std::string> owner = {{0, ""}, {1, ""}, {::getpid(), ""}, {helper_, ""}};
  for (const auto& [first, facts] : table) {
    std::vector<pid_t> path;  // up to an ancestor whose attempt is known
    pid_t at = first;
    std::string key;
    for (; owner.count(at) == 0 && table.count(at) != 0 && key.empty(); at = table.at(at).parent) {
      owner[at] = "";
      path.push_back(at);
      key = own_word(table.at(at), table);
    }
    if (key.empty() && owner.count(at) != 0) key = owner[at];
    for (const pid_t pid : path) owner[pid] = key;
  }
  return owner;
}

// The attempts that may have started a child of ours without any identification.
std::set<std::string> ProcessTrees::suspects(const ProcessFacts& orphan) const {
  std::set<std::string> keys;
  for (const auto& [key, tree] : trees_) {
    if (tree.is_own && tree.started_ticks <= orphan.started_ticks) keys.insert(key);
  }
  return keys;
}

std::vector<ProcessFacts> ProcessTrees::members(const std::string& key) const {
  const Table table = all_processes();
  const std::map<pid_t, std::string> owner = owners(table);
  std::vector<ProcessFacts> found;
  for (const auto& [pid, facts] : table) {
    if (facts.is_zombie || pid == helper_) continue;
    const std::string& of = owner.at(pid);
    const bool orphaned = of.empty() && facts.parent == ::getpid();
    if (of == key || (orphaned && suspects(facts) == std::set<std::string>{key})) found.push_back(facts);
  }
  return found;
}

bool ProcessTrees::is_gone(const std::string& key) {
  const auto at = trees_.find(key);
  if (at == trees_.end()) return true;
  ProcessTree& tree = at->second;
  if (leader_runs(tree) || !is_empty_cgroup(tree.cgroup)) return false;
  if (!may_have_strays(tree)) return true;
  const bool looks_gone = members(key).empty(), looked_gone = std::exchange(tree.looked_gone, looks_gone);
  const bool only_environments_tell = tree.cgroup.empty() || tree.has_container;
  return looks_gone && (looked_gone || !only_environments_tell);
}

void ProcessTrees::kill(const std::string& key) {
  const auto at = trees_.find(key);
  if (at == trees_.end()) return;
  at->second.was_killed = true;
  kill_cgroup(at->second.cgroup);
  for (const ProcessFacts& process : members(key)) signal_process(process.pid, process.started_ticks, SIGKILL);
}

// What is being started while its parent is stopped would be missed: looks again until all are stopped.
void ProcessTrees::freeze(const std::string& key) const {
  const ProcessTree* tree = find(key);
  if (!tree || freeze_cgroup(tree->cgroup, true)) return;
  for (int look = 0; look < freeze_looks; ++look) {
    bool any_runs = false;
    for (const ProcessFacts& process : members(key)) {
      if (process.is_stopped) continue;
      any_runs = true;
      signal_process(process.pid, process.started_ticks, SIGSTOP);
    }
    if (!any_runs) return;
  }
}

void ProcessTrees::thaw(const std::string& key) const {
  const ProcessTree* tree = find(key);
  if (!tree || freeze_cgroup(tree->cgroup, false)) return;
  for (const ProcessFacts& process : members(key)) signal_process(process.pid, process.started_ticks, SIGCONT);
}

// By its leader: nobody freezes a part of a tree.
bool ProcessTrees::is_frozen(const std::string& key) const {
  const ProcessTree* tree = find(key);
  if (!tree) return false;
  if (!tree->cgroup.empty()) return is_frozen_cgroup(tree->cgroup);
  const auto leader = find_process(tree->leader);
  return leader && leader->started_ticks == tree->started_ticks && leader->is_stopped;
}

bool ProcessTrees::holds(pid_t pid) const {
  const Table table = all_processes();
  const auto owner = owners(table);
  for (pid_t at = pid; at > 1;) {
    const auto known = owner.find(at);
    if (known == owner.end()) return true;  // it has ended in the meantime: trust no one
    if (!known->second.empty()) return true;
    const auto facts = table.find(at);
    if (facts == table.end()) return false;
    at = facts->second.parent;
    if (at == ::getpid()) return true;  // all our descendants were started by jobs
  }
  return false;
}

}  // namespace sl::agent
