#include <algorithm>

#include "controller/logic_test.h"

namespace sl::controller {
namespace {

using test::LogicTest;

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

// Else it would hold them after the next restart, and push out whoever has been started on them since.
TEST_F(LogicTest, who_was_promised_gpus_that_another_still_has_after_a_restart_is_durably_pending_again) {
  hello();
  submit(2);
  settle();
  tell(report(1, 1, "running"));
  store::JobRow promised = world.jobs[1];
  promised.id = 2;
  promised.state = "starting";
  world.jobs[2] = promised;
  restart();
  EXPECT_EQ(state(2), "pending");
  EXPECT_EQ(world.jobs[2].state, "pending");
  EXPECT_EQ(world.jobs[1].state, "running");
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

}  // namespace
}  // namespace sl::controller
