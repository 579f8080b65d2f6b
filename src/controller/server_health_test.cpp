#include "controller/server_health.h"

#include <algorithm>

#include "controller/logic_test.h"

namespace sl::controller {
namespace {

using test::LogicTest;

class ServerHealthTest : public LogicTest {
 protected:
  // Servers "s" and, on a session of its own, "t", with two GPUs each.
  void two_servers() {
    hello();
    hello({}, 2, "b", "t");
  }
  void report_end(wire::AttemptReport report, double ran_s) {
    report.started_us = now.us;
    report.ended_us = now.us + Duration::seconds(ran_s).us;
    const SessionId session = server_of(report.incarnation.job) == "s" ? 1 : 2;
    logic->on_agent_message(session, wire::AttemptChanged{++seen[session], report}, now);
    settle();
  }
  void ends(std::int64_t job, int code, double ran_s = 0.1) {
    report_end(report(job, logic->book().find(JobId(job))->row.attempt, "exited", code), ran_s);
  }
  void fails_by(std::int64_t job, const std::string& kind, const std::string& why = "no space left on device") {
    wire::AttemptReport end = report(job, logic->book().find(JobId(job))->row.attempt, "exited");
    end.failure_kind = kind;
    end.failure_message = why;
    report_end(end, 0);
  }
  void tell_running(std::int64_t job) {
    const SessionId session = server_of(job) == "s" ? 1 : 2;
    logic->on_agent_message(session, wire::AttemptChanged{++seen[session], report(job, 1, "running")}, now);
    settle();
  }
  std::int64_t submit_as(const std::string& user, const std::string& command) {
    Logic::Submission submission;
    submission.spec.command = command, submission.spec.user = user, submission.spec.workdir = "/";
    std::int64_t id = 0;
    logic->submit(std::move(submission), now, [&](const Result<JobId>& job) { id = job->value; });
    settle();
    return id;
  }
  std::string server_of(std::int64_t job) const { return logic->book().find(JobId(job))->row.server; }
  std::string server_state(const std::string& name) const {
    return to_string(logic->core().servers()[logic->core().find_server(name)].state);
  }
  std::string ask(void (Logic::*what)(const std::string&, const std::string&, Instant, Logic::Told),
                  const std::string& server) {
    std::string said;
    ((*logic).*what)(server, "root", now, [&](const Status& s) { said = s.ok() ? "ok" : s.error().code; });
    settle();
    return said;
  }
  std::int64_t count(const std::string& kind) const {
    return std::count_if(world.events.begin(), world.events.end(),
                         [&](const store::EventRow& event) { return event.kind == kind; });
  }
  void pass_and_ping(std::int64_t seconds) {
    for (; seconds > 0; seconds -= std::min<std::int64_t>(seconds, 20)) {
      pass(std::min<std::int64_t>(seconds, 20));
      for (const SessionId session : {1, 2}) logic->on_agent_message(session, wire::Ping{now.us, seen[session]}, now);
    }
  }

  std::map<SessionId, std::int64_t> seen;  // reports of each session
};

TEST_F(ServerHealthTest, a_job_that_its_server_cannot_start_starts_elsewhere_and_the_server_is_quarantined) {
  two_servers();
  submit_as("ada", "train");
  ASSERT_EQ(server_of(1), "s");
  fails_by(1, "server_setup");
  EXPECT_EQ(server_state("s"), "quarantined");
  EXPECT_EQ(server_of(1), "t");
  const auto starts = world.all<wire::StartAttempt>();
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[1].incarnation.attempt, 2);
  EXPECT_LT(starts[0].incarnation.number, starts[1].incarnation.number) << "also at the same instant";
  EXPECT_EQ(world.jobs[1].failures, 0);
  EXPECT_EQ(count("job.server_fault"), 1);
  EXPECT_EQ(count("server.quarantined"), 1);
}

TEST_F(ServerHealthTest, a_job_whose_gpu_fails_starts_elsewhere_and_its_own_failure_does_not) {
  two_servers();
  submit_as("ada", "train"), submit_as("bob", "broken");
  fails_by(1, "gpu_error");
  ends(2, 1);
  EXPECT_EQ(state(2), "failed");
  pass(1);  // it had run for less than a minute
  EXPECT_EQ(state(1), "starting");
  EXPECT_EQ(server_of(1), "t");
  EXPECT_EQ(server_state("s"), "quarantined");
}

TEST_F(ServerHealthTest, what_a_user_has_set_up_wrong_is_the_job_s_failure) {
  two_servers();
  submit_as("ada", "train");
  fails_by(1, "setup", "no such command: train");
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(server_state("s"), "up");
}

TEST_F(ServerHealthTest, a_job_that_is_lost_right_after_its_start_again_and_again_fails_in_the_end) {
  hello();
  submit_as("ada", "kill my launcher");
  for (int attempt = 1; attempt <= Requeues::quick_max; ++attempt) {
    EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, attempt);
    fails_by(1, "lost", "the launcher was killed");
    EXPECT_EQ(state(1), "held");
    pass_and_ping(60);
  }
  fails_by(1, "lost", "the launcher was killed");
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(world.jobs[1].failure_kind, "server_lost");
  EXPECT_NE(world.jobs[1].failure_message.find("more than 10 times"), std::string::npos);
  EXPECT_EQ(server_state("s"), "up");
}

TEST_F(ServerHealthTest, a_quarantined_server_is_tried_again_and_waits_longer_each_time_it_fails) {
  hello();
  submit_as("ada", "train");
  for (const std::int64_t wait_s : {60, 120, 240, 480, 960, 1920, 3600, 3600}) {
    ASSERT_EQ(state(1), "starting");
    fails_by(1, "server_setup");
    EXPECT_EQ(state(1), "pending");
    pass_and_ping(wait_s - 1);
    EXPECT_EQ(server_state("s"), "quarantined");
    EXPECT_EQ(logic->core().explain(logic->core().find(JobId(1))), ReasonCode::quarantined);
    pass_and_ping(1);
    EXPECT_EQ(server_state("s"), "up");
  }
  EXPECT_EQ(logic->health().find("s")->times, 8);
  pass_and_ping(30);
  ends(1, 0, 30);
  EXPECT_EQ(logic->health().find("s"), nullptr) << "a job ran well there";
}

TEST_F(ServerHealthTest, a_job_that_began_before_the_quarantine_does_not_clear_the_server) {
  two_servers();
  submit_as("ada", "train"), submit_as("ada", "train");
  fails_by(2, "server_setup");
  pass_and_ping(61);
  ASSERT_EQ(server_state("s"), "up");
  ends(1, 0, 61);
  EXPECT_NE(logic->health().find("s"), nullptr);
}

TEST_F(ServerHealthTest, a_quarantine_outlives_the_agent_and_the_controller) {
  two_servers();
  submit_as("ada", "train");
  fails_by(1, "server_setup");
  logic->on_agent_closed(1, now);
  settle();
  EXPECT_EQ(server_state("s"), "down");
  hello({}, 3);
  EXPECT_EQ(server_state("s"), "quarantined");
  restart();
  hello();
  EXPECT_EQ(server_state("s"), "quarantined");
  EXPECT_NE(logic->health().find("s")->reason.find("no space left"), std::string::npos);
  pass(60);
  EXPECT_EQ(server_state("s"), "down") << "nobody has pinged";
  hello({}, 4);
  EXPECT_EQ(server_state("s"), "up");
}

TEST_F(ServerHealthTest, an_admin_s_word_ends_a_quarantine_durably) {
  two_servers();
  EXPECT_EQ(ask(&Logic::release_server, "s"), "server-not-quarantined");
  EXPECT_EQ(ask(&Logic::release_server, "nowhere"), "server-not-found");
  submit_as("ada", "train");
  fails_by(1, "server_setup");
  EXPECT_EQ(ask(&Logic::release_server, "s"), "ok");
  EXPECT_EQ(server_state("s"), "up");
  EXPECT_EQ(count("server.released"), 1);
  restart();
  hello();
  EXPECT_EQ(server_state("s"), "up");
}

TEST_F(ServerHealthTest, jobs_of_three_users_that_fail_at_once_quarantine_a_server_but_never_the_last) {
  two_servers();
  for (const char* user : {"ada", "bob", "eve"}) ends(submit_as(user, "train"), 1);
  EXPECT_EQ(server_state("s"), "quarantined");
  for (const char* user : {"mei", "ali", "kim"}) {
    const std::int64_t job = submit_as(user, "train");
    ASSERT_EQ(server_of(job), "t");
    ends(job, 1);
  }
  EXPECT_EQ(server_state("t"), "up");
}

TEST_F(ServerHealthTest, a_command_that_runs_well_elsewhere_and_fails_here_quarantines_the_server) {
  two_servers();
  for (int i = 0; i < 4; ++i) submit_as("ada", "train");  // two on s, two on t
  tell_running(3);
  pass_and_ping(11);
  ends(1, 1), ends(2, 1);
  EXPECT_EQ(server_state("s"), "up");
  const std::int64_t third = submit_as("ada", "train");
  ASSERT_EQ(server_of(third), "s");
  ends(third, 1);
  EXPECT_EQ(server_state("s"), "quarantined");
}

TEST_F(ServerHealthTest, a_user_s_hundred_broken_jobs_quarantine_no_server) {
  two_servers();
  for (int i = 0; i < 100; ++i) ends(submit_as("ada", "broken " + std::to_string(i)), 1);
  for (int i = 0; i < 8; ++i) submit_as("ada", "broken");
  for (const std::int64_t job : {101, 102, 103, 104}) ends(job, 1);
  EXPECT_EQ(server_state("s"), "up");
  EXPECT_EQ(server_state("t"), "up");
}

TEST_F(ServerHealthTest, stopping_jobs_soon_says_nothing_about_their_server) {
  two_servers();
  for (const char* user : {"ada", "bob", "eve"}) {
    const std::int64_t job = submit_as(user, "train");
    logic->cancel(JobId(job), user, now, [](const Result<JobId>&) {});
    settle();
    ends(job, 143);
    EXPECT_EQ(state(job), "cancelled");
  }
  EXPECT_EQ(server_state("s"), "up");
}

TEST_F(ServerHealthTest, a_server_that_is_down_and_empty_can_be_removed_and_comes_back_by_calling) {
  two_servers();
  submit_as("ada", "train");
  tell_running(1);
  EXPECT_EQ(ask(&Logic::remove_server, "nowhere"), "server-not-found");
  EXPECT_EQ(ask(&Logic::remove_server, "s"), "server-connected");
  logic->on_agent_closed(1, now);
  EXPECT_EQ(ask(&Logic::remove_server, "s"), "server-has-jobs");
  EXPECT_EQ(ask(&Logic::declare_lost, "s"), "ok");
  EXPECT_EQ(ask(&Logic::remove_server, "s"), "ok");
  EXPECT_EQ(server_state("s"), "removed");
  EXPECT_EQ(ask(&Logic::remove_server, "s"), "server-not-found");
  EXPECT_EQ(world.servers.size(), 1u);
  restart();
  EXPECT_FALSE(logic->core().find_server("s").valid());
  hello({}, 1, "another agent");
  EXPECT_EQ(server_state("s"), "up");
}

TEST_F(ServerHealthTest, a_cluster_without_servers_takes_jobs_for_those_to_come) {
  hello();
  logic->on_agent_closed(1, now);
  EXPECT_EQ(ask(&Logic::remove_server, "s"), "ok");
  EXPECT_EQ(submit_as("ada", "train"), 1);
  hello({}, 2);
  EXPECT_EQ(state(1), "starting");
}

}  // namespace
}  // namespace sl::controller
