// Attempts on several servers: all parts start or none, the first that fails ends the others, and the job goes on or
// ends when all have ended.
#include "controller/logic_test.h"
#include "controller/views.h"

namespace sl::controller::test {
namespace {

class SpreadAttemptsTest : public LogicTest {
 protected:
  // Job 1 is ordered to start on the two GPUs of s and on those of t.
  void SetUp() override {
    connect("s");
    connect("t");
    submit("continue");
  }
  void submit(const std::string& on_partition) {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/";
    submission.spec.gpus = {4, 4}, submission.spec.servers = 2;
    submission.spec.on_partition = on_partition;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
  static SessionId session_of(const std::string& server) { return server == "s" ? 1 : 2; }
  void connect(const std::string& server, std::vector<wire::AttemptReport> attempts = {}) {
    logic->on_agent_closed(session_of(server), now);
    hello(std::move(attempts), session_of(server), "agent of " + server, server);
    told_[server] = 0;
  }
  void tell(const std::string& server, wire::AttemptReport report) {
    report.port = server == "s" ? 7001 : 7002;
    logic->on_agent_message(session_of(server), wire::AttemptChanged{++told_[server], std::move(report)}, now);
    settle();
  }
  void tell_all(int attempt, const std::string& state) {
    for (const char* server : {"s", "t"}) tell(server, report(1, attempt, state));
  }
  wire::AttemptReport ended(int attempt, std::optional<int> code, std::optional<std::string> stopped_by = {}) const {
    wire::AttemptReport end = report(1, attempt, "exited", code);
    end.started_us = 1;
    end.stopped_by = std::move(stopped_by);
    return end;
  }
  void keep_session(const std::string& server) {
    logic->on_agent_message(session_of(server), wire::Ping{now.us, told_[server]}, now);
  }
  std::size_t launches() const { return world.all<wire::LaunchAttempt>().size(); }
  std::size_t forgets() const { return world.all<wire::ForgetAttempt>().size(); }
  std::vector<std::string> stops() const {
    std::vector<std::string> reasons;
    for (const wire::StopAttempt& stop : world.all<wire::StopAttempt>()) reasons.push_back(stop.reason);
    return reasons;
  }

 private:
  std::map<std::string, std::int64_t> told_;
};

TEST_F(SpreadAttemptsTest, starts_when_all_servers_are_ready_and_runs_when_all_run) {
  const auto starts = world.all<wire::StartAttempt>();
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[0].incarnation, starts[1].incarnation);
  EXPECT_EQ(starts[1].placement.rank, 1);
  EXPECT_EQ(starts[1].placement.servers, 2);
  tell("t", report(1, 1, "prepared"));
  EXPECT_EQ(launches(), 0u);
  tell("s", report(1, 1, "prepared"));
  const auto orders = world.all<wire::LaunchAttempt>();
  ASSERT_EQ(orders.size(), 2u);
  ASSERT_EQ(orders[0].parts.size(), 2u);
  EXPECT_EQ(orders[0].parts[0].server, "s");
  EXPECT_EQ(orders[0].parts[0].port, 7001);
  EXPECT_EQ(orders[1].parts[1].port, 7002);
  EXPECT_EQ(orders[1].parts[1].gpus, 2);
  tell("t", report(1, 1, "running"));
  EXPECT_EQ(state(1), "starting");
  tell("s", report(1, 1, "running"));
  EXPECT_EQ(state(1), "running");
  tell("t", ended(1, 0));
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(forgets(), 0u) << "after a restart of the controller it would not be known";
  tell("s", ended(1, 0));
  EXPECT_EQ(state(1), "succeeded");
  EXPECT_EQ(forgets(), 2u);
  EXPECT_TRUE(stops().empty());
  for (int time = 0; time < 2; ++time, restart()) {
    const auto places = job_view(*logic, *logic->book().find(JobId(1)), now, true).placement;
    ASSERT_EQ(places.size(), 2u) << "where it ran is known as a whole after a restart of the controller, too";
    EXPECT_EQ(places[1].server, "t");
  }
}

TEST_F(SpreadAttemptsTest, it_has_run_until_its_last_part_has_ended) {
  tell_all(1, "prepared"), tell_all(1, "running");
  const auto lived = [&](std::int64_t seconds) {
    wire::AttemptReport end = ended(1, 0);
    end.started_us = 1'000'000, end.ended_us = (1 + seconds) * 1'000'000;
    return end;
  };
  pass(2), keep_session("s"), keep_session("t");
  tell("s", lived(2));
  for (int i = 0; i < 6; ++i) pass(5), keep_session("s"), keep_session("t");
  tell("t", lived(32));
  EXPECT_EQ(state(1), "succeeded");
  EXPECT_EQ(world.jobs[1].run_us, 32'000'000);
  EXPECT_EQ(world.jobs[1].attained_gpu_us, 4 * 32'000'000);
}

TEST_F(SpreadAttemptsTest, the_first_failure_is_the_job_s_and_ends_the_others) {
  tell_all(1, "prepared"), tell_all(1, "running");
  tell("t", ended(1, 3));
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(stops(), std::vector<std::string>{"part_ended"});
  tell("s", ended(1, std::nullopt, "order"));
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(logic->book().find(JobId(1))->row.failure_message, "on t: exit code 3");
  EXPECT_EQ(logic->book().find(JobId(1))->row.exit_code, 3);
}

TEST_F(SpreadAttemptsTest, a_server_that_cannot_get_ready_takes_the_start_back) {
  tell("s", report(1, 1, "prepared"));
  wire::AttemptReport refused = report(1, 1, "exited");
  refused.failure_kind = "server_setup", refused.failure_message = "no space left";
  tell("t", refused);
  EXPECT_EQ(launches(), 0u);
  EXPECT_EQ(stops(), std::vector<std::string>{"part_ended"});
  wire::AttemptReport gone = report(1, 1, "exited");
  gone.failure_kind = "lost";
  tell("s", gone);
  EXPECT_EQ(logic->book().find(JobId(1))->row.attempt, 1);
  EXPECT_NE(state(1), "failed");
  EXPECT_NE(state(1), "running");
}

TEST_F(SpreadAttemptsTest, an_agent_that_forgot_its_preparation_is_told_again_until_the_start) {
  tell("s", report(1, 1, "prepared"));
  connect("s");
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 4u) << "again to both; who has it only says so";
  tell_all(1, "prepared");
  EXPECT_EQ(launches(), 2u);
  connect("s");
  EXPECT_EQ(stops(), (std::vector<std::string>{"part_ended", "part_ended"})) << "it may have run, and is lost";
  tell("t", ended(1, std::nullopt, "order"));
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).state, JobState::held);
}

// Its other part ends before the job starts anywhere else.
TEST_F(SpreadAttemptsTest, a_job_on_a_lost_server_is_given_up_when_its_other_part_has_ended) {
  tell_all(1, "prepared"), tell_all(1, "running");
  logic->on_agent_closed(2, now);
  settle();
  logic->declare_lost("t", "mei", now, [](const Status& status) { EXPECT_TRUE(status.ok()); });
  settle();
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(stops(), std::vector<std::string>{"part_ended"});
  restart();
  EXPECT_EQ(state(1), "running");
  connect("s", {report(1, 1, "running")});
  EXPECT_GT(stops().size(), 1u) << "also the next controller knows that it is lost";
  tell("s", ended(1, std::nullopt, "order"));
  EXPECT_NE(state(1), "running");
  EXPECT_NE(state(1), "failed");
}

TEST_F(SpreadAttemptsTest, a_new_controller_lets_all_parts_run_on_or_ends_those_that_run) {
  tell_all(1, "prepared");
  restart();
  connect("s", {report(1, 1, "running")});
  connect("t", {report(1, 1, "running")});
  EXPECT_EQ(state(1), "running");
  EXPECT_TRUE(stops().empty());
}

TEST_F(SpreadAttemptsTest, a_new_controller_ends_an_attempt_that_only_some_servers_have_begun) {
  tell_all(1, "prepared");
  restart();
  connect("s", {report(1, 1, "running")});
  connect("t");
  EXPECT_EQ(stops(), (std::vector<std::string>{"part_ended", "part_ended"}));
  tell("s", ended(1, std::nullopt, "order"));
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).state, JobState::held) << "it is started again soon";
}

TEST_F(SpreadAttemptsTest, a_cancelled_job_is_stopped_on_all_servers) {
  tell_all(1, "prepared"), tell_all(1, "running");
  logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(stops(), (std::vector<std::string>{"cancelled", "cancelled"}));
  tell("s", ended(1, 143, "order"));
  EXPECT_EQ(state(1), "stopping");
  tell("t", ended(1, 0, "order"));
  EXPECT_EQ(state(1), "cancelled");
}

TEST_F(SpreadAttemptsTest, attempts_that_end_with_their_lease_take_the_others_with_them) {
  logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
  tell_all(1, "prepared");
  for (const char* server : {"s", "t"}) tell(server, ended(1, std::nullopt, "order"));
  submit("stop");
  for (const char* state : {"prepared", "running"}) {
    for (const char* server : {"s", "t"}) tell(server, report(2, 1, state));
  }
  const std::size_t before = stops().size();
  logic->on_agent_closed(2, now);
  for (int i = 0; i < 12; ++i) keep_session("s"), pass(5);
  EXPECT_EQ(stops().size(), before + 1);
  EXPECT_EQ(stops().back(), "part_ended");
}

}  // namespace
}  // namespace sl::controller::test
