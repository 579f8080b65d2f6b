// The controller's logic without threads, sockets or disks: a database and agents that do what the test says.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "controller/logic.h"
#include "wire/json.h"

namespace sl::controller::test {

// A database in memory and the messages that went to agents.
class World : public Outside {
 public:
  void commit(store::Batch batch) override { under_way.push_back(std::move(batch)); }
  void send(SessionId, const wire::ControllerMessage& message) override { sent.push_back(message); }
  void close(SessionId session, const std::string&) override { closed.insert(session); }
  void make_policy(const PolicyChange& change) override { wanted.push_back(change); }

  template <typename Message>
  std::vector<Message> all() const {
    std::vector<Message> found;
    for (const auto& message : sent) {
      if (const auto* m = std::get_if<Message>(&message)) found.push_back(*m);
    }
    return found;
  }

  store::PlacementRow& placement(std::int64_t job) {  // its latest
    return std::prev(placements.lower_bound({job + 1, 0, ""}))->second;
  }

  std::vector<store::Batch> under_way;
  std::vector<wire::ControllerMessage> sent;
  std::set<SessionId> closed;
  std::deque<PolicyChange> wanted;             // users' own policies that were requested
  std::map<std::int64_t, store::JobRow> jobs;  // what is durable
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, store::PlacementRow> placements;
  std::map<std::string, store::ServerRow> servers;
  std::map<std::string, std::string> settings = {{"cluster_id", "c"}};
  std::vector<store::EventRow> events;
  std::vector<store::PolicyRow> policies;
  std::map<std::string, store::ProfileRow> profiles;
};

// A database without a past.
class NoPast : public store::Reader {
 public:
  Result<std::optional<store::JobRow>> job(std::int64_t) override { return std::optional<store::JobRow>(); }
  Result<std::vector<store::PlacementRow>> placements(std::int64_t) override {
    return std::vector<store::PlacementRow>();
  }
  Result<std::vector<store::PlacementRow>> spread_placements(std::int64_t, std::int64_t) override {
    return std::vector<store::PlacementRow>();
  }
  Result<std::vector<store::JobRow>> finished_jobs(const store::JobQuery&) override {
    return std::vector<store::JobRow>();
  }
  Result<std::int64_t> count_finished(const store::JobQuery&) override { return std::int64_t{0}; }
  Result<std::vector<store::EventRow>> events(const store::EventQuery&) override {
    return std::vector<store::EventRow>();
  }
  Result<std::optional<store::RemovedJob>> removed(std::int64_t) override { return std::optional<store::RemovedJob>(); }
  Result<std::map<std::int64_t, std::optional<std::int64_t>>> ends(const std::vector<std::int64_t>&) override {
    return std::map<std::int64_t, std::optional<std::int64_t>>();
  }
  Result<std::int64_t> bytes_used() override { return std::int64_t{0}; }
  Result<std::vector<store::FinishedJob>> oldest_finished(std::int64_t, std::size_t) override {
    return std::vector<store::FinishedJob>();
  }
  Result<bool> has_events_of_no_job(std::int64_t) override { return false; }
};

class LogicTest : public testing::Test {
 protected:
  LogicTest() { restart(); }

  void restart() {
    store::Loaded loaded;
    for (const auto& [id, row] : world.jobs) {
      (row.finished_us ? loaded.finished_jobs : loaded.unfinished_jobs).push_back(row);
      loaded.next_job_id = id + 1;
    }
    for (const auto& [key, row] : world.placements) loaded.placements.push_back(row);
    for (const auto& [name, row] : world.servers) loaded.servers.push_back(row);
    for (const auto& [key, value] : world.settings) loaded.settings.push_back({key, value});
    loaded.policies = world.policies;
    loaded.finished_totals = totals;
    for (const auto& [family, row] : world.profiles) loaded.profiles.push_back(row);
    if (!world.events.empty()) loaded.last_event_us = world.events.back().at_us;
    world.under_way.clear();
    world.wanted.clear();
    logic = std::make_unique<Logic>(settings, world, loaded, now);
    settle();
  }
  // Makes everything durable until nothing is left to write.
  void settle() {
    logic->turn(now);
    while (!world.under_way.empty()) commit({});
  }
  void commit(const Status& status) {
    ASSERT_FALSE(world.under_way.empty());
    const store::Batch batch = std::move(world.under_way.front());
    world.under_way.erase(world.under_way.begin());
    if (status.ok()) {
      for (const store::JobRow& row : batch.jobs) world.jobs[row.id] = row;
      for (const store::PlacementRow& row : batch.placements)
        world.placements[{row.job_id, row.incarnation, row.server}] = row;
      world.events.insert(world.events.end(), batch.events.begin(), batch.events.end());
      for (const store::ServerRow& row : batch.servers) world.servers[row.name] = row;
      std::erase_if(world.servers, [](const auto& item) { return item.second.description_json.empty(); });
      for (const store::SettingRow& row : batch.settings) world.settings[row.key] = row.value;
      for (const store::ProfileRow& row : batch.profiles) world.profiles[row.family] = row;
      world.policies.insert(world.policies.end(), batch.policies.begin(), batch.policies.end());
    }
    logic->on_committed(status, now);
    logic->turn(now);
  }
  void hello(std::vector<wire::AttemptReport> attempts = {}, SessionId session = 1, const std::string& agent_id = "a",
             const std::string& server = "s") {
    wire::Hello hello;
    hello.server = server;
    hello.agent_id = agent_id;
    hello.call = ++calls;
    hello.gpus.resize(2);
    hello.gpus[1].index = 1;
    hello.attempts = std::move(attempts);
    logic->on_agent_message(session, hello, now);
    reports = 0;
    settle();
  }
  void tell(const wire::AttemptReport& report) {
    logic->on_agent_message(1, wire::AttemptChanged{++reports, report}, now);
    settle();
  }
  void keep_session() {
    logic->on_agent_message(1, wire::Ping{now.us, reports}, now);
    settle();
  }
  void pass(std::int64_t seconds) {
    now = now + Duration::whole_seconds(seconds);
    settle();
  }
  void submit(int gpus, const std::string& key = "", const std::string& on_partition = "continue") {
    Logic::Submission submission;
    submission.spec.command = "true";
    submission.spec.workdir = "/";
    submission.spec.on_partition = on_partition;
    submission.spec.gpus = {gpus, gpus};
    submission.idempotency_key = key;
    answers.clear();
    logic->submit(std::move(submission), now, [this](Result<JobId> job) { answers.push_back(std::move(job)); });
  }
  // A job of one GPU whose processes may be frozen.
  void submit_freezable(const std::string& on_partition = "continue") {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {1, 1};
    submission.spec.freeze = true, submission.spec.on_partition = on_partition;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
  // The error's code; "ok" if it was done and is durable, "" if there was no answer.
  std::string use(const std::string& policy, const GivenParameters& parameters = {}) {
    std::string said;
    logic->set_policy({policy, parameters}, "mei", now,
                      [&](const Status& s) { said = s.ok() ? "ok" : s.error().code; });
    settle();
    return said;
  }
  std::string undo() {
    std::string said;
    logic->undo_policy("ali", now, [&](const Status& s) { said = s.ok() ? "ok" : s.error().code; });
    settle();
    return said;
  }
  // "fifo by default, edf by mei".
  std::string history() const {
    std::string text;
    for (const store::PolicyRow& row : logic->policies().history())
      text += (text.empty() ? "" : ", ") + row.name + " by " + row.by;
    return text;
  }
  std::string state(std::int64_t id) const { return logic->book().find(JobId(id))->row.state; }
  // Of the attempt that was begun last under these numbers; a foreign one when there is none.
  wire::AttemptReport report(std::int64_t job, int attempt, const std::string& state,
                             std::optional<int> code = {}) const {
    wire::AttemptReport r;
    r.incarnation = {"c", job, attempt, 1};
    for (const auto& [key, row] : world.placements) {
      if (row.job_id == job && row.attempt == attempt) r.incarnation = incarnation_of(row);
    }
    r.state = state, r.exit_code = code, r.pid = 7;
    return r;
  }

  LogicSettings settings;
  World world;
  Instant now = Instant::at_seconds(1'000);
  std::unique_ptr<Logic> logic;
  std::vector<Result<JobId>> answers;
  std::int64_t reports = 0;             // of the session
  std::int64_t calls = 0;               // of the agents
  std::vector<store::TotalRow> totals;  // that a restart finds
};

}  // namespace sl::controller::test
