// The controller's logic without threads, sockets or disks: a database and agents that do what the test says.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

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

  std::vector<store::Batch> under_way;
  std::vector<wire::ControllerMessage> sent;
  std::set<SessionId> closed;
  std::deque<PolicyChange> wanted;             // users' own policies
  std::map<std::int64_t, store::JobRow> jobs;  // what is durable
  std::vector<store::ServerRow> servers;
  std::vector<store::EventRow> events;
  std::vector<store::PolicyRow> policies;
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
    loaded.servers = world.servers;
    loaded.policies = world.policies;
    world.under_way.clear();
    world.wanted.clear();
    logic = std::make_unique<Logic>(settings, world, loaded, now);
    settle();
  }
  // Lets everything become durable until nothing is left to write.
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
      world.events.insert(world.events.end(), batch.events.begin(), batch.events.end());
      for (const store::ServerRow& row : batch.servers) world.servers = {row};
      world.policies.insert(world.policies.end(), batch.policies.begin(), batch.policies.end());
    }
    logic->on_committed(status, now);
    logic->turn(now);
  }
  void hello(std::vector<wire::AttemptReport> attempts = {}, SessionId session = 1, const std::string& agent_id = "a") {
    wire::Hello hello;
    hello.server = "s";
    hello.agent_id = agent_id;
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
  // The error's code; "ok" when it was done and is durable, "" when nobody was told.
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
    for (const store::PolicyRow& row : logic->policy_history())
      text += (text.empty() ? "" : ", ") + row.name + " by " + row.by;
    return text;
  }
  std::string state(std::int64_t id) const { return logic->book().find(JobId(id))->row.state; }
  static wire::AttemptReport report(std::int64_t job, int attempt, const std::string& state,
                                    std::optional<int> code = {}) {
    wire::AttemptReport r;
    r.job_id = job, r.attempt = attempt, r.state = state, r.exit_code = code, r.pid = 7;
    return r;
  }

  LogicSettings settings;
  World world;
  Instant now = Instant::at_seconds(1'000);
  std::unique_ptr<Logic> logic;
  std::vector<Result<JobId>> answers;
  std::int64_t reports = 0;  // of the session
};

}  // namespace sl::controller::test
