// The agent of a simulated server: its start, its death, the launcher and the controller as it meets them.
#include "agent/containers.h"
#include "agent/failed_ends.h"
#include "agent/files.h"
#include "agent/gpu_numbers.h"
#include "dst/server_worlds.h"
#include "wire/base64.h"

namespace sl::dst {

void ServerNode::start_agent() {
  if (!has_power_ || agent_node_.alive()) return;
  note("agent starts");
  agent_node_.come_alive();
  back_off_s_ = 0.1;
  agent_ = std::make_unique<agent::AgentLogic>(*agent_world_);
  sweeps_ = {};
  ++agents_ever_;
  agent_->restore_cluster(disk_.cluster);
  disk_.gpus = agent::number_gpus(look_at_gpus(), disk_.gpus);
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
  unbegun_.clear();
  agent_.reset();
  fetches_.clear();
  offers_.clear();
  image_searches_.clear();
  pipe_open_ = false;
  ++pipe_;
  const Instant back = std::max(context_.heap.now() + context_.between(0.1, 10), stays_away_);
  if (has_power_) context_.heap.after(back - context_.heap.now(), [this] { start_agent(); });
}

void ServerNode::open_pipe() {
  if (!launcher_node_.alive()) start_launcher();
  if (!launcher_node_.alive()) {  // it died while starting
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
    if (pipe != pipe_) return;
    launcher_input([&] {
      obeys_signal_ = fields.front() == "signal";
      launcher_->obey(fields, boot_clock());
      obeys_signal_ = false;
    });
  });
}

void ServerNode::agent_hears(const agent::Fields& fields) {
  if (auto state = agent::to_state(fields)) {
    look_at_answers();
    if (containers_.has(state->key)) state = explain_container(*state);
    state->gpus = agent::join_gpus(agent_->gpus_of(*state));
    const bool is_known = agent_->attempts().contains(state->key);
    agent_->on_launcher_state(explain(*state));
    if (!is_known && containers_.has(state->key)) agent_->on_image(state->key, std::string("sha256:1"), boot_clock());
  }
  if (fields.front() != "listed" || agent_->launcher_ready()) return;
  agent_->on_launcher_listed();
  forget_containers_of_none();
  say_hello();
}

// Like agent/containers.cpp.
agent::LauncherState ServerNode::explain_container(agent::LauncherState state) {
  unbegun_.erase(state.key);
  const bool has_begun = containers_.has_begun(state.key);
  if (state.state == "running" && !has_begun) {
    unbegun_[state.key] = state;
    state.state = "starting", state.started_us = 0;
  }
  if (state.state != "exited") return state;
  const bool may_be_left = containers_.may_be_left(state.key);
  if (may_be_left) sweeps_.ask();
  return agent::explained_by(containers_.report(state.key), !may_be_left || has_begun, state);
}

void ServerNode::look_at_beginnings() {
  std::vector<agent::LauncherState> begun;
  for (const auto& [key, state] : unbegun_) {
    if (containers_.has_begun(key)) begun.push_back(state);
  }
  for (const agent::LauncherState& state : begun) agent_hears(agent::to_fields(state));
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
      if (const auto* read = std::get_if<wire::LogRead>(&message)) return answer(*read, read->wait_s <= 0);
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
  agent_->on_session_opened(make_hello(), boot_clock());
  if (context_.faults.missing_gpus) send_telemetry();
}

wire::Hello ServerNode::make_hello() {
  wire::Hello hello;
  hello.call = ++disk_.calls;
  hello.server = hello.agent_id = server_name(number_);
  hello.container_engine = "docker 20.10";
  hello.cpus = 4;
  hello.copies_checkpoints = hello.resizes_in_place = hello.opens_channels = hello.sends_signals = true;
  hello.gpus = agent::with_missing_marked(disk_.gpus, agent::with_indexes_of(disk_.gpus, look_at_gpus()));
  return hello;
}

void ServerNode::tick() {
  agent_->tick(boot_clock());
  look_at_answers();
  look_at_beginnings();
  if (sweeps_.is_due(boot_clock())) sweep();
  ++ticks_;
  if (context_.calm && ticks_ % 40 == 0) containers_.check_leftovers(std::max(agent_lists_since_, context_.calm_since));
  if (ticks_ % 4 == 0) send_progress();
  if (ticks_ % 8 == 0 && context_.faults.missing_gpus) send_telemetry();
  agent_node_.post(Duration::milliseconds(250), [this] { tick(); });
}

// ---- what the live agent does beside its logic (agent.cpp) ----

void ServerNode::find_image(const std::string& key) {
  const int number = ++image_searches_ever_;
  image_searches_[key] = number;
  agent_node_.post(context_.between(0.001, context_.chance(0.1) ? 60 : 0.1), [this, key, number] {
    const auto at = image_searches_.find(key);
    if (at == image_searches_.end() || at->second != number) return;
    image_searches_.erase(at);
    Result<std::string> digest = std::string("sha256:1");
    if (containers_.engine().is_away()) digest = unavailable("lost", "the engine does not answer");
    if (context_.chance(0.01)) {
      digest = not_found("image", "no such image");
      context_.judge.image_failed(key);
    }
    agent_->on_image(key, digest, boot_clock());
  });
}

void ServerNode::forget_containers_of_none() {
  agent_lists_since_ = context_.heap.now();
  for (const std::string& key : containers_.keys()) {
    if (!agent_->attempts().contains(key)) containers_.forget(key);
  }
  sweeps_.ask();
}

void ServerNode::sweep() {
  sweeps_.begin(boot_clock());
  const auto is_awaited = [this, agent = agents_ever_] { return agent_ && agent == agents_ever_; };
  containers_.sweep(is_awaited, [this](bool all_gone) { sweeps_.on_done(all_gone, boot_clock()); });
}

void ServerNode::send_telemetry() {
  if (!session_) return;
  wire::Telemetry telemetry;
  telemetry.at_us = context_.heap.now().us;
  telemetry.gpus = agent::with_indexes_of(disk_.gpus, look_at_gpus());
  network_.send(session_, telemetry);
}

// As the driver's library lists them: by their place on the bus, and renumbered when one has fallen off.
std::vector<wire::GpuReport> ServerNode::look_at_gpus() const {
  std::vector<wire::GpuReport> gpus;
  for (int place = 0; place < gpus_; ++place) {
    const auto missing = missing_gpus_.find(place);
    if (!context_.calm && missing != missing_gpus_.end() && context_.heap.now() < missing->second) continue;
    wire::GpuReport& gpu = gpus.emplace_back();
    gpu.index = static_cast<int>(gpus.size()) - 1;
    gpu.uuid = uuid_of(place, number_);
    gpu.memory_total_bytes = gpu_memory_bytes;
  }
  return gpus;
}

// Like agent.cpp, except that the look takes no time.
agent::LauncherState ServerNode::explain(const agent::LauncherState& state) const {
  const auto known = agent_->attempts().find(state.key);
  const bool is_running = known != agent_->attempts().end() && known->second.report.state == "running";
  if (agent_->launcher_ready() && !is_running) return state;
  const std::vector<wire::GpuReport> present = agent::with_indexes_of(disk_.gpus, look_at_gpus());
  agent::LauncherState explained = agent::explained_by(present, state);
  if (explained.failure_kind != state.failure_kind) {
    std::set<int> places;
    for (const wire::GpuReport& gpu : present) places.insert(place_of(gpu.uuid));
    if (!context_.judge.may_be_gang(attempt_of(state.key).job)) context_.judge.gpu_is_blamed(state.key, places);
  }
  return explained;
}

// Steps are numbered so that each says of which attempt it is.
void ServerNode::send_progress() {
  for (const auto& [pid, tree] : trees_) {
    if (!tree.trains || !tree.leads || !session_) continue;
    const AttemptKey key = attempt_of(tree.key);
    wire::Progress progress;
    progress.incarnation = *sl::parse_key(tree.key);
    progress.step = static_cast<double>(key.job * 1'000'000'000 + key.attempt * 1'000'000 + ++steps_[tree.key]);
    progress.at_us = progress.step_at_us = context_.heap.now().us;
    context_.judge.progress_sent(progress);
    network_.send(session_, progress);
  }
}

// The output of an attempt is its key, line by line. Who waits for more of it gets none.
void ServerNode::answer(const wire::LogRead& request, bool last_chance) {
  if (!session_) return;
  const std::string key = key_of(request.incarnation);
  wire::LogChunk chunk;
  chunk.request = request.request;
  constexpr std::int64_t size = 1000;
  const std::int64_t from =
      std::clamp<std::int64_t>(request.offset < 0 ? size + request.offset : request.offset, 0, size);
  if (disk_.outputs.count(key) == 0) {
    chunk.error = "unknown-attempt";
  } else if (from == size && !last_chance) {
    agent_node_.post(Duration::seconds(request.wait_s), [this, request] { answer(request, true); });
    return;
  } else {
    const std::string line = to_string(attempt_of(key)) + "\n";
    std::string bytes;
    for (std::int64_t at = from; at < std::min(size, from + request.limit); ++at)
      bytes.push_back(line[static_cast<std::size_t>(at) % line.size()]);
    chunk.offset = from, chunk.size = size, chunk.data = wire::encode_base64(bytes);
  }
  network_.send(session_, chunk);
}

}  // namespace sl::dst
