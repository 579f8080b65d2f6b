// The runtime that starts attempts as processes of this machine. Their leaders are our children, or adopted from a
// killed predecessor: then their end can be seen but not their exit status.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/cgroups.h"
#include "agent/journal.h"
#include "agent/process_trees.h"
#include "agent/runtime.h"

namespace sl::agent {

std::string attempt_folder(const std::string& data_dir, const std::string& key);
// The tree of an attempt according to the journal.
ProcessTree tree_of(const std::string& data_dir, const Started& started);

class ProcessRuntime : public Runtime {
 public:
  // Changes this process: it becomes a subreaper, ignores and catches no signal and may have as many files open as
  // permitted. Jobs may have `open_files`; 0: as many as this process could before.
  ProcessRuntime(std::string data_dir, Journal& journal, std::uint64_t open_files = 0);

  ~ProcessRuntime() override { cgroups_.remove_folder(); }
  ProcessRuntime(const ProcessRuntime&) = delete;
  ProcessRuntime& operator=(const ProcessRuntime&) = delete;

  // ---- Runtime ----
  Result<std::int64_t> start(const LaunchOrder& order) override;
  bool adopt(const Started& started) override;
  void join(const JoinOrder& order) override;
  void limit(const std::string& key, const Limits& limits) override;
  MemoryUse memory_use(const std::string& key) override;
  Enforced enforces() override { return {cgroups_.enforces(), cgroups_.cannot_enforce()}; }
  void signal(const std::string& key, int number) override;
  void kill(const std::string& key) override { trees_.kill(key); }
  void freeze(const std::string& key) override { trees_.freeze(key); }
  void thaw(const std::string& key) override { trees_.thaw(key); }
  bool is_frozen(const std::string& key) override { return trees_.is_frozen(key); }
  bool is_gone(const std::string& key) override { return trees_.is_gone(key); }
  void forget(const std::string& key) override;

  struct Ended {
    std::string key;
    std::optional<int> status;  // as from waitpid; empty if adopted
  };
  // Leaders that have ended since the last call. Also waits for our other children that have ended.
  std::vector<Ended> take_ended();
  std::vector<int> descriptors() const;  // readable when an adopted leader has ended
  // Whether an attempt has started that process.
  bool holds(pid_t pid) const;
  void ignore(pid_t helper) { trees_.ignore(helper); }
  const std::map<std::string, Started>& started() const { return started_; }  // those not forgotten

 private:
  struct Leader {
    pid_t pid = 0;
    int process = -1;  // of an adopted leader
  };
  void wait_for_orphans() const;
  Fields environment_of(const std::string& key, pid_t leader) const;

  std::string dir_, boot_;
  Journal& journal_;
  Cgroups cgroups_;
  ProcessTrees trees_;
  rlimit files_{};
  std::map<std::string, Leader> leaders_;  // those that have not ended
  std::map<std::string, Started> started_;
  std::map<std::string, Fields> environments_;  // of attempts that this process has started
};

}  // namespace sl::agent
