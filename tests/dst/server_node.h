// A server: its disk, its GPUs, the processes of jobs, the launcher and the agent. Jobs continue whatever dies; only a
// power cut ends them all. Each boot numbers its processes from the start again, and gives some of the numbers in the
// launcher's journal to strangers: processes of no attempt.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "agent/agent_logic.h"
#include "agent/launcher_logic.h"
#include "dst/containers.h"
#include "dst/controller_node.h"
#include "dst/network.h"

namespace sl::dst {

// A GPU's place on the bus of its server, from which the world makes its UUID.
inline std::string uuid_of(int place, int server) { return fmt::format("{} of {}", place, server_name(server)); }
inline int place_of(const std::string& uuid) { return std::atoi(uuid.c_str()); }

class ServerNode {
 public:
  ServerNode(Context& context, Network& network, ControllerNode& controller, int number, int gpus);
  ~ServerNode();

  void boot();
  void cut_power(Duration time);
  void fill_disk(Duration time);  // it can start nothing
  bool has_power() const { return has_power_; }
  int number() const { return number_; }
  void lose_gpu(Duration time);
  void kill_agent() { agent_node_.die(); }
  void kill_launcher() { launcher_node_.die(); }
  void kill_both(Duration away);  // until the agent is started again
  void freeze_agent(Duration time) { agent_node_.freeze(time); }
  void freeze_launcher(Duration time) { launcher_node_.freeze(time); }
  Engine& engine() { return containers_.engine(); }
  std::string why_not_quiet() const;
  // Nothing runs, and only the output of attempts is left.
  bool is_quiet() const {
    return trees_.empty() && containers_.holds_none() && agent_ && agent_->attempts().empty() && launcher_ &&
           launcher_->attempts().empty();
  }

 private:
  // What an attempt has started: its leader, and often another process that outlives it.
  struct Tree {
    std::string key;
    std::vector<int> gpus;  // by their place on the bus
    bool fenced = false;
    bool leads = true;  // the leader is running
    bool has_stray = false;
    bool is_child = true;  // of the current launcher
    bool signalled = false;
    bool trains = false;  // it reports its progress
    bool frozen = false;
    bool keeps_checkpoint = false;
    bool has_container = false;          // its leader is the program that runs it
    std::optional<int> end_when_thawed;  // how its leader would have ended meanwhile
  };
  struct Disk {
    agent::Remains launcher;
    std::map<std::string, agent::LauncherState> unsynced_ends;
    std::set<std::string> outputs;  // of all attempts that were ever started
    agent::KnownCluster cluster;
    std::vector<wire::GpuReport> gpus;               // as the last agent numbered them
    std::int64_t calls = 0;                          // of its agents
    std::map<std::int64_t, AttemptKey> checkpoints;  // of jobs: which attempt has written it
    std::map<std::string, agent::ResizedGpus> resized;
    std::set<std::string> answers;  // of attempts that were asked to resize
  };
  class AgentWorld;
  class LauncherWorld;

  Instant boot_clock() const;
  Instant world_time(Instant boot_time) const;
  std::string boot_id() const { return fmt::format("boot {}", boots_); }
  void note(const std::string& text) const;

  // ---- processes ----
  Result<std::int64_t> spawn(const agent::LaunchOrder& order);
  // What processes of this boot do: nothing once the power is cut.
  void later(Duration delay, std::function<void()> what);
  Tree* find_tree(const std::string& key);
  // The process to which a signal for this attempt goes; none: it has gone.
  std::optional<std::int64_t> target_of(const std::string& key) const;
  void signal_leader(const std::string& key, int number);
  void kill_tree(const std::string& key);
  void freeze_tree(const std::string& key, bool frozen);
  void ask_to_resize(const std::string& key, const wire::Placement& placement);
  void look_at_answers();
  void leader_ends(std::int64_t pid, int status);
  void job_ends(std::int64_t pid, int status);  // by itself
  std::int64_t leader_of(const std::string& key) const;
  void stray_ends(std::int64_t pid);
  void drop_if_gone(std::int64_t pid);
  void sync_ends();
  void note_signal(const std::string& key);

  // ---- launcher ----
  void start_launcher();
  void launcher_died();
  void recover_launcher();
  void launcher_input(const std::function<void()>& input);
  void arm_launcher();

  // ---- containers ----
  Containers make_containers();
  void find_image(const std::string& key);
  void forget_containers_of_none();
  agent::LauncherState explain_container(agent::LauncherState state);
  void look_at_beginnings();
  void sweep();

  // ---- GPUs ----
  std::vector<wire::GpuReport> look_at_gpus() const;
  agent::LauncherState explain(const agent::LauncherState& state) const;
  wire::Hello make_hello();

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
  void send_telemetry();
  void send_progress();
  void answer(const wire::LogRead& request, bool last_chance);

  // ---- checkpoints (server_checkpoints.cpp) ----
  void offer(const wire::OfferCheckpoint& order);
  void fetch(const std::string& key, const std::string& source);
  void end_fetch(const std::string& key) { fetches_.erase(key); }
  void look_at_fetch(const std::string& key, int number);
  bool gives(const std::string& key, int to) const;
  void use_checkpoint(AttemptKey key);

  Context& context_;
  Network& network_;
  ControllerNode& controller_;
  int number_, gpus_;
  double drift_ = 1;
  bool has_power_ = false;
  int boots_ = 0;
  Instant stays_away_;  // the agent is away until then
  Instant booted_;
  Instant full_until_;
  Disk disk_;
  Containers containers_;
  container::Sweeps sweeps_;  // of the agent
  Instant agent_lists_since_;
  std::map<std::string, agent::LauncherState> unbegun_;  // whose containers are being made, by key
  std::map<std::string, int> image_searches_;
  int image_searches_ever_ = 0, agents_ever_ = 0;
  std::map<std::int64_t, Tree> trees_;  // by the leader's process number
  std::int64_t next_pid_ = 0;
  std::set<std::int64_t> strangers_;     // numbers of processes of no attempt
  std::set<std::string> unseen_ends_;    // leaders that have ended, which the launcher has not noticed yet
  std::map<int, Instant> missing_gpus_;  // until when

  Node launcher_node_, agent_node_;
  std::unique_ptr<LauncherWorld> launcher_world_;
  std::unique_ptr<agent::LauncherLogic> launcher_;
  Instant launcher_armed_ = Instant::never();
  bool obeys_signal_ = false;  // the launcher is carrying out a signal that the agent ordered
  std::unique_ptr<AgentWorld> agent_world_;
  std::unique_ptr<agent::AgentLogic> agent_;
  int pipe_ = 0;  // counts connections of agents to launchers: messages of older ones are not read
  bool pipe_open_ = false;
  Instant last_to_launcher_, last_to_agent_;
  Network::SessionPtr session_;
  double back_off_s_ = 0.1;
  int ticks_ = 0;
  int next_port_ = 7000;
  std::map<std::string, int> steps_;  // of trainings
  struct Fetch {
    std::string source;  // a server
    int number = 0;
  };
  std::map<std::string, Fetch> fetches_;  // that the agent has in progress
  int fetches_ever_ = 0;
  std::set<std::string> offers_;  // of the agent: the attempts that may have a checkpoint
};

}  // namespace sl::dst
