// A server: its disk, the processes of jobs, the launcher and the agent. Jobs run on whoever dies; only a power cut
// ends them all.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "agent/agent_logic.h"
#include "agent/launcher_logic.h"
#include "dst/controller_node.h"
#include "dst/network.h"

namespace sl::dst {

class ServerNode {
 public:
  ServerNode(Context& context, Network& network, ControllerNode& controller, int number, int gpus);
  ~ServerNode();

  void boot();
  void cut_power();
  void kill_agent() { agent_node_.die(); }
  void kill_launcher() { launcher_node_.die(); }
  void freeze_agent(Duration time) { agent_node_.freeze(time); }
  void freeze_launcher(Duration time) { launcher_node_.freeze(time); }
  std::string why_not_quiet() const;
  bool is_quiet() const { return processes_.empty() && agent_ && agent_->attempts().empty(); }

 private:
  struct Process {
    std::string key;
    std::vector<int> gpus;
    bool fenced = false;
    bool is_child = true;  // of the launcher that runs now
    bool signalled = false;
  };
  struct Disk {
    std::map<std::string, std::int64_t> started;  // key: process
    std::set<std::string> over;
    std::map<std::string, agent::LauncherState> ends, unsynced_ends;
    std::set<std::string> forgotten;
    Instant lease = Instant::never();
    int lease_boot = -1;
  };
  class AgentWorld;
  class LauncherWorld;

  Instant boot_clock() const;
  void note(const std::string& text) const;

  // ---- processes ----
  std::int64_t spawn(const agent::LaunchOrder& order);
  void signal_process(std::int64_t pid, int number);
  void sync_ends();
  void process_ends(std::int64_t pid, int status);

  // ---- launcher ----
  void start_launcher();
  void launcher_died();
  void recover_launcher();
  void launcher_input(const std::function<void()>& input);
  void arm_launcher();

  // ---- agent ----
  void start_agent();
  void agent_died();
  void open_pipe();
  void to_launcher(const agent::Fields& fields);
  void agent_hears(const agent::Fields& fields);
  void connect();
  void retry();
  void say_hello();
  void tick();

  Context& context_;
  Network& network_;
  ControllerNode& controller_;
  int number_, gpus_;
  double drift_ = 1;
  bool has_power_ = false;
  int boots_ = 0;
  Instant booted_;
  Disk disk_;
  std::map<std::int64_t, Process> processes_;
  std::int64_t next_pid_ = 1000;

  Node launcher_node_, agent_node_;
  std::unique_ptr<LauncherWorld> launcher_world_;
  std::unique_ptr<agent::LauncherLogic> launcher_;
  Instant launcher_armed_ = Instant::never();
  std::unique_ptr<AgentWorld> agent_world_;
  std::unique_ptr<agent::AgentLogic> agent_;
  int pipe_ = 0;  // counts connections of agents to launchers: what an older one brings is not read
  bool pipe_open_ = false;
  Instant last_to_launcher_, last_to_agent_;
  Network::SessionPtr session_;
  double back_off_s_ = 0.1;
};

}  // namespace sl::dst
