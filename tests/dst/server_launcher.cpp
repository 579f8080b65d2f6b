// The launcher of a simulated server: its start, its death, its inputs.
#include <csignal>

#include "dst/server_worlds.h"

namespace sl::dst {

void ServerNode::start_launcher() {
  note("launcher starts");
  launcher_node_.come_alive();
  launcher_armed_ = Instant::never();
  launcher_ = std::make_unique<agent::LauncherLogic>(*launcher_world_, *launcher_world_);
  launcher_node_.run([this] { recover_launcher(); });
}

// Reads what its predecessor left, like launcher.cpp.
void ServerNode::recover_launcher() {
  sync_ends();
  launcher_->recover(disk_.launcher, boot_id());
  launcher_->settle(boot_clock());
  arm_launcher();
}

void ServerNode::launcher_died() {
  note("launcher dies");
  launcher_.reset();
  pipe_open_ = false;
  ++pipe_;
  obeys_signal_ = false;
  unseen_ends_.clear();
  context_.judge.memory_lost(server_name(number_));
  for (auto& [pid, tree] : trees_) tree.is_child = false;
  for (const agent::Started& started : agent::fenced_in(disk_.launcher.journal, boot_id())) {
    if (context_.plant == Plant::no_warden) {
      leader_ends(started.pid, SIGKILL);  // as the kernel does when its parent dies
    } else {
      kill_tree(started.key);
    }
  }
  if (!agent_node_.alive()) return;
  agent_node_.post(context_.between(0.001, 0.01), [this] {
    unbegun_.clear();
    agent_->on_launcher_lost();
    open_pipe();
  });
}

void ServerNode::launcher_input(const std::function<void()>& input) {
  input();
  launcher_->settle(boot_clock());
  arm_launcher();
}

void ServerNode::arm_launcher() {
  const Instant wake = launcher_->next_wake();
  if (wake.is_never() || wake == launcher_armed_) return;
  launcher_armed_ = wake;
  const double wait_s = std::max(0.0, (wake - boot_clock()).to_seconds()) / drift_ + 0.001;
  launcher_node_.post(Duration::seconds(wait_s), [this, wake] {
    if (launcher_armed_ == wake) launcher_armed_ = Instant::never();
    launcher_input([] {});
  });
}

}  // namespace sl::dst
