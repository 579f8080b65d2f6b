// The controller's logic without threads, sockets or disks: a database and agents that do what the test says.
#include "controller/logic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "wire/json.h"

namespace sl::controller {
namespace {

// A database in memory and the messages that went to agents.
class World : public Outside {
 public:
  void commit(store::Batch batch) override { under_way.push_back(std::move(batch)); }
  void send(SessionId, const wire::ControllerMessage& message) override { sent.push_back(message); }
  void close(SessionId session, const std::string&) override { closed.insert(session); }

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

TEST_F(LogicTest, an_acceptance_is_answered_and_an_order_sent_only_after_they_are_durable) {
  hello();
  submit(1);
  logic->turn(now);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(world.all<wire::StartAttempt>().empty());
  commit({});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]->value, 1);
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 1u);
}

TEST_F(LogicTest, submissions_that_come_during_a_commit_share_the_next_one) {
  submit(1);
  logic->turn(now);
  for (int i = 0; i < 10; ++i) submit(1), logic->turn(now);
  EXPECT_EQ(world.under_way.size(), 1u);
  commit({});
  ASSERT_EQ(world.under_way.size(), 1u);
  EXPECT_EQ(world.under_way.front().jobs.size(), 10u);
}

TEST_F(LogicTest, a_full_disk_refuses_the_submission_and_nothing_of_it_stays) {
  hello();
  submit(1);
  logic->turn(now);
  commit(unavailable("disk-full", "full"));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].error().code, "disk-full");
  submit(1);  // while it is full: refused at once
  EXPECT_EQ(answers[0].error().code, "disk-full");
  now = now + Duration::whole_seconds(2);
  settle();  // there is room again
  EXPECT_TRUE(world.jobs.empty());
  EXPECT_TRUE(world.all<wire::StartAttempt>().empty());
  EXPECT_EQ(logic->core().ledger().gpus_in_use(), 0);
  submit(1);
  settle();
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(world.jobs.size(), 1u);
}

TEST_F(LogicTest, one_key_is_one_job_also_after_a_restart_of_the_client) {
  submit(1, "k");
  settle();
  submit(1, "k");
  EXPECT_EQ(answers[0]->value, 1);
  EXPECT_EQ(logic->book().size(), 1u);
}

TEST_F(LogicTest, an_exit_is_durable_before_the_agent_may_forget_it) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  logic->on_agent_message(1, wire::AttemptChanged{++reports, report(1, 1, "exited", 3)}, now);
  logic->turn(now);
  EXPECT_TRUE(world.all<wire::ForgetAttempt>().empty());
  commit({});
  EXPECT_EQ(world.all<wire::ForgetAttempt>().size(), 1u);
  EXPECT_EQ(world.jobs[1].state, "failed");
  EXPECT_EQ(world.jobs[1].exit_code, 3);
}

TEST_F(LogicTest, after_a_restart_the_agent_s_attempts_are_adopted) {
  hello();
  submit(2);
  settle();
  tell(report(1, 1, "running"));
  restart();
  EXPECT_EQ(state(1), "running");
  hello({report(1, 1, "running")});
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 1u);
  tell(report(1, 1, "exited", 0));
  EXPECT_EQ(state(1), "succeeded");
}

TEST_F(LogicTest, what_ended_while_the_controller_was_away_is_taken_in) {
  hello();
  submit(1);
  settle();
  restart();
  hello({report(1, 1, "exited", 9)});
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(logic->book().find(JobId(1))->row.exit_code, 9);
}

TEST_F(LogicTest, an_order_that_was_lost_is_sent_again_and_an_attempt_that_was_lost_is_made_again) {
  hello();
  submit(1);
  settle();
  restart();
  hello();  // it never got the order
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 2u);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().attempt, 1);
  tell(report(1, 1, "running"));
  hello({}, 2);  // it had it, and has it no more
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).attempt, 2);
}

TEST_F(LogicTest, an_attempt_nobody_knows_is_stopped) {
  hello({report(77, 1, "running")});
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::StopAttempt>()[0].reason, "stranger");
}

TEST_F(LogicTest, a_second_agent_of_the_same_name_is_refused) {
  hello();
  hello({}, 2, "another");
  EXPECT_EQ(world.all<wire::Refused>().size(), 1u);
  EXPECT_TRUE(world.closed.count(2));
}

TEST_F(LogicTest, exit_75_asks_for_another_attempt) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  tell(report(1, 1, "exited", 75));
  EXPECT_EQ(world.all<wire::StartAttempt>().back().attempt, 2);
  EXPECT_TRUE(world.all<wire::StartAttempt>().back().resume);
}

TEST_F(LogicTest, a_silent_server_s_jobs_go_on_there_or_start_elsewhere_once_its_lease_is_surely_over) {
  hello();
  submit(1, "", "stop");
  submit(1, "", "continue");
  settle();
  tell(report(1, 1, "running"));
  tell(report(2, 1, "running"));
  pass(31);
  EXPECT_TRUE(world.closed.count(1)) << "a session without pings is given up";
  pass(10);
  EXPECT_EQ(state(1), "running") << "it may still be on its way out";
  pass(10);
  EXPECT_EQ(state(1), "pending");
  EXPECT_EQ(state(2), "running");
  hello({report(1, 1, "running"), report(2, 1, "running")}, 2);
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::StopAttempt>()[0].job_id, 1);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().attempt, 2);
}

TEST_F(LogicTest, after_a_restart_no_lease_is_taken_for_over_early) {
  hello();
  submit(1, "", "stop");
  settle();
  tell(report(1, 1, "running"));
  pass(40);
  restart();
  pass(20);
  EXPECT_EQ(state(1), "running");
  pass(30);
  EXPECT_EQ(state(1), "pending");
}

TEST_F(LogicTest, a_server_is_lost_when_an_admin_says_so_and_not_while_it_is_connected) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  Status said;
  logic->declare_lost("s", "root", now, [&](const Status& status) { said = status; });
  EXPECT_EQ(said.error().code, "server-connected");
  logic->on_agent_closed(1, now);
  logic->declare_lost("s", "root", now, [&](const Status& status) { said = status; });
  settle();
  EXPECT_TRUE(said.ok());
  EXPECT_EQ(state(1), "pending");
}

TEST_F(LogicTest, a_new_agent_cannot_take_over_a_server_whose_jobs_may_still_run) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  logic->on_agent_closed(1, now);
  hello({}, 2, "another");
  EXPECT_EQ(world.all<wire::Refused>().size(), 1u);
  EXPECT_EQ(state(1), "running");
}

TEST_F(LogicTest, a_missing_report_ends_the_session_and_one_that_came_twice_does_nothing) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  logic->on_agent_message(1, wire::AttemptChanged{1, report(1, 1, "exited", 0)}, now);
  EXPECT_EQ(state(1), "running");
  logic->on_agent_message(1, wire::AttemptChanged{3, report(1, 1, "exited", 0)}, now);
  EXPECT_TRUE(world.closed.count(1));
  hello({}, 2);
  logic->on_agent_message(2, wire::Ping{5, 1}, now);
  EXPECT_TRUE(world.closed.count(2));
}

TEST_F(LogicTest, a_decision_that_is_refused_again_and_again_is_recorded_once) {
  hello();
  logic->set_policy({"elastic_fifo"}, "u", now, [](const Status&) {});
  Logic::Submission elastic;
  elastic.spec.command = "true";
  elastic.spec.workdir = "/";
  elastic.spec.gpus = {1, 2};
  elastic.spec.checkpoint.dir = "c";
  logic->submit(elastic, now, [](const Result<JobId>&) {});
  settle();
  tell(report(1, 1, "running"));
  for (int i = 0; i < 10; ++i) {
    submit(1);
    for (int pings = 0; pings < 12; ++pings) {
      logic->on_agent_message(1, wire::Ping{now.us, reports}, now);
      pass(10);
    }
  }
  const auto refused = std::count_if(world.events.begin(), world.events.end(), [](const auto& event) {
    return event.kind == "decision.refused" && event.job_id == 1;
  });
  EXPECT_GE(logic->core().refusals(Refusal::world_cannot), 2u) << "else this shows nothing";
  EXPECT_EQ(refused, 1);
}

TEST_F(LogicTest, a_job_that_fits_no_server_is_refused_with_the_largest_there_is) {
  hello();
  submit(3);
  EXPECT_EQ(answers[0].error().code, "gpus-unsatisfiable");
  EXPECT_EQ(answers[0].error().notes[0], "the largest is s with 2");
}

// ---- policies ----

TEST_F(LogicTest, a_change_of_policy_is_told_when_it_is_durable_with_who_and_when_and_with_what) {
  EXPECT_EQ(use("FIFO-first-fit", {{"SkipLimit", "7"}}), "ok");
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei");
  EXPECT_EQ(logic->policy().parameters_json, R"({"skip_limit":"7"})");
  EXPECT_EQ(logic->policy().since_us, now.us);
  ASSERT_EQ(world.policies.size(), 2u) << "the first one too: else a restart forgets what undo goes back to";
  const auto event = std::find_if(world.events.begin(), world.events.end(),
                                  [](const auto& e) { return e.kind == "policy.changed" && e.actor_type == "user"; });
  ASSERT_NE(event, world.events.end());
  EXPECT_EQ(event->from + ">" + event->to + " by " + event->actor_name, "fifo>fifo_first_fit by mei");
  EXPECT_EQ(event->data_json, R"({"skip_limit":"7"})");
}

TEST_F(LogicTest, undo_brings_the_policy_before_back_with_its_parameters_and_can_be_undone) {
  use("fifo_first_fit", {{"skip_limit", "7"}});
  use("edf");
  pass(599);
  EXPECT_EQ(undo(), "ok");
  EXPECT_EQ(logic->policy().name, "fifo_first_fit");
  EXPECT_EQ(logic->policy().parameters_json, R"({"skip_limit":"7"})");
  EXPECT_EQ(undo(), "ok");
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei, edf by mei, fifo_first_fit by ali, edf by ali");
}

TEST_F(LogicTest, undo_is_refused_where_there_is_nothing_before_or_the_change_is_ten_minutes_old) {
  EXPECT_EQ(undo(), "nothing-to-undo");
  EXPECT_TRUE(logic->undo_until().is_never());
  use("edf");
  EXPECT_EQ(logic->undo_until(), now + Duration::whole_seconds(600));
  pass(601);
  EXPECT_EQ(undo(), "undo-too-late");
  EXPECT_EQ(history(), "fifo by default, edf by mei");
}

TEST_F(LogicTest, the_history_of_policies_survives_a_restart_and_so_does_undo) {
  use("srtf", {{"min_quantum_s", "5"}});
  use("edf");
  restart();
  EXPECT_EQ(history(), "fifo by default, srtf by mei, edf by mei");
  EXPECT_EQ(undo(), "ok");
  EXPECT_EQ(logic->policy().name + logic->policy().parameters_json, R"(srtf{"min_quantum_s":"5"})");
}

// Stands for a policy that a user wrote: it starts one job, then it cannot go on.
class Mortal : public Policy {
 public:
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan&) override { failed_ = failed_ || !snapshot.waiting.empty(); }
  std::optional<Error> failure() const override {
    return failed_ ? std::optional(invalid("policy-exception", "mine.py:3: oh no")) : std::nullopt;
  }

 private:
  bool failed_ = false;
};

Result<PolicyEntry> load_mortal(const std::string& name, const std::string& source) {
  if (source == "bad") return invalid("policy-exception", "it cannot be read");
  PolicyInfo info;
  info.name = name;
  return PolicyEntry{std::move(info), [](const Parameters&) { return std::make_unique<Mortal>(); }};
}

TEST_F(LogicTest, a_policy_that_cannot_go_on_is_replaced_at_once_by_the_last_one_that_works) {
  settings.load_policy = load_mortal;
  restart();
  hello();
  use("fifo_first_fit", {{"skip_limit", "7"}});
  const auto own = [&](const std::string& name, const std::string& source) {
    std::string said = "nothing";
    logic->set_policy({name, {}, source}, "mei", now, [&](const Status& s) { said = s.ok() ? "ok" : s.error().code; });
    settle();
    return said;
  };
  EXPECT_EQ(own("mine.py", "bad"), "policy-exception");
  EXPECT_EQ(own("mine py", "good"), "bad-policy-name");
  EXPECT_EQ(logic->policy().name, "fifo_first_fit");
  EXPECT_EQ(own("mine.py", "good"), "ok");
  EXPECT_EQ(own("other.py", "better"), "ok");
  submit(1);
  settle();
  EXPECT_EQ(logic->policy().name, "fifo_first_fit") << "mine.py fails too, and none is tried twice";
  EXPECT_EQ(logic->policy().parameters_json, R"({"skip_limit":"7"})");
  EXPECT_EQ(state(1), "starting") << "in the same turn";
  ASSERT_TRUE(logic->policy_failure());
  EXPECT_EQ(logic->policy_failure()->text, "mine.py:3: oh no");
  const auto failed = std::count_if(world.events.begin(), world.events.end(), [](const auto& event) {
    return event.kind == "policy.failed" && event.text == "mine.py:3: oh no";
  });
  EXPECT_EQ(failed, 2);
  use("edf");
  EXPECT_FALSE(logic->policy_failure());
}

TEST_F(LogicTest, a_policy_of_ones_own_survives_a_restart_with_its_source) {
  settings.load_policy = load_mortal;
  restart();
  logic->set_policy({"mine.py", {}, "good"}, "mei", now, [](const Status&) {});
  settle();
  restart();
  EXPECT_EQ(logic->policy().name + " " + logic->policy().source, "mine.py good");
  settings.load_policy = {};
  restart();
  EXPECT_EQ(logic->policy().name, "fifo") << "this program cannot run it";
  EXPECT_EQ(logic->policy_failure()->name, "mine.py");
}

TEST_F(LogicTest, an_unknown_policy_or_parameter_changes_nothing) {
  EXPECT_EQ(use("edff"), "unknown-policy");
  EXPECT_EQ(use("edf", {{"nix", "1"}}), "unknown-parameter");
  EXPECT_EQ(use("edf", {{"late_mode", "kep"}}), "bad-parameter");
  EXPECT_EQ(history(), "fifo by default");
  EXPECT_TRUE(world.policies.empty());
}

}  // namespace
}  // namespace sl::controller
