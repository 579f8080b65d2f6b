#include "agent/containers.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "agent/clocks.h"
#include "agent/data_directory.h"
#include "agent/launcher_link.h"
#include "container/run.h"

namespace sl::agent {
namespace {

constexpr Duration engine_interval = Duration::whole_seconds(10), no_engine_interval = Duration::whole_seconds(2);
constexpr Duration first_look_max = Duration::whole_seconds(2);
constexpr int silent_max = 3;
constexpr Duration pull_patience = Duration::whole_seconds(120);
constexpr Duration report_interval = Duration::whole_seconds(1);
constexpr Duration beginning_interval = Duration::milliseconds(20);
// After what a registry or an engine does not do, before it is tried again.
constexpr std::array pauses = {Duration::whole_seconds(2), Duration::whole_seconds(10)};

// A registry that does not answer may do so later; one that has no such image, or does not let us have it, will not.
bool is_final(const Error& error) {
  if (error.code != "image") return false;
  constexpr const char* words[] = {"not found", "unknown", "denied",    "unauthorized",  "does not exist",
                                   "no such",   "invalid", "forbidden", "authentication"};
  std::string text = error.message;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(words, [&](const char* word) { return text.find(word) != std::string::npos; });
}

std::string credentials_of(const std::string& user, const std::string& image) {
  std::array<char, 16384> buffer{};
  passwd entry{}, *found = nullptr;
  const int failed = ::geteuid() == 0 ? ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found)
                                      : ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return failed != 0 || !found ? "" : container::credentials_for(image, found->pw_dir, found->pw_uid);
}

// The kind of a failure as attempts report it.
Error as_kind(Error error) {
  error.code = error.code == "engine-unreachable" ? "lost" : "image";
  return error;
}

std::string job_of(const std::string& key) { return key.substr(0, key.find('.')); }

}  // namespace

// What the thread that fetches an image and the loop share.
struct Containers::Search {
  Incarnation incarnation;
  std::string image, user;
  std::atomic<bool> ended = false;
  std::mutex mutex;  // guards the rest
  container::PullProgress progress;
  std::string trouble;  // why the last try failed

  Result<container::ImageFacts> run(const container::Engine& engine, const std::atomic<bool>& stop) {
    const auto is_over = [&] { return ended.load() || stop.load(); };
    for (std::size_t tries = 0;; ++tries) {
      Result<container::ImageFacts> found = try_once(engine);
      if (found.ok() || is_over() || tries == pauses.size() || is_final(found.error())) return found;
      {
        const std::lock_guard lock(mutex);
        trouble = found.error().message;
      }
      const Instant until = boot_now() + pauses[tries];
      while (!is_over() && boot_now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  Result<container::ImageFacts> try_once(const container::Engine& engine) {
    for (const bool has_pulled : {false, true}) {
      const auto found = engine.find_image(image);
      if (!found.ok()) return as_kind(found.error());
      if (found->has_value()) return **found;
      if (has_pulled) break;
      const Status pulled = engine.pull(image, credentials_of(user, image), [this](const container::PullProgress& now) {
        const std::lock_guard lock(mutex);
        progress = now;
      });
      if (!pulled.ok()) return as_kind(pulled.error());
    }
    return not_found("image", "the container engine has fetched " + image + " and does not have it");
  }
};

Containers::Containers(net::EventLoop& loop, ContainerSettings settings, std::string data_dir, Ports ports)
    : loop_(loop),
      settings_(std::move(settings)),
      dir_(std::filesystem::absolute(data_dir).lexically_normal()),
      agent_(agent_id(data_dir)),
      init_(program_folder() + "/schedulearn-init"),
      runner_(program_folder() + "/schedulearn-container"),
      ports_(std::move(ports)) {
  ::mkdir((dir_ + "/containers").c_str(), 0700);
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/containers", failed)) {
    if (::access((entry.path() / "order.json").c_str(), F_OK) == 0) ordered_.insert(entry.path().filename());
  }
}

container::Engine Containers::engine_at(const std::string& socket, Duration patience) const {
  container::Engine engine(socket, patience);
  engine.give_up_when([this] { return threads_.stop().load(); });
  return engine;
}

// ---- the engine ----

void Containers::look() {
  if (settings_.socket == "none" || is_looking_) return;
  is_looking_ = true;
  struct First {
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
  };
  const bool is_first = !next_look_.happened();
  next_look_ = boot_now() + (engine_.empty() ? no_engine_interval : engine_interval);
  auto first = std::make_shared<First>();
  auto answer = std::make_shared<std::pair<Result<std::string>, std::string>>(std::string(), "");
  threads_.run([this, alive = std::weak_ptr(alive_), first, answer] {
    answer->second = container::find_socket(settings_.socket);
    if (!answer->second.empty()) answer->first = engine_at(answer->second, engine_interval).version();
    {
      const std::lock_guard lock(first->mutex);
      first->is_done = true;
      first->done.notify_all();
    }
    loop_.post([this, alive, answer] {
      if (alive.expired()) return;
      is_looking_ = false;
      take(answer->first, answer->second);
    });
  });
  if (!is_first) return;
  std::unique_lock lock(first->mutex);
  if (first->done.wait_for(lock, std::chrono::microseconds(first_look_max.us), [&] { return first->is_done; }) &&
      answer->first.ok())
    engine_ = *answer->first, socket_ = answer->second;
  if (engine_.empty() && first->is_done && !answer->first.ok())
    std::fprintf(stderr, "schedulearn agent: no containers yet: %s\n", answer->first.error().message.c_str());
  else if (engine_.empty() && !settings_.socket.empty())
    std::fprintf(stderr, "schedulearn agent: no container engine answers at %s (yet)\n", settings_.socket.c_str());
}

// One that is being restarted is not given up at once.
void Containers::take(const Result<std::string>& version, const std::string& socket) {
  if (boot_now() < unused_until_) return;
  const std::string now = version.ok() ? *version : "";
  silent_ = now.empty() ? silent_ + 1 : 0;
  if (now == engine_ || (now.empty() && silent_ < silent_max)) return;
  if (now.empty())
    std::fprintf(stderr, "schedulearn agent: %s does not answer any more at %s: no containers until it does\n",
                 engine_.c_str(), socket_.c_str());
  else
    std::fprintf(stderr, "schedulearn agent: %s answers at %s\n", now.c_str(), socket.c_str());
  engine_ = now;
  if (!socket.empty()) socket_ = socket;
  ports_.engine_changed();
}

// It is looked for again; until then this server says that it has none, and jobs with an image go elsewhere or wait.
void Containers::do_without(const std::string& why, Duration at_least) {
  if (engine_.empty()) return;
  std::fprintf(stderr, "schedulearn agent: no containers for now: %s\n", why.c_str());
  engine_.clear();
  unused_until_ = boot_now() + at_least;
  next_look_ = std::max(unused_until_, boot_now() + no_engine_interval);
  ports_.engine_changed();
}

void Containers::tick(Instant now) {
  if (now >= next_look_) look();
  if (!socket_.empty() && sweeps_.is_due(now)) sweep();
  if (now < next_report_) return;
  next_report_ = now + report_interval;
  for (const auto& [key, search] : searches_) {
    const std::lock_guard lock(search->mutex);
    ports_.tell(
        {search->incarnation, search->image, search->progress.bytes_done, search->progress.bytes, search->trouble});
  }
}

// ---- images ----

void Containers::find_image(const wire::StartAttempt& order) {
  const std::string key = key_of(order.incarnation);
  auto search = std::make_shared<Search>();
  search->incarnation = order.incarnation;
  search->image = *order.spec.image;
  search->user = order.spec.user;
  end_find_image(key);
  searches_[key] = search;
  threads_.run([this, alive = std::weak_ptr(alive_), key, search, socket = socket_] {
    container::Engine engine(socket, pull_patience);
    engine.give_up_when([this, search] { return search->ended.load() || threads_.stop().load(); });
    const auto found = search->run(engine, threads_.stop());
    loop_.post([this, alive, key, search, found] {
      if (alive.expired()) return;
      const auto at = searches_.find(key);
      if (at == searches_.end() || at->second != search) return;  // it was not needed any more
      searches_.erase(at);
      if (!found.ok()) {
        ports_.found(key, found.error());
        return found.error().code == "lost" ? do_without(found.error().message, {}) : void();
      }
      images_[key] = *found;
      ports_.found(key, found->digest);
    });
  });
}

void Containers::end_find_image(const std::string& key) {
  const auto search = searches_.extract(key);
  if (!search.empty()) search.mapped()->ended = true;
  images_.erase(key);
}

std::string Containers::python_path(const std::string& key) const {
  const auto at = images_.find(key);
  return at == images_.end() ? "" : at->second.python_path;
}

// ---- attempts ----

Result<LaunchOrder> Containers::in_container(LaunchOrder plain, const wire::StartAttempt& order, const Limits& limits,
                                             const AttemptPlace& place) {
  const wire::JobSpec& spec = order.spec;
  container::Order wanted;
  wanted.socket = socket_;
  wanted.name = wire::container_name(order.incarnation, order.placement.rank);
  wanted.agent = agent_, wanted.key = plain.key;
  wanted.image = spec.image.value_or("");
  if (const auto image = images_.extract(plain.key); !image.empty())
    wanted.image_id = image.mapped().id, wanted.digest = image.mapped().digest;
  wanted.user = spec.user, wanted.allow_root = settings_.allow_root, wanted.allowed = settings_.mounts;
  wanted.init = init_, wanted.output = plain.output, wanted.workdir = plain.workdir, wanted.required = plain.required;
  wanted.command = std::move(plain.arguments), wanted.environment = std::move(plain.environment);
  wanted.own_folders = {{place.attempt_dir, false},
                        {place.attempt_dir + "/tmp", true},
                        {place.attempt_dir + "/metrics.jsonl", true},
                        {place.attempt_dir + "/error", true},
                        {place.job_dir + "/checkpoints", true},
                        {place.job_dir + "/output", true},
                        {place.python, false}};
  if (!place.secrets_dir.empty()) wanted.own_folders.push_back({place.secrets_dir, true});
  if (!place.code_dir.empty())
    wanted.own_folders.push_back({place.code_dir, true});
  else if (!spec.workdir.empty())
    wanted.named_folders.push_back({spec.workdir, spec.workdir, true, false, "workdir"});
  for (const std::string& text : spec.mounts) {
    if (const auto mount = wire::parse_mount(text))
      wanted.named_folders.push_back({mount->from, mount->to, mount->writable, false, "mounts"});
  }
  if (!spec.checkpoint.dir.value_or("").empty()) {  // else it is the job's own, which is there already
    const std::string folder = checkpoint_folder(order, place);
    const bool is_in_code = !place.code_dir.empty() && folder.starts_with(place.code_dir + "/");
    if (!is_in_code) wanted.named_folders.push_back({folder, folder, true, true, "checkpoint.dir"});
  }
  for (const std::string& uuid : order.placement.gpu_uuids) {
    if (uuid.starts_with("GPU-")) wanted.gpu_uuids.push_back(uuid);
  }
  wanted.memory_bytes = limits.memory_bytes;
  wanted.cpus = limits.cpus;
  wanted.cpu_set = limits.cpu_set;
  wanted.processes_max = limits.processes.value_or(wire::processes_default);
  if (spec.resources.shm_bytes) wanted.shm_bytes = *spec.resources.shm_bytes;
  wanted.terminal = spec.pty;
  const std::string folder = folder_of(plain.key);
  ::mkdir(folder.c_str(), 0700);
  if (Status written = write_order(folder, wanted); !written.ok()) return written.error();
  ordered_.insert(plain.key);
  plain.arguments = {runner_, folder};
  plain.environment = {"PATH=/usr/bin:/bin"};
  plain.workdir = folder;
  plain.required.clear();
  plain.has_container = true;
  return plain;
}

std::string Containers::digest(const std::string& key) const {
  const Result<container::Order> order = container::read_order(folder_of(key));
  return order.ok() ? order->digest : "";
}

LauncherState explained_by(const std::optional<container::Outcome>& outcome, bool may_have_begun, LauncherState state) {
  if (!(outcome ? outcome->may_have_begun : may_have_begun)) state.started_us = 0;
  if (outcome) {
    state.exit_code = outcome->exit_code;
    state.signal = outcome->signal;
    state.failure_kind = outcome->failure_kind;
    state.failure_message = outcome->failure_message;
    // The launcher that passed the order on may be dead.
    if (outcome->asked_to_end && state.stopped_by.empty()) state.stopped_by = "order";
  } else if (state.exit_code == container::failed_code && state.failure_kind.empty()) {
    state.exit_code.reset();
    state.failure_kind = "lost";  // it may have begun, and have left a checkpoint
    state.failure_message = "the program that runs its container could not say how it ended";
  }
  return state;
}

// As its first process writes when it lets the job begin, or at its end.
// Only its size counts: the job may write to it too.
bool Containers::has_begun(const std::string& key) const {
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(folder_of(key) + "/end", failed);
  return !failed && bytes > 0;
}

// A job at a terminal waits for a client, which connects to what runs.
bool Containers::is_at_terminal(const std::string& key) const {
  const Result<container::Order> order = container::read_order(folder_of(key));
  return order.ok() && order->terminal;
}

LauncherState Containers::explain(LauncherState state) {
  if (!is_one(state.key)) return state;
  if (state.state == "running" && !has_begun(state.key) && !is_at_terminal(state.key)) {
    unbegun_[state.key] = state;
    if (!beginnings_) watch_beginnings();
    state.state = "starting", state.started_us = 0;
    return state;
  }
  const bool is_news = unbegun_.erase(state.key) > 0;
  if (state.state == "running") refusals_.erase(job_of(state.key)), refused_kinds_.clear();
  if (state.state != "exited") return state;
  const bool may_be_left = ::access((folder_of(state.key) + "/end").c_str(), F_OK) == 0;
  if (may_be_left) sweeps_.ask();
  const auto outcome = container::read_outcome(folder_of(state.key));
  state = explained_by(outcome, !may_be_left || has_begun(state.key), std::move(state));
  const bool lacked_engine = outcome && outcome->failure_kind == "lost" && !outcome->may_have_begun;
  if (lacked_engine && is_news) outcome->is_refused ? note_refusal(state) : do_without(state.failure_message, {});
  return state;
}

// This container may be impossible: what is refused again and again has failed. Or the engine is out of order: so it
// seems once it has refused containers of different kinds, and none has begun since.
void Containers::note_refusal(LauncherState& state) {
  const std::size_t tries = refusals_[job_of(state.key)]++;
  if (tries < pauses.size()) {
    refused_kinds_.insert(kind_of(state.key));
    if (refused_kinds_.size() < 2) return;
    refused_kinds_.clear();
    return do_without(state.failure_message, pauses[tries]);
  }
  refusals_.erase(job_of(state.key));
  state.failure_kind = "setup";
}

// What an engine may refuse about a container, the same for all jobs of an array.
std::string Containers::kind_of(const std::string& key) const {
  const Result<container::Order> order = container::read_order(folder_of(key));
  if (!order.ok()) return "";
  std::string kind =
      fmt::format("{} {} {} {}", order->image, order->processes_max, order->shm_bytes, order->memory_bytes.value_or(0));
  for (const container::NamedFolder& folder : order->named_folders)
    kind += fmt::format(" {}:{}", folder.from, folder.to);
  return kind;
}

void Containers::watch_beginnings() {
  std::vector<LauncherState> begun;
  for (const auto& [key, state] : unbegun_) {
    if (has_begun(key)) begun.push_back(state);
  }
  for (const LauncherState& state : begun) ports_.begun(state);
  beginnings_ = unbegun_.empty() ? nullptr : loop_.after(beginning_interval, [this] { watch_beginnings(); });
}

void Containers::end(const std::string& key) {
  if (is_one(key)) sweeps_.ask();
}

void Containers::forget(const std::string& key) {
  end_find_image(key);
  unbegun_.erase(key);
  if (ordered_.erase(key) == 0) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_of(key), ignored);
}

void Containers::keep_only(const std::function<bool(const std::string& key)>& is_held) {
  std::error_code failed;
  std::vector<std::string> left;
  for (std::filesystem::directory_iterator at(dir_ + "/containers", failed), end; !failed && at != end;
       at.increment(failed)) {
    if (!is_held(at->path().filename())) left.push_back(at->path().filename());
  }
  for (const std::string& key : left) forget(key);
  sweeps_.ask();
}

void Containers::sweep() {
  sweeps_.begin(boot_now());
  threads_.run([this, alive = std::weak_ptr(alive_), engine = engine_at(socket_, pull_patience)] {
    const Status swept = container::sweep(engine, agent_);
    loop_.post([this, alive, is_done = swept.ok()] {
      if (!alive.expired()) sweeps_.on_done(is_done, boot_now());
    });
  });
}

}  // namespace sl::agent
