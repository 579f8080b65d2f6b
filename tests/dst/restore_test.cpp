// Backups that are restored at any time, under the production logic of controller and agents. Nothing else fails here:
// messages arrive in order, writing takes no time. The rest is judged by schedulearn-dst.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "agent/agent_logic.h"
#include "base/random.h"
#include "controller/logic.h"

namespace sl::dst {
namespace {

constexpr int gpus_per_server = 2;
constexpr int signal_to_stop = 15;

int due_exit_code(const std::string& name) { return name.size() % 2 == 0 ? 0 : 3; }

class RestoreWorld;

// A server with its agent. What it has run stays on its disk: the owner of every output and of every job's folder.
class Server : public agent::AgentPorts {
 public:
  Server(RestoreWorld& world, std::string name) : world_(world), name_(std::move(name)) { boot(); }

  // ---- AgentPorts ----
  void send(const wire::AgentMessage& message) override;
  Status launch(const std::string& key, const wire::StartAttempt& order,
                const std::vector<wire::AttemptPart>& parts) override;
  Result<int> prepare(const std::string&, const wire::StartAttempt&) override { return 7000; }
  void abandon(const std::string&) override {}
  void fetch(const std::string&, const wire::StartAttempt&) override {}
  void end_fetch(const std::string&, bool) override {}
  void find_image(const std::string&, const wire::StartAttempt&) override {}
  void end_find_image(const std::string&) override {}
  void find_code(const std::string&, const wire::StartAttempt&) override {}
  void end_find_code(const std::string&) override {}
  void offer(const wire::OfferCheckpoint&) override {}
  void signal(const std::string& key, int number) override { asked_to_stop_[key] = number; }
  void pass_on(const std::string&, int) override {}
  void freeze(const std::string&, bool) override {}
  Status ask_to_resize(const std::string&, const wire::ResizeAttempt&) override { return {}; }
  Status keep_gpus(const std::string&, const agent::ResizedGpus&) override { return {}; }
  std::optional<agent::ResizedGpus> kept_gpus(const std::string&) override { return std::nullopt; }
  void forget(const std::string& key) override { ended_.erase(key); }
  void renew(Instant) override {}
  void disconnect() override { session = 0; }
  void remember(const agent::KnownCluster& cluster) override { cluster_ = cluster; }

  void boot();  // the agent anew; what runs goes on
  void call(std::int64_t session_number);
  void lose_session() {
    session = 0;
    is_heard = false;
    logic_->on_session_closed();
  }
  void hear(const wire::ControllerMessage& message);
  void tick();
  // Something that runs comes to its end.
  void end_one(Random& random);
  bool is_idle() const { return running_.empty() && logic_->attempts().empty(); }
  const std::string& name() const { return name_; }
  // The job, as another incarnation than this one.
  bool runs(const std::string& job, const std::string& other_than) const {
    return std::any_of(running_.begin(), running_.end(),
                       [&](const auto& item) { return outputs_.at(item.first) == job && item.first != other_than; });
  }
  std::string owner_of_output(const std::string& key) const { return outputs_.at(key); }

  std::int64_t session = 0;  // 0: none
  bool is_heard = false;     // in this session the controller has its hello

 private:
  void tell(const std::string& key, const std::string& state, std::optional<int> code, std::optional<int> number);
  void tell_lost(const std::string& key) {
    logic_->on_launcher_state({.key = key, .state = "exited", .failure_kind = "lost"});
  }

  RestoreWorld& world_;
  std::string name_;
  std::unique_ptr<agent::AgentLogic> logic_;
  agent::KnownCluster cluster_;
  std::map<std::string, std::string> outputs_, folders_;  // by key, by job and first incarnation: whose they are
  std::map<std::string, std::string> running_;            // by key: the GPUs
  std::map<std::string, int> asked_to_stop_;
  std::map<std::string, agent::LauncherState> ended_;
};

class RestoreWorld : public controller::Outside {
 public:
  explicit RestoreWorld(std::uint64_t seed) : random_(seed) {
    for (const char* name : {"a", "b"}) servers_.push_back(std::make_unique<Server>(*this, name));
    boot();
  }

  void play() {
    for (int step = 0; step < 300; ++step) {
      now = now + Duration::milliseconds(random_.integer(1, 3000));
      act();
      settle();
    }
    for (int step = 0; step < 3000 && !is_over(); ++step) {
      now = now + Duration::whole_seconds(1);
      for (auto& server : servers_) connect(*server), server->end_one(random_);
      settle();
    }
    ASSERT_TRUE(is_over());
    check();
  }

  // ---- Outside ----
  void commit(store::Batch batch) override { batches_.push_back(std::move(batch)); }
  void send(controller::SessionId session, const wire::ControllerMessage& message) override {
    const auto* start = std::get_if<wire::StartAttempt>(&message);
    for (auto& server : servers_) {
      if (server->session == session) mail_.emplace_back(server.get(), message);
      if (start && server->is_heard) {
        EXPECT_FALSE(server->runs(start->spec.name, key_of(start->incarnation))) << start->spec.name << " runs already";
      }
    }
  }
  void close(controller::SessionId session, const std::string&) override {
    for (auto& server : servers_) {
      if (server->session == session) server->lose_session();
    }
  }
  void make_policy(const controller::PolicyChange&) override {}

  void hear(std::int64_t session, const wire::AgentMessage& message) { inbox_.emplace_back(session, message); }

  Instant now = Instant::at_seconds(1'000'000);

 private:
  struct Disk {
    std::map<std::int64_t, store::JobRow> jobs;
    std::map<std::tuple<std::int64_t, std::int64_t, std::string>, store::PlacementRow> placements;
    std::map<std::string, store::ServerRow> servers;
    std::map<std::string, std::string> settings = {{"cluster_id", "c"}};
    std::int64_t next_event = 1;
  };

  void act() {
    switch (random_.integer(0, 11)) {
      case 0:
        backup_ = disk_;
        break;
      case 1:
        if (random_.chance(0.3)) restore();
        break;
      case 2:
        boot();
        break;
      case 3:
        any().lose_session();
        break;
      case 4:
        if (Server& server = any(); server.session == 0) server.boot();
        break;
      case 5:
      case 6:
        any().end_one(random_);
        break;
      case 7:
      case 8:
        connect(any());
        break;
      default:
        submit();
    }
  }

  Server& any() { return *servers_[static_cast<std::size_t>(random_.integer(0, 1))]; }

  void connect(Server& server) {
    if (server.session == 0) server.call(++sessions_);
  }

  void boot() {
    batches_.clear(), mail_.clear(), inbox_.clear();
    heard_of_ = 0;
    for (auto& server : servers_) {
      if (server->session != 0) server->lose_session();
    }
    store::Loaded loaded;
    for (const auto& [id, row] : disk_.jobs) {
      (row.finished_us ? loaded.finished_jobs : loaded.unfinished_jobs).push_back(row);
      loaded.next_job_id = id + 1;
    }
    for (const auto& [key, row] : disk_.placements) loaded.placements.push_back(row);
    for (const auto& [name, row] : disk_.servers) loaded.servers.push_back(row);
    for (const auto& [key, value] : disk_.settings) loaded.settings.push_back({key, value});
    loaded.next_event_seq = disk_.next_event;
    logic_ = std::make_unique<controller::Logic>(controller::LogicSettings{}, *this, loaded, now);
    settle();
  }

  void restore() {
    disk_ = backup_;
    fresh_.clear();
    boot();
    for (std::int64_t i = random_.integer(0, 4); i > 0; --i) submit();  // before any agent can call
    settle();
  }

  void submit() {
    const std::string name(static_cast<std::size_t>(random_.integer(1, 2)), 'x');
    controller::Submission submission;
    submission.spec.name = name + std::to_string(1000 + submissions_++);
    submission.spec.command = "true";
    submission.spec.workdir = "/";
    submission.spec.gpus = {1, 1};
    fresh_.insert(submission.spec.name);
    logic_->submit(std::move(submission), now, [](const Result<JobId>&) {});
  }

  void settle() {
    logic_->turn(now);
    while (!batches_.empty() || !mail_.empty() || !inbox_.empty()) {
      if (!batches_.empty()) {
        write(batches_.front());
        batches_.erase(batches_.begin());
        logic_->on_committed({}, now);
      } else if (!mail_.empty()) {
        const auto [server, message] = mail_.front();
        mail_.erase(mail_.begin());
        server->hear(message);
      } else {
        const auto [session, message] = inbox_.front();
        inbox_.erase(inbox_.begin());
        const auto* hello = std::get_if<wire::Hello>(&message);
        if (hello) heard_of_ = std::max(heard_of_, hello->last_job);
        logic_->on_agent_message(session, message, now);
        for (auto& server : servers_) server->is_heard |= hello && server->session == session;
      }
      logic_->turn(now);
    }
    for (auto& server : servers_) server->tick();
  }

  void write(const store::Batch& batch) {
    for (const store::JobRow& row : batch.jobs) {
      if (disk_.jobs.count(row.id) == 0) {
        ASSERT_GT(row.id, heard_of_) << "an agent has said that it has heard of that number";
      }
      if (row.finished_us && fresh_.count(row.name) != 0) check_end(row);
      disk_.jobs[row.id] = row;
    }
    for (const store::PlacementRow& row : batch.placements)
      disk_.placements[{row.job_id, row.incarnation, row.server}] = row;
    for (const store::ServerRow& row : batch.servers) disk_.servers[row.name] = row;
    for (const store::SettingRow& row : batch.settings) disk_.settings[row.key] = row.value;
    if (!batch.events.empty()) disk_.next_event = batch.events.back().seq + 1;
  }

  bool is_over() const {
    return std::all_of(servers_.begin(), servers_.end(), [](const auto& server) { return server->is_idle(); }) &&
           std::all_of(disk_.jobs.begin(), disk_.jobs.end(),
                       [](const auto& item) { return item.second.finished_us.has_value(); });
  }

  // Jobs that no restore has touched end as their processes did.
  static void check_end(const store::JobRow& row) {
    EXPECT_EQ(row.state, due_exit_code(row.name) == 0 ? "succeeded" : "failed") << row.name;
    EXPECT_EQ(row.exit_code, due_exit_code(row.name)) << row.name;
  }

  // Whoever asks for an output gets that of this job.
  void check() const {
    for (const auto& [id, row] : disk_.jobs) {
      const controller::JobEntry* entry = logic_->book().find(JobId(id));
      ASSERT_NE(entry, nullptr);
      for (int attempt = 1; attempt <= row.attempt; ++attempt) {
        const controller::Output output = controller::output_of(*entry, attempt);
        const auto at = std::find_if(servers_.begin(), servers_.end(),
                                     [&](const auto& server) { return server->name() == output.server; });
        if (at != servers_.end() && row.state == "succeeded" && attempt == row.attempt) {
          EXPECT_EQ((*at)->owner_of_output(key_of(output.incarnation)), row.name);
        }
      }
    }
  }

  Random random_;
  Disk disk_, backup_;
  std::set<std::string> fresh_;  // submitted since the last restore
  std::int64_t submissions_ = 0, sessions_ = 0;
  std::int64_t heard_of_ = 0;  // the highest number of a job that agents have told this controller of
  std::vector<store::Batch> batches_;
  std::vector<std::pair<Server*, wire::ControllerMessage>> mail_;
  std::vector<std::pair<std::int64_t, wire::AgentMessage>> inbox_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<controller::Logic> logic_;
};

// ---- servers ----

void Server::boot() {
  logic_ = std::make_unique<agent::AgentLogic>(*this);
  logic_->restore_cluster(cluster_);
  for (const auto& [key, gpus] : running_) tell(key, "running", {}, {});
  for (const auto& [key, state] : ended_) logic_->on_launcher_state(state);
  logic_->on_launcher_listed();
}

void Server::send(const wire::AgentMessage& message) { world_.hear(session, message); }

Status Server::launch(const std::string& key, const wire::StartAttempt& order, const std::vector<wire::AttemptPart>&) {
  const auto [output, is_new] = outputs_.emplace(key, order.spec.name);
  EXPECT_EQ(output->second, order.spec.name) << "the output of a job is that of another";
  if (!is_new)
    return tell_lost(key), Status();  // as launchers do: over and forgotten, and the backup did not know of its end
  const std::string folder =
      std::to_string(order.incarnation.job) + "." + std::to_string(order.first) + "." + order.incarnation.cluster;
  EXPECT_EQ(folders_.emplace(folder, order.spec.name).first->second, order.spec.name)
      << "a job finds what another one has left";
  running_[key] = std::to_string(order.placement.gpus.front());
  tell(key, "running", {}, {});
  return {};
}

void Server::tell(const std::string& key, const std::string& state, std::optional<int> code,
                  std::optional<int> number) {
  agent::LauncherState told;
  told.key = key, told.state = state, told.pid = 7, told.started_us = 1, told.gpus = running_[key];
  told.exit_code = code, told.signal = number;
  if (state == "exited") ended_[key] = told, running_.erase(key), asked_to_stop_.erase(key);
  logic_->on_launcher_state(told);
}

void Server::call(std::int64_t session_number) {
  session = session_number;
  is_heard = false;
  wire::Hello hello;
  hello.server = hello.agent_id = name_;
  hello.gpus.resize(gpus_per_server);
  for (int gpu = 0; gpu < gpus_per_server; ++gpu) hello.gpus[static_cast<std::size_t>(gpu)].index = gpu;
  logic_->on_session_opened(std::move(hello), world_.now);
}

void Server::hear(const wire::ControllerMessage& message) {
  if (session != 0) logic_->on_message(message, world_.now);
}

void Server::tick() { logic_->tick(world_.now); }

void Server::end_one(Random& random) {
  if (running_.empty()) return;
  const std::string key =
      std::next(running_.begin(), random.integer(0, static_cast<std::int64_t>(running_.size()) - 1))->first;
  const bool is_stopped = asked_to_stop_.count(key) != 0;
  tell(key, "exited", is_stopped ? std::nullopt : std::optional(due_exit_code(outputs_.at(key))),
       is_stopped ? std::optional(signal_to_stop) : std::nullopt);
}

TEST(Restore, nothing_an_agent_holds_is_taken_for_something_else) {
  for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RestoreWorld(seed).play();
  }
}

}  // namespace
}  // namespace sl::dst
