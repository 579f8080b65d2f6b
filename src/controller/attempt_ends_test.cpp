// What the end of an attempt means for its job: its own end, an interruption, or one that nobody knows.
#include "controller/explain.h"
#include "controller/logic_test.h"
#include "controller/views.h"

namespace sl::controller::test {
namespace {

class AttemptEndsTest : public LogicTest {
 protected:
  // Job 1, which may run for 10 s, runs.
  void run_with_limit(const wire::CheckpointSpec& checkpoint = {}, const wire::RetrySpec& retry = {}) {
    hello();
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {1, 1};
    submission.spec.time_limit_s = 10;
    submission.spec.checkpoint = checkpoint, submission.spec.retry = retry;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
    tell(report(1, 1, "running"));
  }
  wire::AttemptReport ended(std::optional<int> code, std::optional<std::string> stopped_by) const {
    wire::AttemptReport end = report(1, 1, "exited", code);
    end.started_us = 1;
    end.stopped_by = std::move(stopped_by);
    return end;
  }
  bool was(const std::string& from, const std::string& to) const {
    return std::any_of(world.events.begin(), world.events.end(),
                       [&](const store::EventRow& event) { return event.from == from && event.to == to; });
  }
};

TEST_F(AttemptEndsTest, why_a_job_is_stopped_is_durable_together_with_that) {
  run_with_limit();
  now = now + Duration::whole_seconds(11);
  logic->turn(now);
  ASSERT_EQ(world.under_way.size(), 1u);
  EXPECT_EQ(world.under_way[0].jobs.back().state, "stopping");
  EXPECT_EQ(world.under_way[0].jobs.back().extra_json, "time_limit");
  commit({});
  restart();
  hello({ended(0, "order")});
  EXPECT_EQ(world.jobs[1].failure_kind, "time_limit");
}

TEST_F(AttemptEndsTest, over_its_time_limit_a_job_has_failed_whatever_it_answers) {
  run_with_limit();
  pass(11);
  EXPECT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  tell(ended(75, "order"));
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(world.jobs[1].failure_kind, "time_limit");
}

TEST_F(AttemptEndsTest, after_its_time_limit_there_is_no_retry_of_which_nothing_would_be_left) {
  run_with_limit({}, {.max = 2});
  pass(11);
  tell(ended(0, "order"));
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(world.jobs[1].failure_kind, "time_limit");
}

// As for any other stop: a training saves what it has.
TEST_F(AttemptEndsTest, at_its_time_limit_a_job_gets_the_signal_and_the_time_that_it_asks_for) {
  run_with_limit({.dir = "states", .signal = "USR1", .grace_s = 90});
  pass(11);
  const wire::StopAttempt order = world.all<wire::StopAttempt>().at(0);
  EXPECT_EQ(order.signal, "USR1");
  EXPECT_EQ(order.grace_s, 90);
}

TEST_F(AttemptEndsTest, an_end_of_its_own_counts_though_a_stop_was_on_its_way) {
  run_with_limit();
  pass(11);
  EXPECT_EQ(state(1), "stopping");
  tell(ended(0, {}));
  EXPECT_EQ(state(1), "succeeded");
}

TEST_F(AttemptEndsTest, a_cancelled_job_that_saves_its_model_and_ends_well_is_cancelled) {
  run_with_limit();
  logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
  settle();
  tell(ended(0, "order"));
  EXPECT_EQ(state(1), "cancelled");
  EXPECT_EQ(std::pair(world.jobs[1].exit_code, world.jobs[1].failure_kind), std::pair(std::optional(0), std::string()));
}

TEST_F(AttemptEndsTest, one_that_was_through_before_it_was_asked_has_succeeded) {
  run_with_limit();
  logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
  settle();
  tell(ended(0, {}));
  EXPECT_EQ(state(1), "succeeded");
}

TEST_F(AttemptEndsTest, an_attempt_that_its_lease_ended_is_no_failure_of_a_job_that_may_be_started_elsewhere) {
  hello();
  submit(1, "", "stop");
  settle();
  tell(report(1, 1, "running"));
  tell(ended(143, "lease"));
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
}

// The launcher that knew about the lease is dead; the container's end says only that it was asked to end.
TEST_F(AttemptEndsTest, an_attempt_that_nobody_here_has_stopped_was_ended_by_its_lease) {
  hello();
  submit(1, "", "stop");
  settle();
  tell(report(1, 1, "running"));
  tell(ended(143, "order"));
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
}

// `up` ends its jobs also if the disk is full, and a database may be an old one.
TEST_F(AttemptEndsTest, a_training_that_was_stopped_by_an_order_that_is_not_known_goes_on_from_its_checkpoint) {
  run_with_limit({.dir = "states"});
  restart();
  hello({ended(0, "order")});
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
}

TEST_F(AttemptEndsTest, an_attempt_that_never_ran_is_not_said_to_have_run) {
  hello();
  submit(1, "", "stop");
  settle();
  wire::AttemptReport refused = report(1, 1, "exited");
  refused.failure_kind = "lost";
  tell(refused);
  pass(3);  // what a server has lost waits a little
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
  EXPECT_FALSE(was("starting", "running"));
}

TEST_F(AttemptEndsTest, an_attempt_that_an_agent_has_lost_does_not_count_against_its_job) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  hello({}, 2);
  pass(3);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
  EXPECT_EQ(world.jobs[1].failures, 0);
}

TEST_F(AttemptEndsTest, a_job_that_is_cancelled_now_gets_no_time_also_after_a_restart) {
  run_with_limit();
  wire::Cancellation at_once;
  at_once.now = true;
  logic->cancel(
      JobId(1), "mei", now, [](const Result<JobId>&) {}, at_once);
  logic->turn(now);
  EXPECT_TRUE(world.all<wire::StopAttempt>().empty()) << "before it is durable";
  settle();
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  const wire::StopAttempt order = world.all<wire::StopAttempt>().back();
  EXPECT_EQ(std::tuple(order.signal, order.grace_s, order.reason), std::tuple("KILL", 0.0, "cancelled"));
  EXPECT_EQ(world.jobs[1].extra_json, "cancelled:KILL");
  restart();
  hello({report(1, 1, "running")});
  EXPECT_EQ(world.all<wire::StopAttempt>().size(), 2u);
  EXPECT_EQ(world.all<wire::StopAttempt>().back().signal, "KILL");
  wire::AttemptReport killed = ended({}, "order");
  killed.signal = 9;
  tell(killed);
  EXPECT_EQ(state(1), "cancelled");
  EXPECT_EQ(world.jobs[1].extra_json, "");
}

TEST_F(AttemptEndsTest, a_job_that_is_being_stopped_can_be_hurried) {
  run_with_limit();
  wire::Cancellation politely;
  politely.signal = "SIGINT";
  logic->cancel(
      JobId(1), "mei", now, [](const Result<JobId>&) {}, politely);
  settle();
  EXPECT_EQ(world.all<wire::StopAttempt>().back().signal, "INT");
  EXPECT_EQ(world.all<wire::StopAttempt>().back().grace_s, 30);
  wire::Cancellation at_once;
  at_once.now = true;
  logic->cancel(
      JobId(1), "mei", now, [](const Result<JobId>&) {}, at_once);
  settle();
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 2u);
  EXPECT_EQ(world.all<wire::StopAttempt>().back().signal, "KILL");
  EXPECT_EQ(world.all<wire::StopAttempt>().back().grace_s, 0);
}

// A training may be given a day to save its model; whoever cancels it does not want it.
TEST_F(AttemptEndsTest, a_job_at_its_time_limit_that_is_cancelled_has_no_more_than_others_that_are) {
  run_with_limit({.dir = "states", .signal = "USR1", .grace_s = 86'400});
  pass(11);
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  for (int time = 0; time < 2; ++time) {
    logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
    settle();
    ASSERT_EQ(world.all<wire::StopAttempt>().size(), 2u);
  }
  const wire::StopAttempt order = world.all<wire::StopAttempt>().back();
  EXPECT_EQ(std::tuple(order.signal, order.grace_s, order.reason), std::tuple("TERM", 30.0, "cancelled"));
  tell(ended(0, "order"));
  EXPECT_EQ(state(1), "cancelled");
}

TEST_F(AttemptEndsTest, of_a_job_that_is_stopped_for_its_time_limit_only_its_name_can_be_changed) {
  run_with_limit({.dir = "states"});
  pass(11);
  const auto code_of = [this](const wire::JobChange& change) {
    std::string code;
    logic->edit(JobId(1), change, "mei", now,
                [&](const Result<JobId>& done) { code = done.ok() ? "done" : done.error().code; });
    settle();
    return code;
  };
  EXPECT_EQ(code_of({.time_limit_s = 7200}), "job-ending");
  EXPECT_EQ(code_of({.priority = 1}), "job-ending");
  EXPECT_EQ(code_of({.name = "slow"}), "done");
  std::string code;
  logic->intervene(JobId(1), {.verb = "suspend"}, "mei", now,
                   [&](const Result<JobId>& done) { code = done.ok() ? "done" : done.error().code; });
  settle();
  EXPECT_EQ(code, "job-ending");
}

TEST_F(AttemptEndsTest, an_order_to_stop_tells_nothing_of_a_cancellation_that_is_not_durable) {
  run_with_limit();
  now = now + Duration::whole_seconds(11);
  logic->turn(now);
  wire::Cancellation at_once;
  at_once.now = true;
  logic->cancel(
      JobId(1), "mei", now, [](const Result<JobId>&) {}, at_once);
  commit({});
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  EXPECT_EQ(world.jobs[1].extra_json, "time_limit");
  EXPECT_EQ(world.all<wire::StopAttempt>().back().reason, "time_limit");
  EXPECT_NE(world.all<wire::StopAttempt>().back().signal, "KILL");
  settle();
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 2u);
  EXPECT_EQ(world.jobs[1].extra_json, "time_limit:KILL");
  EXPECT_EQ(world.all<wire::StopAttempt>().back().reason, "cancelled");
  EXPECT_EQ(world.all<wire::StopAttempt>().back().signal, "KILL");
}

TEST_F(AttemptEndsTest, a_signal_goes_to_a_job_that_runs_once_it_is_durable) {
  std::vector<std::string> said;
  const auto note = [&](const Result<JobId>& job) { said.push_back(job.ok() ? "ok" : job.error().code); };
  hello();
  submit(1);
  settle();
  logic->signal(JobId(1), "USR1", "mei", now, note);
  settle();
  tell(report(1, 1, "running"));
  logic->signal(JobId(1), "USR1", "mei", now, note);
  settle();
  EXPECT_EQ(said, (std::vector<std::string>{"job-not-running", "agent-too-old"}));
  auto known = world.servers["s"];
  wire::Hello again = *wire::read_json<wire::Hello>(known.description_json, wire::Unknown::ignore);
  again.attempts = {report(1, 1, "running")}, again.call = ++calls, again.sends_signals = true;
  logic->on_agent_message(2, again, now);
  settle();
  logic->signal(JobId(1), "USR1", "mei", now, note);
  logic->turn(now);
  EXPECT_TRUE(world.all<wire::SignalAttempt>().empty());
  settle();
  ASSERT_EQ(world.all<wire::SignalAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::SignalAttempt>().back().signal, "USR1");
  EXPECT_EQ(said.back(), "ok");
  EXPECT_EQ(state(1), "running");
}

TEST_F(AttemptEndsTest, a_retry_waits_twice_as_long_each_time_also_through_a_restart) {
  hello();
  Logic::Submission submission;
  submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {1, 1};
  submission.spec.retry.max = 3, submission.spec.retry.on = {"exit"}, submission.spec.retry.backoff_s = 60;
  logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
  settle();
  tell(report(1, 1, "running"));
  tell(report(1, 1, "exited", 1));
  EXPECT_EQ(state(1), "held");
  const auto told = std::ranges::find(world.events, "job.attempt_failed", &store::EventRow::kind);
  ASSERT_NE(told, world.events.end());
  EXPECT_EQ(told->text, "attempt 1 failed (exit): exit code 1");
  EXPECT_EQ(told->server, "s");
  const auto why = explain_view(*logic, *logic->book().find(JobId(1)), now);
  EXPECT_EQ(why.verdict, "will_run");
  EXPECT_EQ(why.summary, "job 1 waits: has failed once (exit code 1) and is tried again at " +
                             clock_text((now + Duration::whole_seconds(60)).us, now.us) + " ([retry] backoff)");
  pass(50);
  restart();
  hello();
  pass(9);
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 1u);
  pass(2);
  ASSERT_EQ(world.all<wire::StartAttempt>().size(), 2u);
  tell(report(1, 2, "running"));
  tell(report(1, 2, "exited", 1));
  pass(119);
  hello();
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 2u);
  pass(2);
  EXPECT_EQ(world.all<wire::StartAttempt>().size(), 3u);
}

TEST_F(AttemptEndsTest, a_refusal_that_tells_how_a_job_stands_waits_until_that_is_durable) {
  submit(1);  // no server: it waits
  settle();
  std::vector<std::string> said;
  const auto note = [&](const Result<JobId>& job) { said.push_back(job.ok() ? "ok" : job.error().code); };
  logic->cancel(JobId(1), "mei", now, note);
  logic->turn(now);
  logic->cancel(JobId(1), "mei", now, note);
  logic->turn(now);
  EXPECT_TRUE(said.empty());
  settle();
  EXPECT_EQ(said, (std::vector<std::string>{"ok", "job-finished"}));
}

TEST_F(AttemptEndsTest, what_an_attempt_tells_after_its_successor_has_ended_is_not_heard) {
  hello();
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  hello({}, 2);
  pass(3);  // the first is lost, the second starts
  logic->on_agent_message(2, wire::AttemptChanged{1, report(1, 2, "exited", 0)}, now);
  settle();
  ASSERT_EQ(state(1), "succeeded");
  for (const int attempt : {2, 1}) {
    wire::Progress progress;
    progress.incarnation = report(1, attempt, "").incarnation, progress.step = 10 * attempt;
    logic->on_agent_message(2, progress, now);
    settle();
  }
  EXPECT_NE(world.jobs[1].progress_json.find("\"step\":2E1"), std::string::npos) << world.jobs[1].progress_json;
}

TEST_F(AttemptEndsTest, a_reader_is_told_when_the_agent_calls_again_before_its_old_session_was_seen_to_end) {
  hello();
  std::string said;
  logic->logs().read({"s", {"c", 1, 1, 1}}, 0, 10, 0,
                     [&](const Result<LogPiece>& piece) { said = piece.error().code; });
  EXPECT_EQ(said, "");
  hello({}, 2);
  EXPECT_EQ(said, "server-unreachable");
  EXPECT_TRUE(world.closed.count(1));
}

}  // namespace
}  // namespace sl::controller::test
