#include "dst/server_node.h"

#include <csignal>

namespace sl::dst {
namespace {

std::vector<int> parse_list(const std::string& text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < text.size();
       at = text.find(',', at) == std::string::npos ? text.size() : text.find(',', at) + 1)
    numbers.push_back(std::atoi(text.c_str() + at));
  return numbers;
}

int exited(int code) { return code << 8; }  // as waitpid gives it

// What the job's command says of itself: "SECONDS CODE", how long it runs and how it ends.
std::pair<double, int> plan_of(const agent::LaunchOrder& order) {
  return {std::atof(order.arguments.at(0).c_str()), std::atoi(order.arguments.at(1).c_str())};
}

}  // namespace

// ---- what the launcher's logic asks for ----

class ServerNode::LauncherWorld : public agent::LauncherPorts {
 public:
  explicit LauncherWorld(ServerNode& server) : server_(server) {}

  Result<std::int64_t> spawn(const agent::LaunchOrder& order) override {
    server_.context_.crash_point();
    const std::int64_t pid = server_.spawn(order);
    server_.context_.crash_point();
    return pid;
  }
  void signal(std::int64_t pid, int number) override {
    server_.signal_process(pid, number);
    server_.context_.crash_point();
  }
  void write_end(const agent::LauncherState& state) override {
    server_.disk_.unsynced_ends[state.key] = state;
    server_.context_.crash_point();
  }
  void write_forgotten(const std::string& key) override {
    server_.disk_.forgotten.insert(key);
    server_.disk_.started.erase(key);
    server_.disk_.over.insert(key);
    server_.context_.crash_point();
  }
  void sync() override {
    server_.context_.crash_point();
    server_.sync_ends();
    server_.context_.crash_point();
  }
  void write_lease(Instant until) override {
    server_.disk_.lease = until;
    server_.disk_.lease_boot = server_.boots_;
    server_.context_.crash_point();
  }
  bool was_started(const std::string& key) override {
    return server_.disk_.started.count(key) != 0 || server_.disk_.over.count(key) != 0;
  }
  void tell(const agent::Fields& message) override {
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

// ---- what the agent's logic asks for ----

class ServerNode::AgentWorld : public agent::AgentPorts {
 public:
  explicit AgentWorld(ServerNode& server) : server_(server) {}

  void send(const wire::AgentMessage& message) override {
    server_.context_.crash_point();
    if (server_.session_) server_.network_.send(server_.session_, message);
    server_.context_.crash_point();
  }
  void launch(const std::string& key, const wire::StartAttempt& order) override {
    agent::LaunchOrder launch;
    launch.key = key;
    launch.fenced = order.spec.on_partition == "stop";
    for (const int gpu : order.gpus) launch.gpus += (launch.gpus.empty() ? "" : ",") + std::to_string(gpu);
    launch.arguments = std::get<std::vector<std::string>>(order.spec.command);
    server_.to_launcher(agent::to_fields(launch));
  }
  void signal(const std::string& key, int number) override {
    server_.to_launcher({"signal", key, std::to_string(number)});
  }
  void forget(const std::string& key) override { server_.to_launcher({"forget", key}); }
  void renew(Instant until) override {
    if (server_.context_.plant == Plant::no_lease) until = until + Duration::whole_seconds(100'000);
    server_.to_launcher({"lease", std::to_string(until.us)});
  }
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

// ---- power ----

ServerNode::ServerNode(Context& context, Network& network, ControllerNode& controller, int number, int gpus)
    : context_(context),
      network_(network),
      controller_(controller),
      number_(number),
      gpus_(gpus),
      launcher_node_(context.heap),
      agent_node_(context.heap),
      launcher_world_(std::make_unique<LauncherWorld>(*this)),
      agent_world_(std::make_unique<AgentWorld>(*this)) {
  if (context.faults.drift) drift_ = context.random.uniform(0.995, 1.005);
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

void ServerNode::boot() {
  note("boots");
  has_power_ = true;
  ++boots_;
  booted_ = context_.heap.now();
  start_agent();
}

void ServerNode::cut_power() {
  if (!has_power_) return;
  note("loses power");
  has_power_ = false;
  for (const auto& [pid, process] : processes_) context_.judge.ended(pid);
  processes_.clear();
  disk_.unsynced_ends.clear();
  launcher_node_.die();
  agent_node_.die();
  context_.heap.after(context_.between(10, 150), [this] { boot(); });
}

std::string ServerNode::why_not_quiet() const {
  std::string why = session_ ? "holds" : "without a session holds";
  for (const auto& [pid, process] : processes_) why += " the process of " + process.key;
  if (!agent_) return why + " and has no agent";
  for (const auto& [key, attempt] : agent_->attempts()) why += " " + key + " " + attempt.report.state;
  return why;
}

// ---- processes ----

std::int64_t ServerNode::spawn(const agent::LaunchOrder& order) {
  const std::int64_t pid = number_ * 1'000'000 + next_pid_++;
  const auto [seconds, code] = plan_of(order);
  const std::size_t dot = order.key.find('.');
  note(fmt::format("process {} of {} starts on GPUs {}", pid, order.key, order.gpus));
  processes_[pid] = {order.key, parse_list(order.gpus), order.fenced};
  disk_.started[order.key] = pid;
  context_.judge.started(
      pid, {std::atoll(order.key.c_str()), std::atoi(order.key.c_str() + dot + 1), number_, parse_list(order.gpus)});
  context_.heap.after(Duration::seconds(seconds), [this, pid, status = exited(code)] { process_ends(pid, status); });
  return pid;
}

void ServerNode::signal_process(std::int64_t pid, int number) {
  const auto at = processes_.find(pid);
  if (at == processes_.end() || number == SIGCONT) return;
  if (number == SIGKILL) return process_ends(pid, SIGKILL);
  if (std::exchange(at->second.signalled, true)) return;
  if (context_.random.chance(0.2)) return;  // it does not listen
  const int status = context_.random.chance(0.5) ? number : exited(context_.random.chance(0.5) ? 0 : 75);
  context_.heap.after(context_.between(0.01, 5), [this, pid, status] { process_ends(pid, status); });
}

void ServerNode::process_ends(std::int64_t pid, int status) {
  const auto at = processes_.find(pid);
  if (at == processes_.end()) return;
  note(fmt::format("process {} of {} ends with {:#x}", pid, at->second.key, status));
  const bool is_child = at->second.is_child;
  context_.judge.ended(pid);
  processes_.erase(at);
  launcher_node_.post(context_.between(0.00002, 0.001), [this, pid, is_child, status] {
    launcher_input([&] { launcher_->on_ended(pid, is_child ? status : agent::LauncherLogic::unknown_status); });
  });
}

void ServerNode::sync_ends() {
  for (const auto& [key, state] : disk_.unsynced_ends) {
    disk_.ends[key] = state;
    if (state.exit_code)
      context_.judge.exit_known(std::atoll(key.c_str()), std::atoi(key.c_str() + key.find('.') + 1), *state.exit_code);
  }
  disk_.unsynced_ends.clear();
}

// ---- launcher ----

void ServerNode::start_launcher() {
  note("launcher starts");
  launcher_node_.come_alive();
  launcher_armed_ = Instant::never();
  launcher_ = std::make_unique<agent::LauncherLogic>(*launcher_world_);
  launcher_node_.run([this] { recover_launcher(); });
}

// As launcher.cpp reads what its predecessor left.
void ServerNode::recover_launcher() {
  if (disk_.lease_boot == boots_) launcher_->restore_lease(disk_.lease);
  sync_ends();
  for (const auto& [key, state] : disk_.ends) {
    if (disk_.forgotten.count(key) == 0) launcher_->restore_ended(state);
  }
  for (const auto& [key, pid] : disk_.started) {
    if (disk_.ends.count(key) != 0) continue;
    agent::LauncherState state;
    state.key = key;
    state.state = "running";
    state.pid = pid;
    state.started_us = 1;
    const auto process = processes_.find(pid);
    if (process == processes_.end()) {
      launcher_->adopt_gone(state);
      continue;
    }
    for (const int gpu : process->second.gpus) state.gpus += (state.gpus.empty() ? "" : ",") + std::to_string(gpu);
    launcher_->adopt(state, process->second.fenced);
  }
  launcher_->settle(boot_clock());
  arm_launcher();
}

void ServerNode::launcher_died() {
  note("launcher dies");
  launcher_.reset();
  pipe_open_ = false;
  ++pipe_;
  const auto processes = processes_;
  for (const auto& [pid, process] : processes) {
    processes_[pid].is_child = false;
    if (process.fenced) process_ends(pid, SIGKILL);  // as its parent's death makes the kernel do
  }
  if (!agent_node_.alive()) return;
  agent_node_.post(context_.between(0.001, 0.01), [this] {
    if (launcher_node_.alive() && pipe_open_) return;
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

// ---- agent ----

void ServerNode::start_agent() {
  if (!has_power_ || agent_node_.alive()) return;
  note("agent starts");
  agent_node_.come_alive();
  back_off_s_ = 0.1;
  agent_ = std::make_unique<agent::AgentLogic>(*agent_world_);
  agent_node_.run([this] {
    open_pipe();
    tick();
    connect();
  });
}

void ServerNode::agent_died() {
  note("agent dies");
  network_.node_died(agent_node_);
  session_.reset();
  agent_.reset();
  pipe_open_ = false;
  ++pipe_;
  if (has_power_) context_.heap.after(context_.between(0.1, 10), [this] { start_agent(); });
}

void ServerNode::open_pipe() {
  if (!launcher_node_.alive()) start_launcher();
  if (!launcher_node_.alive()) {  // died while it started
    agent_node_.post(Duration::milliseconds(500), [this] {
      if (!pipe_open_) open_pipe();
    });
    return;
  }
  ++pipe_;
  pipe_open_ = true;
  to_launcher({"list"});
}

void ServerNode::to_launcher(const agent::Fields& fields) {
  context_.crash_point();
  if (!pipe_open_) return;
  last_to_launcher_ = std::max(context_.heap.now() + context_.between(0.00002, 0.002), last_to_launcher_ + Duration{1});
  launcher_node_.post(last_to_launcher_ - context_.heap.now(), [this, fields, pipe = pipe_] {
    if (pipe == pipe_) launcher_input([&] { launcher_->obey(fields, boot_clock()); });
  });
}

void ServerNode::agent_hears(const agent::Fields& fields) {
  if (const auto state = agent::to_state(fields)) agent_->on_launcher_state(*state);
  if (fields.front() != "listed" || agent_->launcher_ready()) return;
  agent_->on_launcher_listed();
  say_hello();
}

void ServerNode::connect() {
  if (session_) return;
  agent_node_.post(context_.between(0.001, 0.05), [this] {
    if (session_) return;
    if (network_.is_cut(number_) || !controller_.alive() || controller_.node().frozen()) return retry();
    session_ = network_.open(number_, agent_node_, controller_.node());
    session_->to_agent = [this, session = std::weak_ptr(session_)](const wire::ControllerMessage& message) {
      if (session.lock() != session_) return;
      if (std::holds_alternative<wire::Welcome>(message)) back_off_s_ = 0.1;
      agent_->on_message(message, boot_clock());
    };
    session_->agent.on_close = [this, session = std::weak_ptr(session_)] {
      if (session.lock() != session_) return;
      session_.reset();
      agent_->on_session_closed();
      retry();
    };
    controller_.accept(session_);
    say_hello();
  });
}

void ServerNode::retry() {
  const double wait_s = back_off_s_ * context_.random.uniform(0.5, 1.0);
  back_off_s_ = std::min(5.0, back_off_s_ * 2);
  agent_node_.post(Duration::seconds(wait_s), [this] { connect(); });
}

void ServerNode::say_hello() {
  if (!session_ || !agent_->launcher_ready()) return;
  wire::Hello hello;
  hello.server = fmt::format("server{}", number_);
  hello.agent_id = hello.server;
  hello.gpus.resize(static_cast<std::size_t>(gpus_));
  for (int gpu = 0; gpu < gpus_; ++gpu) hello.gpus[static_cast<std::size_t>(gpu)].index = gpu;
  agent_->on_session_opened(std::move(hello), boot_clock());
}

void ServerNode::tick() {
  agent_->tick(boot_clock());
  agent_node_.post(Duration::milliseconds(250), [this] { tick(); });
}

}  // namespace sl::dst
