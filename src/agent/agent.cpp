#include "agent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "agent/agent_logic.h"
#include "agent/attempt_files.h"
#include "agent/attempt_limits.h"
#include "agent/channels.h"
#include "agent/checkpoint_fetches.h"
#include "agent/checkpoint_measures.h"
#include "agent/checkpoint_offers.h"
#include "agent/clocks.h"
#include "agent/code_fetches.h"
#include "agent/containers.h"
#include "agent/controller_session.h"
#include "agent/data_directory.h"
#include "agent/failed_ends.h"
#include "agent/file_retention.h"
#include "agent/gpu_numbers.h"
#include "agent/gpu_watch.h"
#include "agent/job_files_watch.h"
#include "agent/launcher_link.h"
#include "agent/log_reads.h"
#include "agent/machine.h"
#include "agent/meeting.h"
#include "agent/process_owner.h"
#include "agent/process_trees.h"
#include "agent/processes.h"
#include "agent/published_ports.h"
#include "agent/resize_request.h"
#include "agent/secret_files.h"
#include "agent/telemetry.h"
#include "agent/warnings.h"
#include "net/url.h"
#include "wire/secrets.h"

namespace sl::agent {
namespace {

constexpr Duration tick_interval = Duration::milliseconds(250);
constexpr int ticks_per_telemetry = 8;

// Who reaches the controller by a name that only this machine knows need not be reachable by others.
std::string address_for_checkpoints(const std::string& controller_url) {
  const auto url = net::parse_url(controller_url);
  return url.ok() && net::is_loopback(url->host) ? "127.0.0.1" : "0.0.0.0";
}

class LiveAgent : public Agent, private AgentPorts {
 public:
  LiveAgent(net::EventLoop& loop, const AgentSettings& settings, std::unique_ptr<GpuWatch> gpus, int lock)
      : loop_(loop),
        settings_(settings),
        gpus_(std::move(gpus)),
        lock_(lock),
        files_({settings.data_dir, settings.controller_url, settings.output_limit}),
        telemetry_(*gpus_),
        logic_(*this),
        failed_ends_(*gpus_, [this](const LauncherState& state) { on_state(state); }),
        measures_(loop, [this](const LauncherState& end, const auto& left) { tell_end(end, left); }),
        log_reads_(loop, logic_, files_, [this](const wire::LogChunk& chunk) { send(chunk); }),
        offers_(loop, address_for_checkpoints(settings.controller_url),
                {[this](const wire::CheckpointOffered& offered) { logic_.on_offered(offered); },
                 [this](const wire::CheckpointPiece& piece) { send(piece); }}),
        fetches_(loop, {[this](const std::string& key, const auto& copy) {
                          files_.copy_ended(key);
                          logic_.on_fetched(key, copy, boot_now());
                        },
                        [this](const wire::CheckpointRead& read) { send(read); },
                        [this](const wire::CheckpointProgress& progress) { send(progress); }}),
        containers_(loop, settings.containers, settings.data_dir,
                    {[this](const std::string& key, const Result<std::string>& digest) {
                       logic_.on_image(key, digest, boot_now());
                     },
                     [this](const wire::ImageProgress& progress) { send(progress); }, [this] { call_again(); },
                     [this](const LauncherState& state) { on_launcher_message(to_fields(state)); }}),
        code_(loop, settings.data_dir,
              {[this](const std::string& key, const Status& found) { logic_.on_code(key, found, boot_now()); },
               [this](const wire::SnapshotRead& read) { send(read); }}),
        secrets_(agent_id(settings.data_dir)),
        channels_(loop, {settings.controller_url, settings.token, settings.data_dir, settings.shell_keep_s}, logic_,
                  files_.folders(),
                  {[this](const wire::ChannelRefused& refused) { send(refused); },
                   [this](const std::string& key, const Fields& arguments) {
                     launcher_.send(to_fields(JoinOrder{key, arguments}));
                   }}),
        job_files_(settings.data_dir),
        retention_(settings.keep,
                   {[this] { look_at_job_files(); }, [this](const wire::JobFilesQuery& query) { send(query); },
                    [this](const wire::StoredJob& job) { return logic_.holds(job); },
                    [this](const JobFolders& folders) { return remove_job_files(folders); }}),
        launcher_(loop, {settings.data_dir, settings.launcher_program, settings.job_open_files},
                  {[this](const Fields& message) { on_launcher_message(message); }, [this] { on_launcher_lost(); }}),
        controller_(loop, settings.controller_url, settings.token,
                    {[this] { say_hello(); },
                     [this](const wire::ControllerMessage& message) { on_controller_message(message); },
                     [this] { on_controller_lost(); }}) {}
  ~LiveAgent() override { ::close(lock_); }

  Status begin() {
    containers_.look();
    if (!gpus_->simulated() && containers_.engine().starts_with("podman")) warn_of_podman(containers_.engine());
    logic_.restore_cluster(read_known_cluster(settings_.data_dir));
    if (Status ready = launcher_.connect(); !ready.ok()) return ready;
    for (const AttemptFiles::LeftCopy& left : files_.left_copies()) fetches_.remove_left(left.folder, left.record);
    tick();
    controller_.connect();
    return {};
  }

  const std::string& server() const override { return settings_.server; }
  void stop(const std::vector<wire::StopAttempt>& orders) override { logic_.stop_those_here(orders, boot_now()); }
  void kill_jobs() override {
    for (const auto& [key, attempt] : logic_.attempts()) {
      if (runs(attempt)) launcher_.send({"signal", key, std::to_string(SIGKILL)});
    }
  }
  void end(std::function<void()> done) override {
    ended_ = std::move(done);
    kill_jobs();
    finish_if_ended();
  }

 private:
  // ---- AgentPorts ----
  void send(const wire::AgentMessage& message) override { controller_.send(message); }
  Status launch(const std::string& key, const wire::StartAttempt& ordered,
                const std::vector<wire::AttemptPart>& parts) override {
    const wire::StartAttempt order = files_.in_its_folder(key, ordered);
    const auto ports = order.spec.ports.empty() ? Result<PublishedPorts>(PublishedPorts{})
                                                : choose_ports(order.spec.ports, ports_of(others(key)));
    if (!ports.ok()) return abandon(key), ports.error();
    Result<AttemptFiles::Prepared> prepared = files_.prepare(key, order, parts, {*ports, containers_.python_path(key)});
    abandon(key);
    if (!prepared.ok()) return prepared.error();
    if (Status given = give_secrets(order, *prepared); !given.ok()) return given;
    const Limits limits = limit(key, order, parts);
    LaunchOrder& launch = prepared->launch;
    if (order.spec.image) {
      auto contained = containers_.in_container(std::move(launch), order, limits, prepared->place);
      if (!contained.ok()) return secrets_.remove(key), contained.error();
      launch = std::move(*contained);
    }
    if (order.spec.pty) channels_.put_at_terminal(order.spec.user, launch);
    const Fields fields = to_fields(launch);
    if (!fits_in_frame(fields))
      return secrets_.remove(key), invalid("setup", "its command and its variables are too long to be started");
    if (!order.spec.image) launcher_.send_with_next(to_fields(LimitOrder{key, limits}));
    launcher_.send(fields);
    return {};
  }
  Limits limit(const std::string& key, const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts) {
    Limits limits = limits_of(order, parts);
    limits.gpus = files_of_gpus(order.placement.gpus);
    if (order.spec.resources.pin_cpus)
      limits.cpu_set = take_cpus(limits, files_.folders().of_attempt(key), others(key));
    return limits;
  }
  std::map<int, bool> files_of_gpus(const std::vector<int>& held) const {
    return gpu_files(gpus_->known(), held, [] { return present_gpu_files(); });
  }
  // The folders of the attempts that run here, but for `key`.
  std::vector<std::string> others(const std::string& key) const {
    std::vector<std::string> folders;
    for (const auto& [other, attempt] : logic_.attempts()) {
      if (other != key && runs(attempt)) folders.push_back(files_.folders().of_attempt(other));
    }
    return folders;
  }
  Status give_secrets(const wire::StartAttempt& order, AttemptFiles::Prepared& prepared) const {
    if (order.spec.secrets.empty()) return {};
    const auto given = secrets_.give(prepared.launch.key, order.spec.secrets, order.secrets);
    if (!given.ok()) return given.error();
    prepared.place.secrets_dir = given->folder;
    // An engine keeps the environment of its containers on disk: there the first process reads the values.
    std::vector<std::string> more =
        order.spec.image ? std::vector{wire::secret_variables(order.spec.secrets)} : given->environment;
    more.push_back("SCHEDULEARN_SECRETS_DIR=" + given->folder);
    for (const std::string& one : more) {
      const std::string name = one.substr(0, one.find('=') + 1);
      std::erase_if(prepared.launch.environment, [&](const std::string& old) { return old.starts_with(name); });
      prepared.launch.environment.push_back(one);
    }
    return {};
  }
  Result<int> prepare(const std::string& key, const wire::StartAttempt& order) override {
    if (const Status ready = files_.make_ready(key, order); !ready.ok()) return ready.error();
    Result<ReservedPort> port = ReservedPort::take();
    if (!port.ok()) return port.error();
    const int number = port->number();
    reserved_ports_.insert_or_assign(key, std::move(*port));
    return number;
  }
  void abandon(const std::string& key) override { reserved_ports_.erase(key); }
  void freeze(const std::string& key, bool frozen) override { launcher_.send({frozen ? "freeze" : "thaw", key}); }
  Status ask_to_resize(const std::string& key, const wire::ResizeAttempt& order) override {
    const Status asked = write_resize_request(files_.folders().of_attempt(key), order.placement);
    const std::int64_t leader = logic_.attempts().at(key).report.pid;
    if (asked.ok() && leader > 0) ::kill(-static_cast<pid_t>(leader), SIGWINCH);  // ignored by whoever does not know it
    return asked;
  }
  Status keep_gpus(const std::string& key, const ResizedGpus& gpus) override {
    std::vector<int> held = gpus.held;
    held.insert(held.end(), gpus.asked.begin(), gpus.asked.end());
    launcher_.send(to_fields(LimitOrder{key, {.gpus = files_of_gpus(held)}}));
    return write_gpus(files_.folders().of_attempt(key), gpus);
  }
  std::optional<ResizedGpus> kept_gpus(const std::string& key) override {
    const std::string folder = files_.folders().of_attempt(key);
    const auto kept = read_gpus(folder);
    const bool has_answered = kept && !kept->asked.empty() && is_resize_done(folder);
    return has_answered ? ResizedGpus{kept->asked, {}} : kept;
  }
  void fetch(const std::string& key, const wire::StartAttempt& ordered) override {
    const wire::StartAttempt order = files_.in_its_folder(key, ordered);
    const auto place = files_.checkpoint_place(key, order);
    if (place.ok()) return fetches_.begin(order.incarnation, *order.checkpoint, *place);
    if (place.error().code == "server_setup") return logic_.on_fetched(key, place.error(), boot_now());
    logic_.on_fetched(key, wire::CheckpointCopy{"not_copied", place.error().message, 0, 0}, boot_now());
  }
  void end_fetch(const std::string& key, bool discards) override {
    fetches_.end(key, discards);
    if (discards) files_.copy_ended(key);
  }
  void offer(const wire::OfferCheckpoint& order) override {
    offers_.offer(order, files_.left_checkpoint(key_of(order.source), order.source.job));
  }
  void signal(const std::string& key, int number) override {
    files_.on_signal(key, number);
    launcher_.send({"signal", key, std::to_string(number)});
    if (number == SIGKILL) containers_.end(key);
  }
  void pass_on(const std::string& key, int number) override {
    launcher_.send({"pass_on", key, std::to_string(number)});
  }
  void forget(const std::string& key) override {
    launcher_.send({"forget", key});
    containers_.forget(key);
  }
  void find_image(const std::string&, const wire::StartAttempt& order) override { containers_.find_image(order); }
  void end_find_image(const std::string& key) override { containers_.end_find_image(key); }
  void find_code(const std::string& key, const wire::StartAttempt& order) override {
    const Result<std::string> folder = files_.code_folder(key, order);
    if (folder.ok()) return code_.find(key, order.spec.snapshot->id, *folder);
    loop_.post([this, key, error = folder.error()] { logic_.on_code(key, error, boot_now()); });
  }
  void end_find_code(const std::string& key) override { code_.end(key); }
  void renew(Instant until) override { launcher_.send({"lease", std::to_string(until.us)}); }
  void remember(const KnownCluster& cluster) override { write_known_cluster(settings_.data_dir, cluster); }
  void disconnect() override {
    controller_.give_up();
    on_requester_gone();
  }

  void on_launcher_message(const Fields& message);
  void on_launcher_lost();
  bool replace_launcher();
  void on_state(const LauncherState& state);
  void tell(const LauncherState& state);
  void tell_end(const LauncherState& end, const CheckpointMeasures::Left& left);
  bool may_be_a_gpu_s_fault(const LauncherState& state) const;
  bool on_end(const LauncherState& end);
  void say_hello();
  void on_controller_message(const wire::ControllerMessage& message);
  void on_controller_lost();
  void on_requester_gone();
  void call_again();
  void tick();
  void look_at_resizes();
  void look_at_attempts();
  void look_at_job_files();
  void take_look_at_job_files(Instant now);
  bool remove_job_files(const JobFolders& folders);
  void send_telemetry();
  std::optional<std::string> attempt_of(std::int64_t pid) const;
  void note_gpu_use(const std::string& key, int gpu, std::int64_t pid);
  static bool runs(const HeldAttempt& attempt) { return attempt.report.state != "exited" && !attempt.waiting; }
  void finish_if_ended();

  net::EventLoop& loop_;
  AgentSettings settings_;
  std::unique_ptr<GpuWatch> gpus_;
  int lock_;
  AttemptFiles files_;
  TelemetrySampler telemetry_;
  AgentLogic logic_;
  FailedEnds failed_ends_;
  CheckpointMeasures measures_;
  LogReads log_reads_;
  CheckpointOffers offers_;
  CheckpointFetches fetches_;
  Containers containers_;
  CodeFetches code_;
  SecretFiles secrets_;
  Channels channels_;
  JobFilesWatch job_files_;
  FileRetention retention_;
  std::optional<std::int64_t> job_files_bytes_, disk_free_bytes_;      // at the last look
  std::set<std::tuple<std::string, int, std::int64_t>> foreign_uses_;  // that were told: attempt, GPU, process
  std::map<std::string, ReservedPort> reserved_ports_;                 // of attempts that are prepared
  LauncherLink launcher_;
  bool has_replaced_launcher_ = false;
  Enforced enforced_ = {{}, "cpus, cpu_set, memory, processes: the launcher is of an older version"};
  ControllerSession controller_;
  std::shared_ptr<net::EventLoop::Timer> tick_;
  int ticks_ = 0;
  std::function<void()> ended_;  // null: it is not to end
};

// ---- the launcher ----

void LiveAgent::on_launcher_message(const Fields& message) {
  auto state = to_state(message);
  if (state) state = files_.explain(containers_.explain(std::move(*state)));
  if (state) look_at_resizes();  // before its end is explained by a GPU that it has left
  if (state) state->gpus = join_gpus(logic_.gpus_of(*state));
  if (state && !logic_.launcher_ready()) {
    on_state(failed_ends_.explain(*state));
  } else if (state && !(may_be_a_gpu_s_fault(*state) && failed_ends_.hold(*state, boot_now()))) {
    on_state(*state);
  }
  if (const auto enforced = to_enforced(message)) enforced_ = *enforced;
  if (!message.empty() && message.front() == "listed" && !logic_.launcher_ready()) {
    if (replace_launcher()) return;
    logic_.on_launcher_listed();
    containers_.keep_only([this](const std::string& key) { return logic_.attempts().contains(key); });
    const auto runs_here = [this](const std::string& key) {
      const auto at = logic_.attempts().find(key);
      return at != logic_.attempts().end() && at->second.report.state != "exited";
    };
    secrets_.keep_only(runs_here);
    channels_.keep_only(runs_here);
    say_hello();
  }
}

// One that another version has left, once it has nothing to look after: it ends, and ours is started.
bool LiveAgent::replace_launcher() {
  if (has_replaced_launcher_ || !logic_.attempts().empty() || !launcher_.is_of_another_build()) return false;
  has_replaced_launcher_ = true;
  launcher_.send({"shutdown"});
  return true;
}

void LiveAgent::on_state(const LauncherState& state) {
  if (state.state != "exited" || !on_end(state)) tell(state);
}

void LiveAgent::tell(const LauncherState& state) {
  const bool is_known = logic_.attempts().contains(state.key);
  logic_.on_launcher_state(state);
  if (!is_known && containers_.is_one(state.key)) logic_.on_image(state.key, containers_.digest(state.key), boot_now());
  finish_if_ended();
}

// An attempt has just ended that nobody asked to stop.
bool LiveAgent::may_be_a_gpu_s_fault(const LauncherState& state) const {
  const auto at = logic_.attempts().find(state.key);
  return state.state == "exited" && logic_.launcher_ready() && at != logic_.attempts().end() &&
         at->second.report.state == "running";
}

// Sends what must be reported of an attempt before its end. True: the end is told once its checkpoint has been measured.
// What the launcher repeats has been reported already.
bool LiveAgent::on_end(const LauncherState& end) {
  secrets_.remove(end.key);
  channels_.on_end(end.key);
  const auto at = logic_.attempts().find(end.key);
  if (at == logic_.attempts().end() || at->second.report.state == "exited") return false;
  const std::int64_t job_id = at->second.report.incarnation.job;
  if (const auto progress = files_.progress(end.key, at->second.report, true)) send(*progress);
  files_.note_output(end.key, at->second.report, true);
  files_.bound(end.key);  // what it wrote last, too
  auto measure = files_.on_end(end.key, job_id, logic_.runs_another(job_id, end.key));
  return measure && measures_.hold(end, std::move(measure), boot_now());
}

void LiveAgent::tell_end(const LauncherState& end, const CheckpointMeasures::Left& left) {
  if (left) logic_.on_checkpoint(end.key, left->bytes, left->seconds);
  tell(end);
}

void LiveAgent::on_launcher_lost() {
  failed_ends_.forget_all();
  measures_.forget_all();
  containers_.on_launcher_lost();
  logic_.on_launcher_lost();
  ended_ ? finish_if_ended() : launcher_.reconnect();
}

// ---- the controller ----

// A session begins once both sides are connected and the launcher has listed what runs.
void LiveAgent::say_hello() {
  if (!controller_.is_open() || !logic_.launcher_ready()) return;
  wire::Hello hello;
  hello.agent_version = settings_.version, hello.server = settings_.server;
  hello.agent_id = agent_id(settings_.data_dir);
  hello.call = next_call(settings_.data_dir, wall_now().us), hello.process = process_number();
  hello.simulated = gpus_->simulated();
  hello.cpus = static_cast<int>(std::thread::hardware_concurrency());
  hello.memory_total_bytes = memory_kib("MemTotal") * 1024;
  hello.driver_version = gpus_->driver_version(), hello.gpus = gpus_->known_now();
  hello.keep = settings_.keep, hello.labels = settings_.labels;
  hello.copies_checkpoints = hello.resizes_in_place = hello.opens_channels = hello.sends_signals = true;
  hello.enforces = enforced_.names, hello.cannot_enforce = enforced_.cannot;
  hello.container_engine = containers_.engine();
  if (!gpus_->simulated() && hello.container_engine.starts_with("podman")) hello.container_engine.clear();
  logic_.on_session_opened(std::move(hello), boot_now());
  for (const auto& [key, attempt] : logic_.attempts()) {  // its end may come when nobody was there to be told
    if (attempt.report.state != "exited") continue;
    if (const auto progress = files_.last_progress(key, attempt.report)) send(*progress);
  }
  send_telemetry();
}

void LiveAgent::on_controller_message(const wire::ControllerMessage& message) {
  if (const auto* read = std::get_if<wire::LogRead>(&message)) return log_reads_.answer(*read);
  if (const auto* wanted = std::get_if<wire::OpenChannel>(&message)) return channels_.open(*wanted);
  if (const auto* asked = std::get_if<wire::CheckpointRead>(&message)) return offers_.answer(*asked);
  if (const auto* piece = std::get_if<wire::CheckpointPiece>(&message)) return fetches_.on_piece(*piece);
  if (const auto* code = std::get_if<wire::SnapshotPiece>(&message)) return code_.on_piece(*code);
  if (const auto* answer = std::get_if<wire::JobFilesAnswer>(&message))
    return retention_.on_answer(*answer, boot_now());
  if (const auto* welcome = std::get_if<wire::Welcome>(&message)) retention_.on_session_opened(welcome->query_jobs_max);
  logic_.on_message(message, boot_now());
}

void LiveAgent::on_controller_lost() {
  logic_.on_session_closed();
  on_requester_gone();
}

void LiveAgent::on_requester_gone() {
  log_reads_.drop_all();
  retention_.on_session_closed();
}

// What this server can run has changed: the next session begins with saying so.
void LiveAgent::call_again() {
  logic_.on_session_closed();
  disconnect();
}

// ---- time ----

void LiveAgent::tick() {
  const Instant now = boot_now();
  launcher_.tick();
  logic_.tick(now);
  failed_ends_.tick(now);
  measures_.tick(now);
  look_at_resizes();
  look_at_attempts();
  take_look_at_job_files(now);
  retention_.tick(now);
  offers_.tick(now);
  fetches_.tick();
  if (logic_.launcher_ready()) replace_launcher();
  containers_.tick(now);
  code_.tick(now);
  if (ticks_++ % ticks_per_telemetry == 0) send_telemetry();
  if (ended_) kill_jobs();
  tick_ = loop_.after(tick_interval, [this] { tick(); });
}

void LiveAgent::look_at_attempts() {
  for (const auto& [key, attempt] : logic_.attempts()) {
    if (attempt.report.state == "exited") continue;
    if (const auto progress = files_.progress(key, attempt.report, false)) send(*progress);
    files_.note_output(key, attempt.report, false);
    files_.bound(key);
  }
  files_.keep_only(logic_.attempts());
}

void LiveAgent::look_at_resizes() {
  std::vector<std::string> done;
  for (const auto& [key, attempt] : logic_.attempts()) {
    if (attempt.resizing && is_resize_done(files_.folders().of_attempt(key))) done.push_back(key);
  }
  for (const std::string& key : done) logic_.on_resized(key);
}

void LiveAgent::send_telemetry() {
  std::erase_if(foreign_uses_, [this](const auto& use) { return !logic_.attempts().contains(std::get<0>(use)); });
  wire::Telemetry telemetry = telemetry_.sample([this](std::int64_t pid, int gpu) {
    const auto key = attempt_of(pid);
    if (key) note_gpu_use(*key, gpu, pid);
    return key.has_value();
  });
  telemetry.job_files_bytes = job_files_bytes_, telemetry.disk_free_bytes = disk_free_bytes_;
  send(telemetry);
}

// ---- files of jobs ----

void LiveAgent::look_at_job_files() {
  std::set<wire::StoredJob> held;
  for (const auto& [key, attempt] : logic_.attempts())
    held.insert({attempt.report.incarnation.cluster, attempt.report.incarnation.job});
  job_files_.look(std::move(held));
}

void LiveAgent::take_look_at_job_files(Instant now) {
  for (const Error& failure : job_files_.take_failures()) warn_of_irremovable(failure);
  auto look = job_files_.take();
  if (!look) return;
  job_files_bytes_ = 0, disk_free_bytes_ = look->free_bytes;
  for (const JobFolders& folders : look->jobs) *job_files_bytes_ += folders.bytes;
  retention_.on_look(std::move(look->jobs), look->took, look->free_bytes, now);
}

bool LiveAgent::remove_job_files(const JobFolders& folders) {
  bool all = true;
  for (const std::string& path : folders.paths) {
    if (const Status aside = set_aside(path); !aside.ok()) warn_of_irremovable(aside.error()), all = false;
  }
  job_files_.clear();
  if (job_files_bytes_) *job_files_bytes_ -= folders.bytes;
  return all;
}

// ---- attempts ----

// Whose process this is, or a descendant of.
std::optional<std::string> LiveAgent::attempt_of(std::int64_t pid) const {
  const std::string mark = started_with(static_cast<pid_t>(pid), tree_variable);
  const std::string attempts = settings_.data_dir + "/attempts/";
  if (mark.starts_with(attempts)) return mark.substr(attempts.size());  // it may be in a container
  constexpr int generations_max = 64;
  for (int generation = 0; pid > 1 && generation < generations_max; ++generation, pid = parent_of(pid)) {
    for (const auto& [key, attempt] : logic_.attempts()) {
      if (attempt.report.pid == pid && attempt.report.state != "exited") return key;
    }
  }
  return std::nullopt;
}

// Visible devices are a request: a process that does not respect them takes a GPU from another job.
void LiveAgent::note_gpu_use(const std::string& key, int gpu, std::int64_t pid) {
  const auto at = logic_.attempts().find(key);
  if (at == logic_.attempts().end() || !controller_.is_open()) return;
  const wire::AttemptReport& attempt = at->second.report;
  const bool may_use = std::ranges::find(attempt.gpus, gpu) != attempt.gpus.end() ||
                       std::ranges::find(at->second.asked, gpu) != at->second.asked.end();
  if (may_use || !foreign_uses_.insert({key, gpu, pid}).second) return;
  const auto owner = find_owner(static_cast<pid_t>(pid));
  send(wire::ForeignGpuUse{attempt.incarnation, gpu, pid, owner ? owner->program : ""});
}

// ---- the end ----

void LiveAgent::finish_if_ended() {
  if (!ended_) return;
  for (const auto& [key, attempt] : logic_.attempts()) {
    if (runs(attempt) && launcher_.is_connected()) return;
  }
  launcher_.send({"shutdown"});
  launcher_.disconnect();  // it ends on purpose: no new one has to be started
  loop_.post(std::exchange(ended_, nullptr));
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::start(net::EventLoop& loop, const AgentSettings& given) {
  AgentSettings settings = given;
  settings.data_dir = std::filesystem::absolute(settings.data_dir);
  if (settings.server.empty()) settings.server = host_name();
  auto gpus =
      GpuWatch::open([count = settings.simulate, if_none = settings.simulate_if_none, type = settings.gpu_type] {
        std::unique_ptr<GpuProbe> probe = only_type(count > 0 ? make_simulated(count) : open_nvml(), type);
        return !probe && if_none ? make_simulated(4) : std::move(probe);
      });
  if (!gpus.ok() && gpus.error().code == "no-gpu" && !settings.gpu_type.empty())
    return unavailable("no-gpu", "this server has no GPU of type " + settings.gpu_type)
        .hint("nvidia-smi -L shows what it has");
  if (!gpus.ok()) return gpus.error();
  Result<int> lock = lock_data_directory(settings.data_dir);
  if (!lock.ok()) return lock.error();
  if (!(*gpus)->simulated()) (*gpus)->number(number_gpus((*gpus)->known(), settings.data_dir + "/gpus"));
  warn_of((*gpus)->known());
  auto agent = std::make_unique<LiveAgent>(loop, settings, std::move(*gpus), *lock);
  if (Status begun = agent->begin(); !begun.ok()) return begun.error();
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace sl::agent
