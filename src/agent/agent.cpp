#include "agent/agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "agent/agent_logic.h"
#include "agent/environment.h"
#include "agent/files.h"
#include "agent/gpu_probe.h"
#include "agent/machine.h"
#include "net/websocket.h"

extern char** environ;

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

constexpr Duration tick_interval = Duration::milliseconds(250);
constexpr Duration log_poll_interval = Duration::milliseconds(20);
constexpr int ticks_per_telemetry = 8;
constexpr std::size_t unsent_bytes_max = 64 << 20;  // to a launcher that does not read

Instant clock_now() {
  using namespace std::chrono;
  return Instant{duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()};
}

// What leases and graces are counted in: goes on while the machine sleeps, never jumps.
Instant boot_now() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return Instant{static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

std::string random_id() {
  std::random_device device;
  char text[33];
  for (int i = 0; i < 4; ++i) std::snprintf(text + 8 * i, 9, "%08x", device());
  return text;
}

// Where this program lies. As the kernel was told to run it when there is no /proc.
std::string own_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const auto* told = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return (failed ? fs::absolute(told ? told : ".") : program).parent_path();
}

struct PendingRead {
  wire::LogRead request;
  Instant answer_by;
};

class LiveAgent : public Agent, private AgentPorts {
 public:
  LiveAgent(net::EventLoop& loop, AgentSettings settings, std::unique_ptr<GpuProbe> probe, int lock)
      : loop_(loop),
        settings_(std::move(settings)),
        probe_(std::move(probe)),
        lock_(lock),
        logic_(*this),
        back_off_(std::random_device{}()) {}

  ~LiveAgent() override {
    alive_.reset();
    if (socket_) socket_->set_callbacks({}), socket_->close("agent stopped");
    disconnect_launcher();
    ::close(lock_);
  }

  Status begin() {
    agent_id_ = read_text(settings_.data_dir + "/agent_id");
    if (agent_id_.empty()) {
      agent_id_ = random_id();
      std::ofstream(settings_.data_dir + "/agent_id") << agent_id_;
    }
    ::mkdir((settings_.data_dir + "/jobs").c_str(), 0700);
    std::ofstream(torchrun_path()) << torchrun_text;
    if (Status ready = connect_launcher(); !ready.ok()) return ready;
    tick();
    connect_controller();
    return {};
  }

  void stop_jobs(std::function<void()> done) override {
    stopped_ = std::move(done);
    for (const auto& [key, attempt] : logic_.attempts()) {
      if (attempt.report.state != "exited") to_launcher({"signal", key, std::to_string(SIGTERM)});
    }
    kill_all_at_ = boot_now() + Duration::whole_seconds(10);
    finish_if_stopped();
  }

 private:
  std::string attempt_dir(const std::string& key) const { return settings_.data_dir + "/attempts/" + key; }
  std::string torchrun_path() const { return settings_.data_dir + "/schedulearn_torchrun.py"; }

  // ---- AgentPorts ----
  void send(const wire::AgentMessage& message) override {
    if (socket_) socket_->send(wire::encode(message));
  }
  void launch(const std::string& key, const wire::StartAttempt& order) override;
  void signal(const std::string& key, int number) override {
    if (number != SIGKILL) std::ofstream(attempt_dir(key) + "/notice") << "stop\n";
    to_launcher({"signal", key, std::to_string(number)});
  }
  void forget(const std::string& key) override { to_launcher({"forget", key}); }
  void renew(Instant until) override { to_launcher({"lease", std::to_string(until.us)}); }
  void disconnect() override;

  // ---- launcher ----
  Status connect_launcher();
  Status spawn_launcher();
  bool try_launcher_socket();
  void disconnect_launcher() {
    launcher_watch_.reset();
    unsent_.clear();
    if (launcher_ >= 0) ::close(std::exchange(launcher_, -1));
  }
  void to_launcher(const Fields& fields);
  void flush_launcher();
  void read_launcher();
  void lose_launcher();
  void finish_if_stopped();

  // ---- controller ----
  void connect_controller();
  void lose_session();
  void retry_controller();
  void say_hello();
  void on_frame(const std::string& text);

  // ---- the rest of the machine ----
  void tick();
  void send_telemetry();
  void read_metrics();
  void read_metrics_of(const std::string& key, const HeldAttempt& attempt);
  std::int64_t output_limit_of(const std::string& key);
  std::vector<wire::GpuReport> sample_gpus();
  bool is_ours(std::int64_t pid) const;
  void answer_read(const wire::LogRead& request, bool last_chance);
  bool try_answer(const wire::LogRead& request, bool last_chance);
  void poll_reads();

  net::EventLoop& loop_;
  AgentSettings settings_;
  std::unique_ptr<GpuProbe> probe_;
  int lock_;
  AgentLogic logic_;
  std::string agent_id_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  int launcher_ = -1;
  FrameReader reader_;
  std::string unsent_;  // to the launcher
  std::shared_ptr<net::EventLoop::Watch> launcher_watch_;

  std::shared_ptr<net::WebSocket> socket_;
  int session_ = 0;  // counts sockets: what an older one still says is not heard
  std::shared_ptr<void> connecting_;
  std::shared_ptr<net::EventLoop::Timer> retry_, launcher_retry_, tick_, log_poll_;
  double retry_s_ = 0.1;
  std::mt19937 back_off_;

  int ticks_ = 0;
  bool told_of_output_ = false;
  std::pair<double, double> cpu_before_ = cpu_ticks();
  std::map<std::string, std::int64_t> metrics_offsets_, output_limits_;
  std::vector<PendingRead> pending_reads_;
  std::function<void()> stopped_;
  Instant kill_all_at_ = Instant::never();
};

// ---- launcher ----

bool LiveAgent::try_launcher_socket() {
  const int folder = ::open(settings_.data_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = settings_.data_dir + "/launcher.sock";
  // A data directory's path may be longer than a socket's name can be: then through its descriptor.
  if (path.size() >= sizeof address.sun_path) path = "/proc/self/fd/" + std::to_string(folder) + "/launcher.sock";
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(folder);
  connected ? void(launcher_ = fd) : void(::close(fd));
  return connected;
}

Status LiveAgent::spawn_launcher() {
  std::string program = settings_.launcher_program;
  if (program.empty()) program = own_folder() + "/schedulearn-launcher";
  if (::access(program.c_str(), X_OK) != 0)
    return internal_error("launcher-missing", "the program that starts jobs is missing: " + program)
        .hint("install schedulearn again");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSID));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  const std::string log = settings_.data_dir + "/launcher.log";
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  // It outlives us. What it inherited would too: under `up` the controller's port, which nobody could listen on again.
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  char* arguments[] = {program.data(), settings_.data_dir.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &files, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return internal_error("launcher-missing", "cannot start " + program + ": " + std::strerror(error));
  std::thread([pid] { ::waitpid(pid, nullptr, 0); }).detach();  // no zombie, should it end before us
  return {};
}

Status LiveAgent::connect_launcher() {
  if (!try_launcher_socket()) {
    if (Status spawned = spawn_launcher(); !spawned.ok()) return spawned;
    for (int i = 0; i < 500 && launcher_ < 0; ++i) {
      if (!try_launcher_socket()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (launcher_ < 0)
      return internal_error("launcher-missing",
                            "the launcher does not answer; see " + settings_.data_dir + "/launcher.log");
  }
  reader_ = {};
  launcher_watch_ = loop_.on_readable(launcher_, [this] { read_launcher(); });
  to_launcher({"list"});
  return {};
}

// Never waits for a launcher that does not read.
void LiveAgent::to_launcher(const Fields& fields) {
  if (launcher_ < 0) return;
  unsent_ += frame(fields);
  flush_launcher();
  if (unsent_.size() > unsent_bytes_max) ::shutdown(launcher_, SHUT_RDWR);  // read_launcher sees it
}

void LiveAgent::flush_launcher() {
  while (launcher_ >= 0 && !unsent_.empty()) {
    const ssize_t n = ::send(launcher_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) return;
    unsent_.erase(0, static_cast<std::size_t>(n));
  }
}

void LiveAgent::read_launcher() {
  char buffer[65536];
  const ssize_t n = ::recv(launcher_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return lose_launcher();
  reader_.add(std::string_view(buffer, static_cast<std::size_t>(n)));
  while (const auto fields = reader_.next()) {
    if (const auto state = to_state(*fields)) {
      if (state->state == "exited") {  // its last lines before its end
        const auto at = logic_.attempts().find(state->key);
        if (at != logic_.attempts().end()) read_metrics_of(state->key, at->second);
      }
      logic_.on_launcher_state(*state);
    }
    if (!fields->empty() && fields->front() == "listed" && !logic_.launcher_ready()) {
      logic_.on_launcher_listed();
      say_hello();
    }
  }
  finish_if_stopped();
}

// Killed, with jobs of it perhaps alive: the next one adopts them.
void LiveAgent::lose_launcher() {
  disconnect_launcher();
  logic_.on_launcher_lost();
  if (stopped_) return finish_if_stopped();
  const Status again = connect_launcher();
  if (again.ok()) return;
  std::fprintf(stderr, "schedulearn agent: %s\n", again.error().message.c_str());
  launcher_retry_ = loop_.after(Duration::whole_seconds(1), [this] { lose_launcher(); });
}

void LiveAgent::finish_if_stopped() {
  if (!stopped_) return;
  for (const auto& [key, attempt] : logic_.attempts()) {
    if (attempt.report.state != "exited" && launcher_ >= 0) return;
  }
  to_launcher({"shutdown"});
  disconnect_launcher();  // its end is no loss that asks for another one
  std::exchange(stopped_, nullptr)();
}

void LiveAgent::launch(const std::string& key, const wire::StartAttempt& order) {
  AttemptPaths paths;
  paths.attempt_dir = attempt_dir(key);
  paths.job_dir = settings_.data_dir + "/jobs/" + std::to_string(order.job_id);
  paths.torchrun = torchrun_path();
  paths.controller_url = settings_.controller_url;
  paths.port = order.spec.launch == "none" ? 0 : free_port();
  for (const std::string& folder : {paths.attempt_dir, paths.attempt_dir + "/tmp", paths.job_dir,
                                    paths.job_dir + "/checkpoints", paths.job_dir + "/output"})
    ::mkdir(folder.c_str(), 0700);
  if (order.spec.output_limit_bytes) std::ofstream(paths.attempt_dir + "/limit") << *order.spec.output_limit_bytes;
  std::vector<std::string> own;
  for (char** entry = environ; *entry; ++entry) own.emplace_back(*entry);
  const Execution execution = make_execution(order, paths, own);
  LaunchOrder launch;
  launch.key = key;
  launch.fenced = order.spec.on_partition == "stop";
  launch.workdir = execution.workdir;
  launch.output = paths.attempt_dir + "/output";
  launch.required = execution.required;
  for (const int gpu : order.gpus) launch.gpus += (launch.gpus.empty() ? "" : ",") + std::to_string(gpu);
  launch.arguments = execution.arguments;
  launch.environment = execution.environment;
  to_launcher(to_fields(launch));
}

// ---- controller ----

void LiveAgent::connect_controller() {
  std::string url = settings_.controller_url;
  if (url.starts_with("http")) url.replace(0, 4, "ws");
  while (url.ends_with('/')) url.pop_back();
  net::Headers headers;
  if (!settings_.token.empty()) headers.emplace_back("Authorization", "Bearer " + settings_.token);
  net::ConnectResult result;
  result.on_open = [this, alive = std::weak_ptr(alive_)](std::shared_ptr<net::WebSocket> socket) {
    if (alive.expired()) return;
    socket_ = std::move(socket);
    net::WebSocket::Callbacks callbacks;
    callbacks.on_message = [this, alive, session = ++session_](const std::string& text) {
      if (!alive.expired() && session == session_) on_frame(text);
    };
    callbacks.on_close = [this, alive, session = session_](const std::string&) {
      if (alive.expired() || session != session_) return;
      logic_.on_session_closed();
      lose_session();
    };
    socket_->set_callbacks(std::move(callbacks));
    say_hello();
  };
  result.on_error = [this, alive = std::weak_ptr(alive_)](const Error&) {
    if (!alive.expired()) retry_controller();
  };
  connecting_ = net::connect_websocket(loop_, url + "/api/v1/agent", headers, std::move(result));
}

void LiveAgent::disconnect() {
  if (!socket_) return;
  socket_->close("session given up");
  lose_session();
}

void LiveAgent::lose_session() {
  ++session_;
  socket_.reset();
  pending_reads_.clear();
  retry_controller();
}

// Between half and the whole of a time that doubles from 0.1 s to 5 s.
void LiveAgent::retry_controller() {
  const double wait = retry_s_ * std::uniform_real_distribution<>(0.5, 1.0)(back_off_);
  retry_s_ = std::min(5.0, retry_s_ * 2);
  retry_ = loop_.after(Duration::seconds(wait), [this] { connect_controller(); });
}

void LiveAgent::say_hello() {
  if (!socket_ || !logic_.launcher_ready()) return;
  wire::Hello hello;
  hello.agent_version = settings_.version;
  hello.server = settings_.server;
  hello.agent_id = agent_id_;
  hello.simulated = probe_->simulated();
  hello.cpus = static_cast<int>(std::thread::hardware_concurrency());
  hello.memory_total_bytes = memory_kib("MemTotal") * 1024;
  hello.driver_version = probe_->driver_version();
  hello.gpus = sample_gpus();
  logic_.on_session_opened(std::move(hello), boot_now());
}

void LiveAgent::on_frame(const std::string& text) {
  const auto message = wire::decode_controller_message(text);
  if (!message.ok()) return;  // of a newer controller: nothing we could do
  if (std::holds_alternative<wire::Welcome>(*message)) retry_s_ = 0.1;
  if (const auto* refused = std::get_if<wire::Refused>(&*message))
    std::fprintf(stderr, "schedulearn agent: refused by the controller: %s\n", refused->message.c_str());
  if (const auto* read = std::get_if<wire::LogRead>(&*message)) return answer_read(*read, read->wait_s <= 0);
  logic_.on_message(*message, boot_now());
}

// ---- output ----

bool LiveAgent::try_answer(const wire::LogRead& request, bool last_chance) {
  const std::string key = key_of(request.job_id, request.attempt);
  wire::LogChunk chunk;
  chunk.request = request.request;
  const auto held = logic_.attempts().find(key);
  // Read the state before the bytes: what is written after the end cannot be missed, it does not exist.
  const bool is_held = held != logic_.attempts().end();
  const bool over = is_held ? held->second.report.state == "exited" : logic_.launcher_ready();
  const std::string dir = attempt_dir(key);
  const auto piece = read_piece(dir + "/output", request.offset, request.limit, output_gap(dir));
  if (!piece && !is_held) {
    chunk.error = "unknown-attempt";
    send(chunk);
    return true;
  }
  const FilePiece found = piece.value_or(FilePiece{});
  const std::int64_t end = found.offset + static_cast<std::int64_t>(found.bytes.size());
  chunk.offset = found.offset;
  chunk.size = found.size;
  chunk.ended = over && end >= found.size;
  if (found.bytes.empty() && !chunk.ended && !last_chance) return false;
  chunk.data = encode_base64(found.bytes);
  send(chunk);
  return true;
}

void LiveAgent::answer_read(const wire::LogRead& request, bool last_chance) {
  if (try_answer(request, last_chance)) return;
  pending_reads_.push_back({request, boot_now() + Duration::seconds(std::min(request.wait_s, 60.0))});
  if (pending_reads_.size() == 1) log_poll_ = loop_.after(log_poll_interval, [this] { poll_reads(); });
}

void LiveAgent::poll_reads() {
  const Instant now = boot_now();
  std::erase_if(pending_reads_,
                [&](const PendingRead& pending) { return try_answer(pending.request, now >= pending.answer_by); });
  if (!pending_reads_.empty()) log_poll_ = loop_.after(log_poll_interval, [this] { poll_reads(); });
}

// ---- telemetry and progress ----

bool LiveAgent::is_ours(std::int64_t pid) const {
  for (int depth = 0; pid > 1 && depth < 64; ++depth, pid = parent_of(pid)) {
    for (const auto& [key, attempt] : logic_.attempts()) {
      if (attempt.report.pid == pid && attempt.report.state != "exited") return true;
    }
  }
  return false;
}

std::vector<wire::GpuReport> LiveAgent::sample_gpus() {
  std::vector<wire::GpuReport> gpus = probe_->sample();
  for (wire::GpuReport& gpu : gpus) std::erase_if(gpu.outside_pids, [this](std::int64_t pid) { return is_ours(pid); });
  return gpus;
}

void LiveAgent::send_telemetry() {
  wire::Telemetry telemetry;
  telemetry.at_us = clock_now().us;
  const auto now = cpu_ticks();
  if (now.second > cpu_before_.second)
    telemetry.cpu_utilization_pct = 100 * (now.first - cpu_before_.first) / (now.second - cpu_before_.second);
  cpu_before_ = now;
  telemetry.memory_used_bytes = (memory_kib("MemTotal") - memory_kib("MemAvailable")) * 1024;
  telemetry.gpus = sample_gpus();
  send(telemetry);
}

void LiveAgent::read_metrics() {
  for (const auto& [key, attempt] : logic_.attempts()) {
    if (attempt.report.state == "exited") continue;
    read_metrics_of(key, attempt);
    if (!bound_output(attempt_dir(key), output_limit_of(key)) && !std::exchange(told_of_output_, true))
      std::fprintf(stderr, "schedulearn agent: outputs cannot be bounded on this file system\n");
  }
  const auto gone = [this](const auto& item) { return logic_.attempts().count(item.first) == 0; };
  std::erase_if(metrics_offsets_, gone);
  std::erase_if(output_limits_, gone);
}

// Its job's, written down at its start, or the server's.
std::int64_t LiveAgent::output_limit_of(const std::string& key) {
  const auto [at, is_new] = output_limits_.try_emplace(key, 0);
  if (is_new) std::ifstream(attempt_dir(key) + "/limit") >> at->second;
  return at->second > 0 ? at->second : settings_.output_limit;
}

// Every complete line since the last look, so that no epoch's loss is missed.
void LiveAgent::read_metrics_of(const std::string& key, const HeldAttempt& attempt) {
  std::int64_t& offset = metrics_offsets_[key];
  const auto piece = read_piece(attempt_dir(key) + "/metrics.jsonl", offset, 1 << 20);
  if (!piece) return;
  std::string_view rest = piece->bytes;
  for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;
       rest.remove_prefix(end + 1), offset += static_cast<std::int64_t>(end) + 1) {
    auto progress = parse_metrics_line(rest.substr(0, end));
    if (!progress) continue;
    progress->job_id = attempt.report.job_id;
    progress->attempt = attempt.report.attempt;
    progress->at_us = clock_now().us;
    send(*progress);
  }
}

void LiveAgent::tick() {
  const Instant now = boot_now();
  flush_launcher();
  logic_.tick(now);
  read_metrics();
  if (ticks_ % ticks_per_telemetry == 0) send_telemetry();
  ++ticks_;
  if (stopped_ && now >= kill_all_at_) {
    for (const auto& [key, attempt] : logic_.attempts()) to_launcher({"signal", key, std::to_string(SIGKILL)});
  }
  tick_ = loop_.after(tick_interval, [this] { tick(); });
}

Result<int> lock_data_dir(const std::string& dir) {
  std::error_code failed;
  fs::create_directories(dir, failed);
  ::chmod(dir.c_str(), 0700);
  const int lock = ::open((dir + "/agent.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0)
    return denied("data-directory-not-writable",
                  "cannot write to the data directory " + dir + ": " + std::strerror(errno))
        .hint("choose another: --data DIR");
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  ::close(lock);
  return conflict("data-directory-in-use", "another agent uses the data directory " + dir)
      .hint("choose another: --data DIR");
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::start(net::EventLoop& loop, const AgentSettings& given) {
  AgentSettings settings = given;
  settings.data_dir = fs::absolute(settings.data_dir);
  if (settings.server.empty()) settings.server = host_name();
  std::unique_ptr<GpuProbe> probe = settings.simulate > 0 ? make_simulated(settings.simulate) : open_nvml();
  if (!probe && settings.simulate_if_none) probe = make_simulated(4);
  if (!probe)
    return unavailable("no-gpu", "no NVIDIA GPU was found on this server").hint("simulate some: --simulate 4");
  Result<int> lock = lock_data_dir(settings.data_dir);
  if (!lock.ok()) return lock.error();
  auto agent = std::make_unique<LiveAgent>(loop, std::move(settings), std::move(probe), *lock);
  if (Status begun = agent->begin(); !begun.ok()) return begun.error();
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace sl::agent
