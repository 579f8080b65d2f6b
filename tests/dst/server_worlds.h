// What the logic of launcher and agent needs from the simulated server (server_node.h).
#pragma once

#include "dst/server_node.h"

namespace sl::dst {

class ServerNode::LauncherWorld : public agent::Runtime, public agent::LauncherPorts {
 public:
  explicit LauncherWorld(ServerNode& server) : server_(server) {}

  Result<std::int64_t> start(const agent::LaunchOrder& order) override {
    server_.context_.crash_point();
    const Result<std::int64_t> pid = server_.spawn(order);
    server_.context_.crash_point();
    return pid;
  }
  // By its number alone: when a process began is counted from the boot too, and may agree.
  bool adopt(const agent::Started& started) override {
    const auto tree = server_.trees_.find(started.pid);
    return server_.strangers_.count(started.pid) != 0 || (tree != server_.trees_.end() && tree->second.leads);
  }
  void join(const agent::JoinOrder&) override {}                    // nobody wants a shell
  void limit(const std::string&, const agent::Limits&) override {}  // the kernel's work, which is not simulated
  agent::MemoryUse memory_use(const std::string&) override { return {}; }
  agent::Enforced enforces() override { return {}; }
  void signal(const std::string& key, int number) override {
    server_.note_signal(key);
    server_.signal_leader(key, number);
    server_.context_.crash_point();
  }
  void kill(const std::string& key) override {
    server_.note_signal(key);
    server_.kill_tree(key);
    server_.context_.crash_point();
  }
  void freeze(const std::string& key) override {
    server_.freeze_tree(key, true);
    server_.context_.crash_point();
  }
  void thaw(const std::string& key) override {
    server_.freeze_tree(key, false);
    server_.context_.crash_point();
  }
  bool is_frozen(const std::string& key) override {
    const Tree* tree = server_.find_tree(key);
    return tree && tree->frozen;
  }
  bool is_gone(const std::string& key) override {
    if (server_.context_.plant == Plant::leader_only) return true;
    return server_.find_tree(key) == nullptr && !server_.containers_.has_process(key);
  }
  void forget(const std::string&) override { server_.context_.crash_point(); }
  void write_end(const agent::LauncherState& state) override {
    server_.context_.judge.writes_end(state);
    server_.disk_.unsynced_ends[state.key] = state;
    server_.context_.crash_point();
  }
  void write_forgotten(const std::string& key) override {
    server_.context_.judge.launcher_forgets(server_name(server_.number_), key);
    server_.disk_.launcher.journal.started.erase(key);
    server_.disk_.launcher.journal.ends.erase(key);
    server_.context_.crash_point();
  }
  void sync() override {
    server_.context_.crash_point();
    server_.sync_ends();
    server_.context_.crash_point();
  }
  void write_lease(Instant until) override {
    server_.disk_.launcher.lease = {server_.boot_id(), until};
    server_.context_.crash_point();
  }
  bool was_started(const std::string& key) override { return server_.disk_.outputs.count(key) != 0; }
  void tell(const agent::Fields& message) override {
    if (const auto state = agent::to_state(message)) server_.context_.judge.launcher_tells(*state);
    server_.context_.crash_point();
    if (!server_.pipe_open_) return;
    Instant& last = server_.last_to_agent_;
    last = std::max(server_.context_.heap.now() + server_.context_.between(0.00002, 0.002), last + Duration{1});
    server_.agent_node_.post(last - server_.context_.heap.now(), [this, message, pipe = server_.pipe_] {
      if (pipe == server_.pipe_ && server_.pipe_open_) server_.agent_hears(message);
    });
  }
  std::int64_t wall_us() override { return server_.context_.heap.now().us; }

 private:
  ServerNode& server_;
};

class ServerNode::AgentWorld : public agent::AgentPorts {
 public:
  explicit AgentWorld(ServerNode& server) : server_(server) {}

  void send(const wire::AgentMessage& message) override {
    server_.context_.crash_point();
    if (server_.session_) server_.network_.send(server_.session_, message);
    server_.context_.crash_point();
  }
  Status launch(const std::string& key, const wire::StartAttempt& order,
                const std::vector<wire::AttemptPart>&) override {
    if (!server_.session_) throw Violation(key + " is launched in a session that is over");
    server_.context_.judge.launches(server_name(server_.number_), key);
    if (!server_.context_.calm && server_.context_.heap.now() < server_.full_until_)
      return unavailable("server_setup", "no space left");
    agent::LaunchOrder launch;
    launch.key = key;
    launch.fenced = order.spec.on_partition == "stop";
    launch.gpus = agent::join_gpus(order.placement.gpus);
    launch.environment = order.placement.gpu_uuids;  // as CUDA_VISIBLE_DEVICES has them
    launch.arguments = std::get<std::vector<std::string>>(order.spec.command);
    // Of several servers the first one reports and keeps the checkpoint.
    const bool is_first = order.placement.rank == 0;
    if (!is_first && launch.arguments[3] == "trains") launch.arguments[3] = "plain";
    if (order.spec.image) {
      launch.has_container = true;
      server_.containers_.order(key, wire::container_name(order.incarnation, order.placement.rank));
    }
    launch.arguments.push_back(is_first && order.spec.checkpoint.dir ? "checkpoint" : "");
    server_.to_launcher(agent::to_fields(launch));
    return {};
  }
  Result<int> prepare(const std::string&, const wire::StartAttempt&) override {
    if (!server_.context_.calm && server_.context_.heap.now() < server_.full_until_)
      return unavailable("server_setup", "no space left");
    return ++server_.next_port_;
  }
  void abandon(const std::string&) override {}
  void freeze(const std::string& key, bool frozen) override { server_.to_launcher({frozen ? "freeze" : "thaw", key}); }
  Status ask_to_resize(const std::string& key, const wire::ResizeAttempt& order) override {
    server_.context_.crash_point();
    if (!server_.context_.calm && server_.context_.heap.now() < server_.full_until_)
      return unavailable("server_setup", "no space left");
    server_.ask_to_resize(key, order.placement);
    server_.context_.crash_point();
    return {};
  }
  Status keep_gpus(const std::string& key, const agent::ResizedGpus& gpus) override {
    server_.context_.crash_point();
    if (!server_.context_.calm && server_.context_.heap.now() < server_.full_until_)
      return unavailable("server_setup", "no space left");
    agent::ResizedGpus& kept = server_.disk_.resized[key];
    if (!gpus.asked.empty() && kept.asked != gpus.asked) server_.disk_.answers.erase(key);
    server_.context_.crash_point();
    kept = gpus;
    server_.context_.crash_point();
    return {};
  }
  std::optional<agent::ResizedGpus> kept_gpus(const std::string& key) override {
    const auto at = server_.disk_.resized.find(key);
    if (at == server_.disk_.resized.end()) return std::nullopt;
    const bool has_answered = !at->second.asked.empty() && server_.disk_.answers.contains(key);
    return has_answered ? agent::ResizedGpus{at->second.asked, {}} : at->second;
  }
  void fetch(const std::string& key, const wire::StartAttempt& order) override {
    server_.fetch(key, order.checkpoint->server);
  }
  void find_image(const std::string& key, const wire::StartAttempt&) override { server_.find_image(key); }
  void end_find_image(const std::string& key) override { server_.image_searches_.erase(key); }
  void find_code(const std::string&, const wire::StartAttempt&) override {}
  void end_find_code(const std::string&) override {}
  void end_fetch(const std::string& key, bool) override { server_.end_fetch(key); }
  void offer(const wire::OfferCheckpoint& order) override { server_.offer(order); }
  void signal(const std::string& key, int number) override {
    server_.to_launcher({"signal", key, std::to_string(number)});
  }
  void pass_on(const std::string& key, int number) override {
    server_.to_launcher({"pass_on", key, std::to_string(number)});
  }
  void forget(const std::string& key) override {
    server_.to_launcher({"forget", key});
    server_.containers_.forget(key);
  }
  void renew(Instant until) override {
    server_.context_.judge.counts_lease(server_name(server_.number_), server_.world_time(until - lease));
    if (server_.context_.plant == Plant::no_lease) until = until + Duration::whole_seconds(100'000);
    server_.to_launcher({"lease", std::to_string(until.us)});
  }
  void remember(const agent::KnownCluster& cluster) override { server_.disk_.cluster = cluster; }
  void disconnect() override {
    if (!server_.session_) return;
    server_.note("agent gives up its session");
    server_.network_.close(server_.session_, false);
    server_.session_.reset();
    server_.retry();
  }

 private:
  ServerNode& server_;
};

}  // namespace sl::dst
