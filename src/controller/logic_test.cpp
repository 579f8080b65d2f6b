#include <algorithm>

#include "controller/explain.h"
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

TEST_F(LogicTest, one_key_is_one_job_also_after_a_restart_of_the_client) {
  submit(1, "k");
  settle();
  submit(1, "k");
  EXPECT_EQ(answers[0]->value, 1);
  EXPECT_EQ(logic->book().size(), 1u);
}

TEST_F(LogicTest, a_key_older_than_a_day_is_forgotten_here_and_in_the_database) {
  submit(1, "old");
  settle();
  pass(12 * 3600);
  submit(1, "young");
  settle();
  pass(12 * 3600 + 1);
  submit(1, "old");  // another job in the meantime
  logic->turn(now);
  EXPECT_EQ(world.under_way.front().forget_keys_to, 1);
  settle();
  EXPECT_EQ(answers[0]->value, 3);
  submit(1, "young");
  EXPECT_EQ(answers[0]->value, 2);
}

TEST_F(LogicTest, a_held_job_starts_once_it_is_released) {
  hello();
  Logic::Submission submission;
  submission.spec.command = "true";
  submission.spec.workdir = "/";
  submission.spec.hold = true;
  logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(state(1), "held");
  std::string said;
  const auto note = [&](const Result<JobId>& job) { said = job.ok() ? "ok" : job.error().code; };
  logic->intervene(JobId(1), {"resume", {}, {}}, "mei", now, note);
  settle();
  EXPECT_EQ(said, "ok");
  EXPECT_EQ(state(1), "starting");
  logic->intervene(JobId(1), {"resume", {}, {}}, "mei", now, note);
  settle();
  EXPECT_EQ(said, "job-not-held");
  logic->intervene(JobId(9), {"resume", {}, {}}, "mei", now, note);
  settle();
  EXPECT_EQ(said, "job-not-found");
}

TEST_F(LogicTest, a_row_that_cannot_be_put_back_ends_its_job_and_no_other) {
  hello();
  for (int i = 0; i < 5; ++i) submit(1), settle();
  tell(report(1, 1, "running"));
  world.placement(1).gpus.clear();        // runs on nothing
  world.placement(2).server = "nowhere";  // on a server there is none of
  world.jobs[3].spec_json = "{\"broken";  // not a submission
  world.jobs[4].state = "dreaming";
  restart();
  for (int id = 1; id <= 4; ++id) EXPECT_EQ(state(id), "failed") << id;
  EXPECT_EQ(world.jobs[3].failure_kind, "database");
  EXPECT_EQ(std::count_if(world.events.begin(), world.events.end(),
                          [](const store::EventRow& event) { return event.kind == "job.set_aside"; }),
            4);
  EXPECT_EQ(state(5), "pending");
  hello();
  EXPECT_EQ(state(5), "starting");
}

TEST_F(LogicTest, what_was_written_while_the_clock_was_in_the_future_is_of_now) {
  now = Instant::at_seconds(2e9);
  hello();
  submit(1, "k"), submit(2);
  settle();
  tell(report(1, 1, "running"));
  now = Instant::at_seconds(1e9);
  restart();
  EXPECT_TRUE(std::any_of(world.events.begin(), world.events.end(),
                          [](const store::EventRow& event) { return event.kind == "clock.set_back"; }));
  const Job& running = logic->core().job(logic->core().find(JobId(1)));
  EXPECT_EQ(running.last_start, now);
  EXPECT_EQ(running.run_at(now).us, 0);
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(2))).request.submitted, now);
  pass(24 * 3600 + 1);
  submit(1, "k");  // a day has passed: another job
  settle();
  EXPECT_EQ(answers[0]->value, 3);
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

class LateEndTest : public LogicTest {
 protected:
  // Job 1 ends after three seconds, by the clock of its server, and its agent tells of it half a minute later.
  void end_while_away(int exit_code) {
    hello();
    submit(2), settle();
    wire::AttemptReport told = report(1, 1, "running");
    told.started_us = 5'000'000;
    tell(told);
    pass(40);
    told = report(1, 1, "exited", exit_code);
    told.started_us = 5'000'000, told.ended_us = 8'000'000;
    hello({told}, 2);
  }
};

TEST_F(LateEndTest, the_job_ran_until_its_end) {
  end_while_away(0);
  EXPECT_EQ(state(1), "succeeded");
  EXPECT_EQ(world.jobs[1].run_us, 3'000'000);
  EXPECT_EQ(world.jobs[1].attained_gpu_us, 6'000'000);
}

TEST_F(LateEndTest, one_that_goes_back_in_line_is_not_charged_for_the_absence) {
  end_while_away(75);
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).run, Duration::whole_seconds(3));
}

TEST_F(LogicTest, an_order_that_was_lost_is_sent_again_and_an_attempt_that_was_lost_is_made_again) {
  hello();
  submit(1);
  settle();
  restart();
  hello();  // it never received the order
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 2u);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 1);
  tell(report(1, 1, "running"));
  hello({}, 2);  // it had received it, and lost the attempt
  pass(1);
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).attempt, 2);
}

// The agent gave up the connection on which it had said it, before the attempt began, and the network delivers it now.
TEST_F(LogicTest, a_hello_that_was_delivered_late_is_not_taken_for_news) {
  hello();
  submit(1);
  settle();
  calls = 5;
  hello({report(1, 1, "running")}, 2);
  calls = 3;
  hello({}, 3);
  pass(1);
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).attempt, 1);
  EXPECT_EQ(world.closed, (std::set<SessionId>{1, 3}));
  EXPECT_EQ(world.all<wire::Refused>().back().code, "called-before");
  calls = 5;
  hello({}, 4);  // a new one counts: it has lost the attempt
  pass(1);
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
  store::PlacementRow placement = world.placement(1);
  placement.job_id = 2;
  world.placements[{2, placement.incarnation, "s"}] = placement;
  restart();
  EXPECT_EQ(state(2), "pending");
  EXPECT_EQ(world.jobs[2].state, "pending");
  EXPECT_EQ(world.jobs[1].state, "running");
  EXPECT_TRUE(std::any_of(world.events.begin(), world.events.end(), [](const store::EventRow& event) {
    return event.job_id == 2 && event.from == "starting" && event.to == "pending";
  })) << "it is in the history";
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

// Its attempts would be strangers to the server of that name, and be stopped.
TEST_F(LogicTest, an_agent_keeps_its_name_while_jobs_of_it_may_run) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  logic->on_agent_closed(1, now);
  hello({report(1, 1, "running")}, 2, "a", "renamed");
  ASSERT_EQ(world.all<wire::Refused>().size(), 1u);
  EXPECT_EQ(world.all<wire::Refused>()[0].code, "server-renamed");
  EXPECT_TRUE(world.all<wire::StopAttempt>().empty());
  hello({report(1, 1, "running")}, 3);
  EXPECT_EQ(state(1), "running");
  logic->on_agent_closed(3, now);
  hello({report(1, 1, "exited", 0)}, 4);
  ASSERT_EQ(state(1), "succeeded");
  logic->on_agent_closed(4, now);
  hello({}, 5, "a", "renamed");
  EXPECT_EQ(world.all<wire::Refused>().size(), 1u) << "nothing of it runs";
}

TEST_F(LogicTest, an_agent_whose_data_folder_was_copied_may_join_beside_the_first) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  hello({}, 2, "a", "clone");
  EXPECT_TRUE(world.all<wire::Refused>().empty());
  EXPECT_EQ(state(1), "running");
  EXPECT_TRUE(world.all<wire::StopAttempt>().empty());
}

TEST_F(LogicTest, an_agent_whose_server_was_declared_lost_may_take_another_name) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  logic->on_agent_closed(1, now);
  logic->declare_lost("s", "mei", now, [](const Status&) {});
  settle();
  hello({report(1, 1, "running")}, 2, "a", "renamed");
  EXPECT_TRUE(world.all<wire::Refused>().empty());
  EXPECT_EQ(world.all<wire::StopAttempt>().size(), 1u) << "it was given up";
}

TEST_F(LogicTest, an_agent_that_has_the_end_of_a_job_to_tell_keeps_its_name) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  logic->on_agent_closed(1, now);
  hello({report(1, 1, "exited", 0)}, 2, "a", "renamed");
  EXPECT_EQ(world.all<wire::Refused>().size(), 1u);
  hello({report(1, 1, "exited", 0)}, 3);
  EXPECT_EQ(state(1), "succeeded");
}

TEST_F(LogicTest, an_agent_with_a_frozen_job_keeps_its_name_too) {
  hello();
  submit_freezable();
  tell(report(1, 1, "running"));
  logic->intervene(JobId(1), *wire::parse_intervention("suspend", ""), "mei", now, [](const Result<JobId>&) {});
  settle();
  tell(report(1, 1, "frozen"));
  ASSERT_EQ(state(1), "suspended");
  logic->on_agent_closed(1, now);
  hello({report(1, 1, "frozen")}, 2, "a", "renamed");
  hello({}, 3, "another");
  EXPECT_EQ(world.all<wire::Refused>().size(), 2u) << "nor may another agent take its name";
  EXPECT_TRUE(world.all<wire::StopAttempt>().empty());
}

TEST_F(LogicTest, a_job_on_a_server_that_is_down_says_so) {
  const auto why = [&] {
    const Job& job = logic->core().job(logic->core().find(JobId(1)));
    return awaited_by(*logic, *logic->book().find(JobId(1)), job).value_or(answers::Reason{}).text;
  };
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  logic->on_agent_closed(1, now);
  settle();
  EXPECT_EQ(why(), "server s is down; its state is not known");
  pass(100);
  const std::string with_remedy =
      "server s is down; its state is not known; if that is gone for good: schedulearn servers lost s";
  EXPECT_EQ(why(), with_remedy);
  hello({report(1, 1, "running")}, 2);
  EXPECT_EQ(why(), "");
  restart();
  EXPECT_EQ(why(), "") << "its agent will call";
  pass(100);
  EXPECT_EQ(why(), with_remedy);
}

TEST_F(LogicTest, a_gpu_that_telemetry_does_not_have_is_unavailable_and_its_job_s_history_says_so) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  wire::Telemetry telemetry;
  telemetry.gpus.resize(1);
  telemetry.gpus[0].index = 1;  // and not 0, which job 1 has
  for (int i = 0; i < 2; ++i) logic->on_agent_message(1, telemetry, now), settle();
  EXPECT_EQ(logic->core().servers()[ServerIndex(0)].unavailable, GpuSet::only(0));
  EXPECT_EQ(state(1), "running");
  const auto told = [&](const char* kind) {
    return std::count_if(world.events.begin(), world.events.end(),
                         [&](const auto& event) { return event.kind == kind; });
  };
  EXPECT_EQ(told("job.gpu_unavailable"), 1);
  EXPECT_EQ(told("gpu.unavailable"), 1);
  submit(2);
  settle();
  EXPECT_EQ(state(2), "pending");
}

TEST_F(LogicTest, exit_75_asks_for_another_attempt) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  pass(20), keep_session(), pass(20), keep_session(), pass(20);
  tell(report(1, 1, "exited", 75));
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
  EXPECT_TRUE(world.all<wire::StartAttempt>().back().resume);
}

// Else the attempt would count as one that should not be there, for whose end the job has to wait.
TEST_F(LogicTest, a_report_that_comes_again_after_exit_75_does_not_hold_the_job_back) {
  hello();
  submit(1);
  settle();
  const wire::AttemptChanged running{++reports, report(1, 1, "running")};
  logic->on_agent_message(1, running, now);
  settle();
  tell(report(1, 1, "exited", 75));
  logic->on_agent_message(1, running, now);
  pass(1);
  EXPECT_TRUE(world.all<wire::StopAttempt>().empty());
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
}

TEST_F(LogicTest, one_that_asks_right_after_its_start_waits_longer_each_time_and_fails_in_the_end) {
  hello();
  submit(1);
  settle();
  std::int64_t wait_s = 1;
  for (int attempt = 1; attempt <= Requeues::quick_max; ++attempt, wait_s = std::min<std::int64_t>(2 * wait_s, 60)) {
    EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, attempt);
    tell(report(1, attempt, "exited", 75));
    EXPECT_EQ(state(1), "held");
    for (std::int64_t s = 0; s + 1 < wait_s; ++s) pass(1), keep_session();
    EXPECT_EQ(state(1), "held") << "after " << wait_s - 1 << " s";
    pass(1);
  }
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, Requeues::quick_max + 1);
  tell(report(1, Requeues::quick_max + 1, "exited", 75));
  EXPECT_EQ(state(1), "failed");
  EXPECT_TRUE(world.jobs[1].failure_message.find("more than 10 times") != std::string::npos);
}

TEST_F(LogicTest, a_restart_does_not_make_a_job_wait_for_ever) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "exited", 75));
  EXPECT_EQ(world.jobs[1].state, "held");
  restart();
  hello({}, 2);
  pass(1);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
}

TEST_F(LogicTest, restarts_do_not_let_a_job_ask_more_often_or_sooner) {
  hello();
  submit(1);
  settle();
  for (int attempt = 1; attempt <= Requeues::quick_max; ++attempt) {
    EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, attempt);
    tell(report(1, attempt, "exited", 75));
    EXPECT_EQ(world.jobs[1].quick_requeues, attempt);
    restart();
    hello();
    EXPECT_EQ(state(1), "held") << "since a moment ago";
    for (int i = 0; i < 4; ++i) pass(15), keep_session();
  }
  tell(report(1, Requeues::quick_max + 1, "exited", 75));
  EXPECT_EQ(state(1), "failed");
}

TEST_F(LogicTest, a_silent_server_s_jobs_go_on_there_or_start_elsewhere_once_its_lease_is_surely_over) {
  hello();
  submit(1, "", "stop");
  submit(1, "", "continue");
  settle();
  tell(report(1, 1, "running"));
  tell(report(2, 1, "running"));
  pass(31);
  EXPECT_TRUE(world.closed.count(1)) << "a session without pings is closed";
  pass(10);
  EXPECT_EQ(state(1), "running") << "it may still be on its way out";
  pass(10);
  EXPECT_EQ(state(1), "pending");
  EXPECT_EQ(state(2), "running");
  hello({report(1, 1, "running"), report(2, 1, "running")}, 2);
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::StopAttempt>()[0].incarnation.job, 1);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 1) << "not before the first one has ended";
  logic->on_agent_message(2, wire::AttemptChanged{1, report(1, 1, "exited", 0)}, now);
  settle();
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
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
  settle();
  EXPECT_EQ(state(1), "running");
  logic->on_agent_message(1, wire::AttemptChanged{3, report(1, 1, "exited", 0)}, now);
  EXPECT_TRUE(world.closed.count(1));
  hello({}, 2);
  logic->on_agent_message(2, wire::Ping{5, 1}, now);
  EXPECT_TRUE(world.closed.count(2));
}

}  // namespace
}  // namespace sl::controller
