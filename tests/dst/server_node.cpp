#include <algorithm>
#include <csignal>

#include "dst/server_worlds.h"

namespace sl::dst {
namespace {

int exited(int code) { return code << 8; }  // as from waitpid

// What a job's command says of itself (World::draw_job).
struct JobPlan {
  double seconds;    // how long an attempt runs
  int code;          // how the last one ends
  int again_until;   // attempts up to this one end with "start me again"
  std::string kind;  // plain, trains, missing (no such program), hungry (for memory)
  bool keeps_checkpoint;
};

JobPlan plan_of(const agent::LaunchOrder& order) {
  const agent::Fields& words = order.arguments;
  return {std::atof(words.at(0).c_str()), std::atoi(words.at(1).c_str()), std::atoi(words.at(2).c_str()), words.at(3),
          words.at(4) == "checkpoint"};
}

// The GPUs that its environment names (server_worlds.h), by their place on the bus.
std::vector<int> visible_gpus(const agent::LaunchOrder& order) {
  std::vector<int> gpus;
  for (const std::string& uuid : order.environment) gpus.push_back(place_of(uuid));
  return gpus;
}

}  // namespace

// ---- power ----

ServerNode::ServerNode(Context& context, Network& network, ControllerNode& controller, int number, int gpus)
    : context_(context),
      network_(network),
      controller_(controller),
      number_(number),
      gpus_(gpus),
      containers_(make_containers()),
      launcher_node_(context.heap),
      agent_node_(context.heap),
      launcher_world_(std::make_unique<LauncherWorld>(*this)),
      agent_world_(std::make_unique<AgentWorld>(*this)) {
  if (context.faults.drift) drift_ = context.random.uniform(0.995, 1.005);
  context_.servers[server_name(number)] = this;
  launcher_node_.on_death = [this] { launcher_died(); };
  agent_node_.on_death = [this] { agent_died(); };
}

ServerNode::~ServerNode() = default;

void ServerNode::note(const std::string& text) const {
  context_.note(fmt::format("server {}", number_).c_str(), "{}", text);
}

Instant ServerNode::boot_clock() const {
  return Instant{1} + Duration::seconds((context_.heap.now() - booted_).to_seconds() * drift_);
}

Instant ServerNode::world_time(Instant boot_time) const {
  return booted_ + Duration::seconds((boot_time - Instant{1}).to_seconds() / drift_);
}

void ServerNode::boot() {
  note("boots");
  has_power_ = true;
  stays_away_ = {};
  ++boots_;
  booted_ = context_.heap.now();
  next_pid_ = number_ * 1'000'000 + 1'000;
  strangers_.clear();
  for (const auto& [key, started] : disk_.launcher.journal.started) {
    if (context_.random.chance(0.5)) strangers_.insert(started.pid);
  }
  start_agent();
}

void ServerNode::kill_both(Duration away) {
  stays_away_ = context_.heap.now() + away;
  agent_node_.die();
  launcher_node_.die();
}

void ServerNode::fill_disk(Duration time) {
  note(fmt::format("has a full disk for {:.1f} s", time.to_seconds()));
  full_until_ = context_.heap.now() + time;
}

void ServerNode::cut_power(Duration time) {
  if (!has_power_) return;
  note("loses power");
  has_power_ = false;
  context_.judge.memory_lost(server_name(number_));
  for (const auto& [pid, tree] : trees_) context_.judge.ended(pid);
  trees_.clear();
  containers_.power_lost();
  unseen_ends_.clear();
  disk_.unsynced_ends.clear();
  strangers_.clear();
  launcher_node_.die();
  network_.node_vanished(agent_node_);
  agent_node_.die();
  context_.heap.after(time, [this] { boot(); });
}

void ServerNode::lose_gpu(Duration time) {
  const auto gpu = static_cast<int>(context_.random.integer(0, gpus_ - 1));
  note(fmt::format("GPU {} falls off the bus for {:.1f} s", gpu, time.to_seconds()));
  missing_gpus_[gpu] = context_.heap.now() + time;
  for (const auto& [pid, tree] : trees_) {
    const bool has_it = std::find(tree.gpus.begin(), tree.gpus.end(), gpu) != tree.gpus.end();
    if (!has_it || context_.random.chance(0.5)) continue;
    later(context_.between(0.001, 5), [this, pid = pid] { job_ends(pid, exited(3)); });
  }
}

std::string ServerNode::why_not_quiet() const {
  std::string why = session_ ? "holds" : "without a session holds";
  for (const auto& [pid, tree] : trees_) why += " processes of " + tree.key;
  if (!agent_) return why + " and has no agent";
  for (const auto& [key, attempt] : agent_->attempts()) why += " " + key + " " + attempt.report.state;
  if (!launcher_) return why + " and has no launcher";
  for (const auto& [key, attempt] : launcher_->attempts()) why += " " + key + " (launcher)";
  return why;
}

// ---- processes ----

Result<std::int64_t> ServerNode::spawn(const agent::LaunchOrder& order) {
  const JobPlan plan = plan_of(order);
  disk_.outputs.insert(order.key);
  if (plan.kind == "missing" && !order.has_container) {
    context_.judge.setup_failed(order.key);
    return invalid("setup", "no such command");
  }
  while (strangers_.count(next_pid_) != 0) ++next_pid_;
  const std::int64_t pid = next_pid_++;
  const AttemptKey key = attempt_of(order.key);
  note(fmt::format("process {} of {} starts on GPUs {}", pid, order.key, order.gpus));
  if (plan.keeps_checkpoint && !order.has_container) use_checkpoint(key);
  Tree& tree = trees_[pid];
  tree.has_container = order.has_container;
  tree.keeps_checkpoint = plan.keeps_checkpoint;
  tree.key = order.key, tree.gpus = visible_gpus(order), tree.fenced = order.fenced;
  tree.trains = plan.kind == "trains";
  tree.has_stray = !order.has_container && context_.random.chance(0.3);
  disk_.launcher.journal.started[order.key] = {order.key, pid, 1, 1, order.gpus, order.fenced, boot_id(), ""};
  context_.judge.started(pid, {key, server_name(number_), tree.gpus, false, order.has_container});
  const int status = exited(key.attempt <= plan.again_until ? 75 : plan.code);
  if (order.has_container)
    containers_.start(order.key, {plan.seconds, status, plan.kind == "missing", plan.kind == "hungry"});
  else
    later(Duration::seconds(plan.seconds), [this, pid, status] { leader_ends(pid, status); });
  return pid;
}

void ServerNode::later(Duration delay, std::function<void()> what) {
  context_.heap.after(delay, [this, boot = boots_, what = std::move(what)] {
    if (boot == boots_) what();
  });
}

ServerNode::Tree* ServerNode::find_tree(const std::string& key) {
  const auto at = std::find_if(trees_.begin(), trees_.end(), [&](const auto& item) { return item.second.key == key; });
  return at == trees_.end() ? nullptr : &at->second;
}

std::optional<std::int64_t> ServerNode::target_of(const std::string& key) const {
  const auto started = disk_.launcher.journal.started.find(key);
  if (started == disk_.launcher.journal.started.end()) return std::nullopt;
  const std::int64_t pid = started->second.pid;
  require(strangers_.count(pid) == 0, "the process {} is signalled for {}, and no attempt has started it", pid, key);
  const auto tree = trees_.find(pid);
  if (tree == trees_.end()) return std::nullopt;
  require(tree->second.key == key, "the process {} is signalled for {}, and is of {}", pid, key, tree->second.key);
  return pid;
}

void ServerNode::signal_leader(const std::string& key, int number) {
  const auto pid = target_of(key);
  if (!pid || number == SIGCONT || std::exchange(trees_.at(*pid).signalled, true)) return;
  if (trees_.at(*pid).has_container) return containers_.signal(key, number);
  if (context_.random.chance(0.2)) return;  // it ignores the signal
  const int status = context_.random.chance(0.5) ? number : exited(context_.random.chance(0.5) ? 0 : 75);
  later(context_.between(0.01, 5), [this, pid = *pid, status] { leader_ends(pid, status); });
}

// The leader at once, what else there is when the kernel gets to it: a process may hang in it for long.
void ServerNode::kill_tree(const std::string& key) {
  const auto pid = target_of(key);
  if (!pid) return;
  const bool hangs = !trees_.at(*pid).fenced && context_.chance(0.05);
  later(context_.between(0.0001, hangs ? 20 : 0.05), [this, pid = *pid, key] {
    stray_ends(pid);
    containers_.kill(key);
  });
  leader_ends(*pid, SIGKILL);
}

void ServerNode::freeze_tree(const std::string& key, bool frozen) {
  const auto pid = target_of(key);
  if (!pid) return;
  Tree& tree = trees_.at(*pid);
  if (std::exchange(tree.frozen, frozen) == frozen) return;
  note(fmt::format("process {} of {} is {}", *pid, key, frozen ? "frozen" : "thawed"));
  if (frozen || !tree.signalled) context_.judge.frozen(*pid, frozen);  // one that was thawed to end computes no more
  if (tree.has_container) return containers_.freeze(key, frozen);
  const auto status = std::exchange(tree.end_when_thawed, {});
  if (status) later(context_.between(0.0001, 1), [this, pid = *pid, status] { leader_ends(pid, *status); });
}

std::int64_t ServerNode::leader_of(const std::string& key) const {
  const auto at = std::ranges::find_if(trees_, [&](const auto& item) { return item.second.key == key; });
  return at == trees_.end() ? 0 : at->first;
}

void ServerNode::job_ends(std::int64_t pid, int status) {
  const auto at = trees_.find(pid);
  if (at == trees_.end()) return;
  at->second.has_container ? containers_.end_job(at->second.key, status) : leader_ends(pid, status);
}

Containers ServerNode::make_containers() {
  return Containers(context_, server_name(number_),
                    {.later = [this](Duration delay, std::function<void()> what) { later(delay, std::move(what)); },
                     .is_disk_full = [this] { return !context_.calm && context_.heap.now() < full_until_; },
                     .runner_ends = [this](const std::string& key, int status) { leader_ends(leader_of(key), status); },
                     .process_ends =
                         [this](const std::string& key) {
                           if (const std::int64_t pid = leader_of(key)) drop_if_gone(pid);
                         },
                     .job_begins =
                         [this](const std::string& key) {
                           if (const Tree* tree = find_tree(key); tree && tree->keeps_checkpoint)
                             use_checkpoint(attempt_of(key));
                         },
                     .note = [this](const std::string& text) { note(text); }});
}

// Sooner or later, or never, it goes over to them, also when it is being stopped meanwhile.
void ServerNode::ask_to_resize(const std::string& key, const wire::Placement& placement) {
  if (disk_.answers.contains(key) || context_.random.chance(0.2)) return;
  later(context_.between(0.001, 8), [this, key, placement] {
    Tree* tree = find_tree(key);
    const auto kept = disk_.resized.find(key);
    const bool is_asked = kept != disk_.resized.end() && kept->second.asked == placement.gpus;
    if (!tree || !tree->leads || tree->frozen || !is_asked) return;
    tree->gpus.clear();
    for (const std::string& uuid : placement.gpu_uuids) tree->gpus.push_back(place_of(uuid));
    note(fmt::format("{} goes over to other GPUs", key));
    const auto pid = std::ranges::find_if(trees_, [&](const auto& item) { return &item.second == tree; })->first;
    context_.judge.resized(pid, tree->gpus);
    disk_.answers.insert(key);
  });
}

// Like the live agent's tick.
void ServerNode::look_at_answers() {
  std::vector<std::string> done;
  for (const auto& [key, attempt] : agent_->attempts()) {
    if (attempt.resizing && disk_.answers.contains(key)) done.push_back(key);
  }
  for (const std::string& key : done) agent_->on_resized(key);
}

// The launcher signals an attempt whose end it has not seen.
void ServerNode::note_signal(const std::string& key) {
  const Tree* tree = find_tree(key);
  if ((tree && tree->leads) || unseen_ends_.count(key) != 0) context_.judge.signalled(key, obeys_signal_);
}

void ServerNode::leader_ends(std::int64_t pid, int status) {
  const auto at = trees_.find(pid);
  if (at == trees_.end() || !at->second.leads) return;
  Tree& tree = at->second;
  if (tree.frozen && status != SIGKILL) {
    tree.end_when_thawed = status;
    return;
  }
  note(fmt::format("process {} of {} ends with {:#x}{}", pid, tree.key, status, tree.has_stray ? ", not alone" : ""));
  tree.leads = false;
  if (tree.has_container) containers_.runner_ended(tree.key);
  unseen_ends_.insert(tree.key);
  launcher_node_.post(context_.between(0.00002, 0.001), [this, tree, status] {
    unseen_ends_.erase(tree.key);
    launcher_input(
        [&] { launcher_->on_ended(tree.key, tree.is_child ? status : agent::LauncherLogic::unknown_status); });
  });
  drop_if_gone(pid);
}

void ServerNode::stray_ends(std::int64_t pid) {
  const auto at = trees_.find(pid);
  if (at == trees_.end() || !std::exchange(at->second.has_stray, false)) return;
  note(fmt::format("the last process of {} ends", at->second.key));
  drop_if_gone(pid);
}

void ServerNode::drop_if_gone(std::int64_t pid) {
  if (trees_[pid].leads || trees_[pid].has_stray || containers_.has_process(trees_[pid].key)) return;
  context_.judge.ended(pid);
  trees_.erase(pid);
}

void ServerNode::sync_ends() {
  for (const auto& [key, state] : disk_.unsynced_ends) {
    disk_.launcher.journal.ends[key] = state;
    context_.judge.wrote_end(server_name(number_), state, containers_.report(key));
  }
  disk_.unsynced_ends.clear();
}

}  // namespace sl::dst
