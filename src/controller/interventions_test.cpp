// What users do to their jobs: suspend, resume, migrate, scale.
#include "controller/drains.h"
#include "controller/logic_test.h"
#include "controller/views.h"

namespace sl::controller::test {
namespace {

class InterventionsTest : public LogicTest {
 protected:
  // Server s has two GPUs; job 1 runs on one of them with a checkpoint folder.
  void SetUp() override {
    hello();
    submit_job([](wire::JobSpec& spec) { spec.checkpoint.dir = "/c", spec.checkpoint.grace_s = 7; });
    tell(report(1, 1, "running"));
  }
  void submit_job(const std::function<void(wire::JobSpec&)>& say) {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {1, 1};
    say(submission.spec);
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
  // The error's code; "ok" once it is done and durable.
  std::string ask(std::int64_t job, const std::string& verb, const std::string& body = "") {
    std::string said = "no answer";
    const auto wanted = wire::parse_intervention(verb, body);
    if (!wanted.ok()) return wanted.error().code;
    logic->intervene(JobId(job), *wanted, "mei", now,
                     [&](const Result<JobId>& done) { said = done.ok() ? "ok" : done.error().code; });
    EXPECT_EQ(said, "no answer") << "nothing is promised before it is durable";
    settle();
    return said;
  }
  std::string effect(std::int64_t job, const std::string& verb, const std::string& body = "") {
    const auto told = logic->preview(JobId(job), *wire::parse_intervention(verb, body));
    return told.ok() ? told->text : told.error().code;
  }
  wire::AttemptReport stopped(std::int64_t job, int attempt) const {
    wire::AttemptReport end = report(job, attempt, "exited", 0);
    end.started_us = 1, end.stopped_by = "order";
    return end;
  }
  std::int64_t server_b() {  // a second server, which its agent reports on session 2
    hello({}, 2, "b", "b");
    reports = 1;  // of session 1
    return 2;
  }
};

TEST_F(InterventionsTest, a_suspended_job_stops_at_a_checkpoint_and_stays_held_through_restarts) {
  EXPECT_EQ(effect(1, "suspend"), "stops at a checkpoint and is held until: schedulearn resume 1");
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(ask(1, "suspend"), "ok");
  ASSERT_EQ(world.all<wire::StopAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::StopAttempt>()[0].grace_s, 7);
  tell(stopped(1, 1));
  EXPECT_EQ(state(1), "held");
  restart();
  hello();
  pass(10);
  EXPECT_EQ(state(1), "held");
  EXPECT_EQ(ask(1, "suspend"), "job-held");
  EXPECT_EQ(ask(1, "resume"), "ok");
  EXPECT_EQ(state(1), "starting");
  EXPECT_TRUE(world.all<wire::StartAttempt>().back().resume);
  EXPECT_EQ(ask(1, "resume"), "job-not-held");
}

TEST_F(InterventionsTest, a_stop_for_its_user_is_remembered_by_a_restart_in_between) {
  EXPECT_EQ(ask(1, "suspend"), "ok");
  restart();
  hello({report(1, 1, "stopping")});
  tell(stopped(1, 1));
  EXPECT_EQ(state(1), "held");
}

TEST_F(InterventionsTest, a_job_that_can_be_frozen_stands_still_until_it_is_resumed) {
  submit_job([](wire::JobSpec& spec) { spec.freeze = true; });
  tell(report(2, 1, "running"));
  EXPECT_EQ(ask(2, "suspend"), "ok");
  ASSERT_EQ(world.all<wire::FreezeAttempt>().size(), 1u);
  EXPECT_EQ(state(2), "stopping");
  tell(report(2, 1, "frozen"));
  EXPECT_EQ(state(2), "suspended");
  EXPECT_EQ(world.jobs.at(2).server, "s");
  EXPECT_EQ(world.jobs.at(2).gpus, "1");
  submit(1);
  settle();
  EXPECT_EQ(state(3), "starting") << "it has given up its GPU";
  tell(report(3, 1, "running"));
  EXPECT_EQ(ask(2, "resume"), "ok");
  EXPECT_EQ(state(2), "suspended") << "the GPU is another's now";
  tell(report(3, 1, "exited", 0));
  EXPECT_EQ(state(2), "starting");
  ASSERT_EQ(world.all<wire::ThawAttempt>().size(), 1u);
  EXPECT_EQ(world.all<wire::ThawAttempt>()[0].incarnation, report(2, 1, "").incarnation);
  tell(report(2, 1, "running"));
  EXPECT_EQ(state(2), "running");
  EXPECT_EQ(world.jobs.at(2).attempt, 1);
}

class FrozenTest : public InterventionsTest {
 protected:
  // Job 2 is frozen, and job 3 has its GPU.
  void SetUp() override {
    InterventionsTest::SetUp();
    submit_job([](wire::JobSpec& spec) { spec.freeze = true, spec.on_partition = "stop"; });
    tell(report(2, 1, "running"));
    ask(2, "suspend");
    tell(report(2, 1, "frozen"));
    submit(1);
    settle();
    tell(report(3, 1, "running"));
  }
  void restart_with(const std::string& state_of_2) {
    restart();
    hello({report(1, 1, "running"), report(2, 1, state_of_2), report(3, 1, "running")});
  }
};

TEST_F(FrozenTest, it_stands_where_it_stood_after_a_restart) {
  restart_with("frozen");
  EXPECT_EQ(state(2), "suspended");
  EXPECT_EQ(state(3), "running");
  ask(2, "resume");
  tell(report(3, 1, "exited", 0));
  EXPECT_EQ(world.all<wire::ThawAttempt>().size(), 1u);
}

TEST_F(FrozenTest, on_a_drained_server_it_is_left_there_and_waits_for_that) {
  const auto told = reports;
  hello({}, 2, "b", "b");
  reports = told;
  logic->drain_server("s", {}, "mei", now, [](const Status&) {});
  settle();
  const ServerIndex server = logic->core().find_server("s");
  const std::string said =
      drain_text(logic->core(), logic->core().servers()[server], server, *logic->drains().find("s"));
  EXPECT_NE(said.find(", 3 jobs are left there"), std::string::npos) << said;
  tell(report(3, 1, "exited", 0));
  EXPECT_EQ(ask(2, "resume"), "ok");
  EXPECT_EQ(job_details_view(*logic, *logic->book().find(JobId(2)), now, true).reason.value().text,
            "until s is undrained: it was frozen there and cannot continue elsewhere");
}

TEST_F(FrozenTest, the_time_that_it_stands_still_is_no_part_of_its_speed) {
  const auto count = [&](double step, std::int64_t second) {
    wire::Progress told;
    told.incarnation = report(2, 1, "").incarnation;
    told.step = step, told.at_us = told.step_at_us = second * 1'000'000;
    logic->on_agent_message(1, told, now);
    settle();
  };
  count(10, 1'000);  // from before it stood still, told afterwards
  tell(report(3, 1, "exited", 0));
  ask(2, "resume");
  tell(report(2, 1, "running"));
  count(20, 1'100);
  count(50, 1'103);
  EXPECT_DOUBLE_EQ(logic->book().find(JobId(2))->measured->meter.per_s().value(), 10);
}

TEST_F(FrozenTest, one_that_runs_though_it_should_not_is_frozen_again) {
  restart_with("running");
  EXPECT_EQ(world.all<wire::FreezeAttempt>().size(), 2u);
  EXPECT_EQ(state(2), "suspended");
}

TEST_F(FrozenTest, an_order_to_go_on_that_was_lost_is_repeated) {
  tell(report(3, 1, "exited", 0));
  ask(2, "resume");
  ASSERT_EQ(state(2), "starting");
  world.sent.clear();
  restart();
  hello({report(1, 1, "running"), report(2, 1, "frozen")});
  EXPECT_EQ(world.all<wire::ThawAttempt>().size(), 1u);
  EXPECT_TRUE(world.all<wire::StartAttempt>().empty());
  tell(report(2, 1, "running"));
  EXPECT_EQ(state(2), "running");
}

TEST_F(FrozenTest, one_that_waits_for_its_gpus_to_go_on_still_does_after_a_restart) {
  ask(2, "resume");
  restart_with("frozen");
  EXPECT_EQ(state(2), "suspended");
  EXPECT_TRUE(world.all<wire::ThawAttempt>().empty());
}

TEST_F(FrozenTest, it_is_ended_when_it_is_cancelled_whoever_has_its_gpus) {
  logic->cancel(JobId(2), "mei", now, [](const Result<JobId>&) {});
  settle();
  ASSERT_FALSE(world.all<wire::StopAttempt>().empty());
  EXPECT_EQ(world.all<wire::StopAttempt>().back().incarnation.job, 2);
  restart_with("stopping");  // its GPUs are another's: that must not keep it from being restored
  EXPECT_EQ(state(2), "stopping");
  EXPECT_EQ(state(3), "running");
  wire::AttemptReport end = stopped(2, 1);
  end.exit_code.reset(), end.signal = 15;
  tell(end);
  EXPECT_EQ(state(2), "cancelled");
}

TEST_F(FrozenTest, it_is_lost_with_its_server) {
  logic->on_agent_closed(1, now);
  pass(60);
  EXPECT_EQ(state(2), "held") << "its lease is over, and its user holds it";
}

TEST_F(FrozenTest, it_is_lost_if_its_agent_knows_it_no_longer) {
  restart();
  hello({report(1, 1, "running"), report(3, 1, "running")});
  EXPECT_EQ(state(2), "held");
}

TEST_F(FrozenTest, its_end_is_its_end) {
  tell(report(2, 1, "exited", 0));
  EXPECT_EQ(state(2), "succeeded");
}

TEST_F(InterventionsTest, a_job_that_bears_no_interruption_is_not_suspended_and_nothing_changes) {
  submit(1);
  settle();
  tell(report(2, 1, "running"));
  EXPECT_EQ(effect(2, "suspend"), "cannot-suspend");
  EXPECT_EQ(ask(2, "suspend"), "cannot-suspend");
  EXPECT_EQ(ask(2, "migrate"), "no-checkpoint");
  EXPECT_EQ(ask(2, "scale", R"({"gpus": 2})"), "no-checkpoint");
  EXPECT_EQ(state(2), "running");
  EXPECT_TRUE(world.all<wire::StopAttempt>().empty());
  EXPECT_FALSE(world.jobs.at(2).held);
}

TEST_F(InterventionsTest, a_job_moves_to_the_server_that_its_user_names) {
  EXPECT_EQ(ask(1, "migrate", R"({"to": "b"})"), "server-not-found");
  EXPECT_EQ(ask(1, "migrate"), "no-room");
  server_b();
  EXPECT_EQ(ask(1, "migrate", R"({"to": "s"})"), "already-there");
  EXPECT_EQ(effect(1, "migrate"), "stops at a checkpoint, then continues on 1 GPU (b:0)");
  EXPECT_EQ(ask(1, "migrate", R"({"to": "b"})"), "ok");
  EXPECT_EQ(state(1), "migrating");
  EXPECT_EQ(ask(1, "migrate"), "job-not-running");
  tell(stopped(1, 1));
  EXPECT_EQ(world.placement(1).server, "b");
}

TEST_F(InterventionsTest, what_may_not_be_moved_stays) {
  server_b();
  submit_job([](wire::JobSpec& spec) { spec.checkpoint.dir = "/c", spec.migratable = false; });
  submit_job([](wire::JobSpec& spec) { spec.checkpoint.dir = "/c", spec.preemptible = false; });
  for (const std::int64_t job : {2, 3}) {
    wire::AttemptReport runs = report(job, 1, "running");
    logic->on_agent_message(world.placement(job).server == "s" ? 1 : 2,
                            wire::AttemptChanged{world.placement(job).server == "s" ? ++reports : job - 2, runs}, now);
    settle();
  }
  EXPECT_EQ(ask(2, "migrate"), "not-migratable");
  EXPECT_EQ(ask(3, "migrate"), "not-preemptible");
}

TEST_F(InterventionsTest, a_running_job_is_given_more_gpus_and_keeps_what_was_asked_for) {
  EXPECT_EQ(ask(1, "scale", R"({"gpus": 3})"), "gpus-unsatisfiable");
  submit(1);
  settle();
  EXPECT_EQ(ask(1, "scale", R"({"gpus": 2})"), "no-room");
  tell(report(2, 1, "exited", 0));
  EXPECT_EQ(effect(1, "scale", R"({"gpus": 2})"), "stops at a checkpoint, then continues on 2 GPUs (s:0,1)");
  EXPECT_EQ(ask(1, "scale", R"({"gpus": "2"})"), "ok");
  EXPECT_EQ(state(1), "resizing");
  tell(stopped(1, 1));
  EXPECT_EQ(world.all<wire::StartAttempt>().back().placement.gpus.size(), 2u);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().spec.gpus.min, 2);
  tell(report(1, 2, "running"));
  EXPECT_EQ(ask(1, "scale", R"({"gpus": "1..2"})"), "ok") << "it has as many as it may have";
  EXPECT_EQ(state(1), "running");
  restart();
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).request.gpus_min, 1);
}

TEST_F(InterventionsTest, a_waiting_job_asks_for_what_it_is_given) {
  submit(2);
  settle();
  EXPECT_EQ(ask(2, "scale", R"({"gpus": 99})"), "gpus-unsatisfiable");
  EXPECT_EQ(ask(2, "scale", R"({"gpus": [1, 2]})"), "bad-gpus");
  EXPECT_EQ(effect(2, "scale", R"({"gpus": 1})"), "asks for 1 GPU from now on");
  EXPECT_EQ(ask(2, "scale", R"({"gpus": 1})"), "ok");
  EXPECT_EQ(state(2), "starting");
}

TEST_F(InterventionsTest, bad_requests_name_what_is_wrong) {
  EXPECT_EQ(ask(1, "scale"), "gpus-missing");
  EXPECT_EQ(ask(1, "scale", R"({"gpus": "many"})"), "bad-gpus");
  EXPECT_EQ(ask(1, "suspend", R"({"to": "b"})"), "unknown-key");
  EXPECT_EQ(ask(9, "suspend"), "job-not-found");
  tell(report(1, 1, "exited", 0));
  for (const char* verb : {"suspend", "resume", "migrate"}) EXPECT_EQ(ask(1, verb), "job-finished") << verb;
}

TEST_F(InterventionsTest, its_history_says_who_asked_for_what) {
  ask(1, "scale", R"({"gpus": 2})");
  std::string said;
  for (const store::EventRow& event : world.events) {
    if (event.kind == "job.scale_requested") said += event.actor_name + ": " + event.text;
  }
  EXPECT_EQ(said, "mei: 1 → 2 GPUs");
}

// The controller stood still meanwhile, and finds out about both servers in the same turn.
TEST_F(InterventionsTest, a_job_does_not_go_on_to_a_server_that_has_been_silent_as_long_as_its_own) {
  server_b();
  submit_job([](wire::JobSpec& spec) { spec.gpus = {2, 2}, spec.checkpoint.dir = "/c", spec.on_partition = "stop"; });
  logic->on_agent_message(2, wire::AttemptChanged{1, report(2, 1, "running")}, now);
  settle();
  tell(report(1, 1, "exited", 0));
  EXPECT_EQ(ask(2, "migrate"), "ok");
  ASSERT_EQ(state(2), "migrating");
  pass(60);
  EXPECT_EQ(state(2), "pending");
}

// Job 2 runs on GPU 1 of s and goes over to others by itself.
class ResizeInPlaceTest : public InterventionsTest {
 protected:
  void SetUp() override {
    InterventionsTest::SetUp();
    tell(report(1, 1, "exited", 0));
    submit_job([](wire::JobSpec& spec) {
      spec.name = "cnn", spec.resize = "in_place", spec.checkpoint = {.dir = "/c", .signal = "USR1", .grace_s = 7};
    });
    tell(on({0}));
  }
  wire::AttemptReport on(std::vector<int> gpus) const {
    wire::AttemptReport running = report(2, 1, "running");
    running.gpus = std::move(gpus);
    return running;
  }
  void hello_with(std::vector<wire::AttemptReport> attempts, bool resizes_in_place = true) {
    logic->on_agent_closed(1, now);
    wire::Hello hello;
    hello.server = "s", hello.agent_id = "a", hello.call = ++calls;
    hello.gpus.resize(2);
    hello.gpus[1].index = 1;
    hello.resizes_in_place = resizes_in_place;
    hello.attempts = std::move(attempts);
    logic->on_agent_message(1, hello, now);
    reports = 0;
    settle();
  }
};

TEST_F(ResizeInPlaceTest, it_is_told_its_gpus_and_runs_on_them_in_the_same_attempt_once_it_says_so) {
  hello_with({on({0})});
  EXPECT_EQ(effect(2, "scale", R"({"gpus": 2})"), "is asked to go over to 2 GPUs by itself (s:0,1)");
  EXPECT_EQ(ask(2, "scale", R"({"gpus": 2})"), "ok");
  EXPECT_EQ(state(2), "resizing");
  ASSERT_EQ(world.all<wire::ResizeAttempt>().size(), 1u);
  const wire::ResizeAttempt order = world.all<wire::ResizeAttempt>()[0];
  EXPECT_EQ(order.placement.gpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(order.signal, "USR1");
  EXPECT_EQ(order.grace_s, 7);
  EXPECT_TRUE(world.all<wire::StopAttempt>().empty());
  const JobEntry& entry = *logic->book().find(JobId(2));
  EXPECT_EQ(job_details_view(*logic, entry, now, true).reason.value().text,
            "it is asked to go over to 2 GPUs of s by itself");
  tell(on({0}));
  EXPECT_EQ(state(2), "resizing") << "it has not answered";
  pass(3);
  tell(on({0, 1}));
  EXPECT_EQ(state(2), "running");
  EXPECT_EQ(world.jobs.at(2).attempt, 1);
  EXPECT_EQ(world.jobs.at(2).gpus, "0,1");
  EXPECT_EQ(world.placements.rbegin()->second.gpus, "0,1");
  ASSERT_TRUE(logic->profiles().costs().find("cnn"));
  EXPECT_EQ(logic->profiles().costs().find("cnn")->stop_s, 3);
  restart();
  hello_with({on({0, 1})});
  EXPECT_EQ(state(2), "running");
  EXPECT_EQ(logic->core().ledger().free().total(), 0);
}

TEST_F(ResizeInPlaceTest, it_leaves_gpus_to_others_only_once_it_says_so) {
  hello_with({on({0})});
  ask(2, "scale", R"({"gpus": 2})");
  tell(on({0, 1}));
  submit(1);
  settle();
  ask(2, "scale", R"({"gpus": 1})");
  EXPECT_EQ(state(3), "pending");
  tell(on({0}));
  EXPECT_EQ(state(3), "starting");
  EXPECT_EQ(world.all<wire::StartAttempt>().back().placement.gpus, std::vector<int>{1});
}

TEST_F(ResizeInPlaceTest, one_that_had_to_be_stopped_starts_again_on_the_gpus_it_was_to_have) {
  hello_with({on({0})});
  ask(2, "scale", R"({"gpus": 2})");
  tell(stopped(2, 1));
  EXPECT_EQ(state(2), "starting");
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().placement.gpus, (std::vector<int>{0, 1}));
}

// Its agent had already begun to stop it, and has died since.
TEST_F(ResizeInPlaceTest, one_that_answers_while_it_is_being_stopped_is_started_again_and_has_not_failed) {
  hello_with({on({0})});
  ask(2, "scale", R"({"gpus": 2})");
  tell(on({0, 1}));
  ASSERT_EQ(state(2), "running");
  tell(stopped(2, 1));
  EXPECT_EQ(state(2), "starting");
  EXPECT_EQ(world.jobs.at(2).attempt, 2);
}

TEST_F(ResizeInPlaceTest, an_order_that_was_lost_is_given_again_and_an_answer_in_between_counts) {
  hello_with({on({0})});
  ask(2, "scale", R"({"gpus": 2})");
  hello_with({on({0})});
  EXPECT_EQ(world.all<wire::ResizeAttempt>().size(), 2u);
  hello_with({on({0, 1})});
  EXPECT_EQ(world.all<wire::ResizeAttempt>().size(), 2u);
  EXPECT_EQ(state(2), "running");
}

// Where it was to go is forgotten.
TEST_F(ResizeInPlaceTest, after_a_restart_of_the_controller_it_stops_at_a_checkpoint_whatever_it_has_answered) {
  hello_with({on({0})});
  ask(2, "scale", R"({"gpus": 2})");
  restart();
  hello_with({on({0, 1})});
  EXPECT_EQ(world.all<wire::StopAttempt>().size(), 1u);
}

TEST_F(ResizeInPlaceTest, an_older_agent_stops_it_at_a_checkpoint) {
  hello_with({on({0})}, false);
  ask(2, "scale", R"({"gpus": 2})");
  EXPECT_TRUE(world.all<wire::ResizeAttempt>().empty());
  EXPECT_EQ(world.all<wire::StopAttempt>().size(), 1u);
}

TEST_F(ResizeInPlaceTest, one_that_moves_to_another_server_stops_at_a_checkpoint) {
  hello_with({on({0})});
  server_b();
  ask(2, "migrate");
  EXPECT_TRUE(world.all<wire::ResizeAttempt>().empty());
  EXPECT_EQ(world.all<wire::StopAttempt>().size(), 1u);
}

}  // namespace
}  // namespace sl::controller::test
