// Which processes belong to which attempt, and how to end them. A tree is recognised by, in this order: its control
// group; its leader and the leader's session; a mark in the environment its processes were started with; descent from
// any of these. Without control groups, a process that has left its session, cleared its environment and lost its
// parent is still a child of the launcher (which is a subreaper) and is ended with the last attempt that may have
// started it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/processes.h"

namespace sl::agent {

// The environment variable that marks the processes of an attempt; its value is the attempt's folder.
inline constexpr const char* tree_variable = "SCHEDULEARN_PROCESS_TREE";

struct ProcessTree {
  pid_t leader = 0;
  std::int64_t started_ticks = 0;
  std::string cgroup;  // empty: none
  std::string mark;
  bool is_own = true;  // its leader is a child of this process and not waited for yet: the number is certainly still
                       // its own
  bool has_container = false;  // it may have processes that are no descendants of this process
  bool leader_ended = false;   // false: unknown
  bool was_killed = false;
  bool looked_gone = false;  // at the last look, by the environments of processes
};

class ProcessTrees {
 public:
  void add(const std::string& key, ProcessTree tree);
  void remove(const std::string& key);
  // The caller has seen its end, so it need not be checked again.
  void on_leader_ended(const std::string& key);
  const ProcessTree* find(const std::string& key) const;
  const std::map<std::string, ProcessTree>& all() const { return trees_; }
  // Whether no process of it is left; one that has ended but was not waited for does not count. Where only environments
  // can tell, at the second look: a process that is about to become another program has none for a moment.
  bool is_gone(const std::string& key);
  void kill(const std::string& key);
  // With its control group, or by SIGSTOP and SIGCONT to each of its processes.
  void freeze(const std::string& key) const;
  void thaw(const std::string& key) const;
  bool is_frozen(const std::string& key) const;
  // Whether the process belongs to an attempt.
  bool holds(pid_t pid) const;
  // Whether a child of ours leads a tree.
  bool is_leader(pid_t child) const { return own_leaders_.count(child) != 0; }
  // A child of ours that belongs to no attempt.
  void ignore(pid_t helper) { helper_ = helper; }

 private:
  using Table = std::map<pid_t, ProcessFacts>;
  bool may_have_strays(const ProcessTree& tree) const;
  std::vector<ProcessFacts> members(const std::string& key) const;
  std::map<pid_t, std::string> owners(const Table& table) const;
  std::string own_word(const ProcessFacts& process, const Table& table) const;
  std::set<std::string> suspects(const ProcessFacts& orphan) const;

  std::map<std::string, ProcessTree> trees_;
  std::set<pid_t> own_leaders_;
  pid_t helper_ = 0;
};

}  // namespace sl::agent
