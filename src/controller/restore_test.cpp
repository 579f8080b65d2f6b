// Databases restored from a backup, and agents of other clusters and other versions.
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

class RestoreTest : public LogicTest {
 protected:
  // The Hello of an agent that was welcome in `cluster` and has heard of jobs up to `last_job`.
  void call(const std::string& cluster, std::int64_t last_job, std::vector<wire::AttemptReport> attempts = {}) {
    wire::Hello hello;
    hello.server = "s";
    hello.agent_id = "a";
    hello.call = ++calls;
    hello.gpus.resize(2);
    hello.gpus[1].index = 1;
    hello.cluster = cluster;
    hello.last_job = last_job;
    hello.attempts = std::move(attempts);
    world.sent.clear();
    logic->on_agent_message(++session, hello, now);
    settle();
  }
  void run_job(std::int64_t id) {
    submit(1);
    settle();
    tell(report(id, 1, "running"));
  }
  void back_up() { backup = {world.jobs, world.placements}; }
  void restore_backup() {
    std::tie(world.jobs, world.placements) = backup;
    pass(60);
    restart();
  }
  std::size_t events(const std::string& kind) const {
    return static_cast<std::size_t>(std::count_if(world.events.begin(), world.events.end(),
                                                  [&](const store::EventRow& event) { return event.kind == kind; }));
  }
  std::pair<decltype(World::jobs), decltype(World::placements)> backup;
  SessionId session = 1;
};

TEST_F(RestoreTest, no_number_is_given_out_twice_and_what_the_backup_does_not_know_is_stopped) {
  hello();
  run_job(1);
  back_up();
  run_job(2);
  const wire::AttemptReport known = report(1, 1, "running"), lost = report(2, 1, "running");
  restore_backup();
  call("c", 2, {known, lost});
  EXPECT_EQ(state(1), "running") << "it is in the backup";
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::StopAttempt>()[0].incarnation, lost.incarnation);
  EXPECT_EQ(events("database.restored"), 1u);
  EXPECT_EQ(events("attempt.foreign"), 1u);
  submit(1);
  settle();
  EXPECT_EQ(answers.at(0).value(), JobId(3));
  restart();
  submit(2);
  settle();
  EXPECT_EQ(answers.at(0).value(), JobId(4));
}

TEST_F(RestoreTest, a_restart_reports_no_server_down_whose_agent_comes_back) {
  hello();
  const std::size_t before = events("server.state");
  restart(), settle();
  EXPECT_EQ(events("server.state"), before);
  call("c", 0);
  EXPECT_EQ(events("server.state"), before + 1);
  EXPECT_EQ(world.events.back().to, "up");
  restart(), settle();
  for (int i = 0; i < 120; ++i) pass(1);
  EXPECT_EQ(events("server.state"), before + 2) << "its agent does not come back";
  EXPECT_EQ(world.events.back().to, "down");
}

TEST_F(RestoreTest, no_server_can_use_up_the_numbers) {
  hello();
  call("c", 900'000'000'000'000);
  EXPECT_EQ(events("database.restored"), 0u);
  submit(1), settle();
  EXPECT_EQ(answers.at(0).value(), JobId(1));
}

TEST_F(RestoreTest, a_number_that_only_agents_know_stays_taken_after_the_next_restart_too) {
  hello();
  back_up();
  run_job(1);
  restore_backup();
  call("c", 5);
  restart();
  submit(1);
  settle();
  EXPECT_EQ(answers.at(0).value(), JobId(6));
}

// It was submitted before any agent could report that the number had been given out.
TEST_F(RestoreTest, a_job_with_a_number_that_was_given_out_before_is_not_taken_for_the_other) {
  hello();
  back_up();
  run_job(1);
  const wire::AttemptReport lost = report(1, 1, "running");
  restore_backup();
  submit(1);
  settle();
  call("c", 1, {lost});
  EXPECT_EQ(state(1), "starting");
  ASSERT_EQ(world.all<wire::StartAttempt>().size(), 1u);
  const wire::StartAttempt order = world.all<wire::StartAttempt>()[0];
  EXPECT_NE(order.incarnation, lost.incarnation);
  EXPECT_EQ(order.first, order.incarnation.number);
  wire::AttemptReport exited = lost;
  exited.state = "exited", exited.exit_code = 0;
  logic->on_agent_message(session, wire::AttemptChanged{1, exited}, now);
  settle();
  EXPECT_EQ(state(1), "starting") << "the other one has ended";
  ASSERT_EQ(world.all<wire::ForgetAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::ForgetAttempt>()[0].incarnation, lost.incarnation);
}

TEST_F(RestoreTest, what_was_about_to_start_may_have_run_since_and_begins_anew) {
  hello();
  submit(1);
  settle();
  const wire::AttemptReport first = report(1, 1, "running");
  back_up();
  run_job(2);
  restore_backup();
  call("c", 2);
  ASSERT_EQ(world.all<wire::StartAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::StartAttempt>()[0].incarnation.attempt, 2);
  EXPECT_EQ(world.all<wire::StartAttempt>()[0].first, first.incarnation.number) << "its folder stays";
}

// It was waiting when the copy was made, and runs now.
TEST_F(RestoreTest, a_job_is_not_started_again_before_what_runs_of_it_has_ended) {
  submit(1);
  settle();
  back_up();
  hello();
  wire::AttemptReport lost = report(1, 1, "running");
  tell(lost);
  restore_backup();
  call("c", 1, {lost});
  EXPECT_EQ(state(1), "starting");
  EXPECT_TRUE(world.all<wire::StartAttempt>().empty());
  call("c", 1, {lost});
  EXPECT_TRUE(world.all<wire::StartAttempt>().empty());
  lost.state = "exited", lost.signal = 15;
  logic->on_agent_message(session, wire::AttemptChanged{1, lost}, now);
  settle();
  ASSERT_EQ(world.all<wire::StartAttempt>().size(), 1u);
  EXPECT_NE(world.all<wire::StartAttempt>()[0].incarnation, lost.incarnation);
}

TEST_F(RestoreTest, what_runs_of_a_job_on_a_lost_server_holds_nothing_back) {
  submit(1);
  settle();
  back_up();
  hello();
  wire::AttemptReport lost = report(1, 1, "running");
  restore_backup();
  call("c", 1, {lost});
  logic->on_agent_closed(session, now);
  settle();
  std::string said;
  logic->remove_server("s", "root", now, [&](const Status& status) { said = status.error().code; });
  EXPECT_EQ(said, "server-has-jobs");
  logic->declare_lost("s", "root", now, [](const Status&) {});
  settle();
  call("c", 1);
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 1u);
}

TEST_F(RestoreTest, an_agent_that_knows_no_more_than_the_database_says_nothing_new) {
  hello();
  run_job(1);
  call("c", 1, {report(1, 1, "running")});
  call("", 0, {report(1, 1, "running")});
  EXPECT_EQ(events("database.restored") + events("attempt.foreign") + events("server.other_cluster"), 0u);
  EXPECT_EQ(state(1), "running");
}

TEST_F(RestoreTest, a_controller_that_has_just_started_takes_nothing_over_from_another_cluster) {
  hello();
  wire::AttemptReport other = report(1, 1, "running");
  other.incarnation.cluster = "d";
  for (int again = 0; again < 2; ++again) {
    call("d", 900, {other});
    ASSERT_EQ(world.all<wire::Refused>().size(), 1u);
    EXPECT_EQ(world.all<wire::Refused>()[0].code, "other-cluster");
    EXPECT_EQ(world.all<wire::StopAttempt>().size(), 0u);
  }
  EXPECT_EQ(events("server.refused"), 1u) << "it calls again and again";
  other.state = "exited";
  call("d", 900, {other});
  EXPECT_EQ(world.all<wire::Welcome>().size(), 1u) << "its jobs have ended";
}

TEST_F(RestoreTest, an_agent_of_another_cluster_is_welcome_later_and_what_it_runs_is_stopped) {
  hello();
  run_job(1);
  pass(takeover_after.to_seconds());
  wire::AttemptReport other = report(1, 1, "running");
  const wire::AttemptReport ours = other;
  other.incarnation.cluster = "d";
  call("d", 900, {other, ours});
  EXPECT_EQ(events("server.other_cluster"), 1u);
  EXPECT_EQ(events("database.restored"), 0u);
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::StopAttempt>()[0].incarnation, other.incarnation);
  EXPECT_EQ(world.all<wire::Welcome>().at(0).cluster, "c");
  EXPECT_EQ(world.all<wire::Welcome>().at(0).last_job, 1);
  submit(1);
  settle();
  EXPECT_EQ(answers.at(0).value(), JobId(2));
}

TEST_F(RestoreTest, agents_hear_of_a_job_only_once_it_is_durable) {
  hello();
  submit(1);
  keep_session();
  EXPECT_EQ(world.all<wire::Ping>().back().last_job, 0);
  keep_session();
  EXPECT_EQ(world.all<wire::Ping>().back().last_job, 1);
}

TEST_F(RestoreTest, an_agent_of_an_older_version_is_refused_in_plain_words) {
  wire::Hello hello;
  hello.protocol = 1;
  hello.server = "old";
  logic->on_agent_message(7, hello, now);
  ASSERT_EQ(world.all<wire::Refused>().size(), 1u);
  EXPECT_EQ(world.all<wire::Refused>()[0].message,
            "the agent of old is of an older version of schedulearn than the controller (protocol 1, not 4): install "
            "the same version on both and start the agent again; its jobs run on");
}

TEST_F(RestoreTest, an_agent_on_a_copy_of_a_data_directory_does_not_take_turns_with_the_one_that_is_connected) {
  const auto is_welcome = [&](SessionId as, std::int64_t process) {
    wire::Hello hello;
    hello.server = "s", hello.agent_id = "a", hello.call = ++calls, hello.process = process;
    world.sent.clear();
    logic->on_agent_message(as, hello, now);
    settle();
    return !world.all<wire::Welcome>().empty();
  };
  EXPECT_TRUE(is_welcome(1, 7));
  EXPECT_FALSE(is_welcome(2, 8));
  EXPECT_EQ(events("server.refused"), 1U);
  EXPECT_TRUE(is_welcome(3, 7)) << "the same process calls again";
  EXPECT_TRUE(is_welcome(4, 0)) << "nothing is known of an older agent";
  EXPECT_TRUE(is_welcome(5, 7));
  pass(11);
  EXPECT_TRUE(is_welcome(6, 8)) << "the other has missed two pings: it was killed, and its connection is a ghost";
}

TEST_F(RestoreTest, while_jobs_may_still_run_a_server_is_taken_over_only_by_an_agent_that_knows_them) {
  const auto is_welcome = [&](SessionId as, std::int64_t process, std::vector<wire::AttemptReport> attempts) {
    wire::Hello hello;
    hello.server = "s", hello.agent_id = "a", hello.call = ++calls, hello.process = process;
    hello.gpus.resize(2), hello.gpus[1].index = 1;
    hello.attempts = std::move(attempts);
    world.sent.clear();
    logic->on_agent_message(as, hello, now);
    reports = 0;
    settle();
    return !world.all<wire::Welcome>().empty();
  };
  EXPECT_TRUE(is_welcome(1, 7, {}));
  submit(1);
  settle();
  logic->on_agent_closed(1, now);
  EXPECT_TRUE(is_welcome(1, 8, {})) << "the order to start may not have arrived";
  tell(report(1, 1, "running"));
  const wire::AttemptReport runs = report(1, 1, "running");
  logic->on_agent_closed(1, now);
  EXPECT_FALSE(is_welcome(2, 9, {})) << "a copy of the data directory";
  EXPECT_EQ(state(1), "running");
  EXPECT_TRUE(is_welcome(3, 10, {runs})) << "the same directory, after a restart";
  logic->on_agent_closed(3, now);
  restart();
  EXPECT_FALSE(is_welcome(4, 9, {}));
  for (int i = 0; i < 12; ++i) pass(5);
  EXPECT_TRUE(is_welcome(5, 9, {})) << "what ran has ended";
}

TEST_F(RestoreTest, what_cannot_be_true_of_a_server_is_left_out) {
  wire::Hello hello;
  hello.server = "s", hello.agent_id = "a", hello.call = ++calls, hello.cpus = -3, hello.memory_total_bytes = -1;
  hello.gpus.resize(3);
  hello.gpus[0].index = -1;
  hello.gpus[1].utilization_pct = 1e308, hello.gpus[1].power_watts = -4;
  hello.gpus[2].index = 64;
  logic->on_agent_message(1, hello, now);
  settle();
  const wire::Hello& known = logic->agents().by_server("s")->hello;
  ASSERT_EQ(known.gpus.size(), 1U);
  EXPECT_FALSE(known.gpus[0].utilization_pct || known.gpus[0].power_watts);
  EXPECT_EQ(known.cpus, 0);
  EXPECT_EQ(known.memory_total_bytes, 0);
}

}  // namespace
}  // namespace sl::controller::test
