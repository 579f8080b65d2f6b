// Jobs that policies resize or move while they run: stopped at a checkpoint, and started where they are to go.
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

class MovingTest : public LogicTest {
 protected:
  // Job 1 runs on both GPUs; job 2 has come, and job 1 is asked to shrink to one.
  void SetUp() override {
    hello();
    EXPECT_EQ(use("elastic_fifo", {{"resize_min_run_s", "0"}, {"resize_min_rem_s", "0"}}), "ok");
    submit_elastic();
    tell(report(1, 1, "running"));
    pass(5);
    submit_elastic();
  }
  void submit_elastic() {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {1, 2};
    submission.spec.checkpoint.dir = "/c";
    submission.spec.checkpoint.grace_s = 7;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
  wire::AttemptReport ended(int attempt, std::optional<int> code, std::optional<std::string> stopped_by) const {
    wire::AttemptReport end = report(1, attempt, "exited", code);
    end.started_us = 1;
    end.stopped_by = std::move(stopped_by);
    return end;
  }
  std::vector<wire::StartAttempt> starts_of(std::int64_t job) const {
    std::vector<wire::StartAttempt> starts = world.all<wire::StartAttempt>();
    std::erase_if(starts, [&](const wire::StartAttempt& start) { return start.incarnation.job != job; });
    return starts;
  }
};

// Moves job 1 to the GPU of job 2, which is stopped for that.
class Swap : public Policy {
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    for (const JobIndex job : snapshot.active) {
      const bool is_first = snapshot.job(job).request.id == JobId(1);
      const Allocation other(ServerIndex(0), GpuSet::first(2) - snapshot.job(job).allocation.on(ServerIndex(0)));
      is_first ? plan.migrate(job, other) : plan.preempt(job);
    }
  }
};

TEST_F(MovingTest, a_job_is_resized_by_a_stop_at_a_checkpoint_and_a_start) {
  EXPECT_EQ(state(1), "resizing");
  const auto stops = world.all<wire::StopAttempt>();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].reason, "resizing");
  EXPECT_EQ(stops[0].grace_s, 7);
  EXPECT_TRUE(starts_of(2).empty());
  tell(ended(1, 0, "order"));
  EXPECT_EQ(state(1), "starting");
  ASSERT_EQ(starts_of(1).size(), 2u);
  const wire::StartAttempt again = starts_of(1)[1];
  EXPECT_EQ(again.incarnation.attempt, 2);
  EXPECT_TRUE(again.resume);
  EXPECT_EQ(again.placement.gpus.size(), 1u);
  ASSERT_EQ(starts_of(2).size(), 1u);  // what job 1 has left is free before it runs again
  EXPECT_NE(starts_of(2)[0].placement.gpus, again.placement.gpus);
  tell(report(1, 2, "running"));
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(world.jobs[1].resizes, 1);
  EXPECT_EQ(world.jobs[1].preemptions, 0);
  EXPECT_EQ(world.placement(1).gpus, "0");
  EXPECT_FALSE(world.placement(1).ended_us);
  EXPECT_TRUE(std::ranges::all_of(world.placements, [&](const auto& item) {
    return item.second.job_id != 1 || item.second.ended_us.has_value() == (item.second.attempt == 1);
  }));
}

TEST_F(MovingTest, whatever_its_exit_status_it_goes_on) {
  tell(ended(1, 1, "order"));
  EXPECT_EQ(state(1), "starting");
  EXPECT_TRUE(world.all<wire::ForgetAttempt>().size() == 1u);
}

TEST_F(MovingTest, one_that_ended_before_the_stop_reached_it_has_ended) {
  tell(ended(1, 0, {}));
  EXPECT_EQ(state(1), "succeeded");
  EXPECT_EQ(starts_of(2).size(), 1u);
}

TEST_F(MovingTest, one_that_asked_to_be_started_again_by_itself_starts_where_it_was_to_go_without_delay) {
  tell(ended(1, 75, {}));
  EXPECT_EQ(state(1), "starting");
  EXPECT_EQ(starts_of(1).size(), 2u);
}

TEST_F(MovingTest, an_end_that_is_told_twice_at_once_is_not_taken_for_that_of_its_next_attempt) {
  const wire::AttemptReport end = ended(1, 0, "order");
  logic->on_agent_message(1, wire::AttemptChanged{++reports, end}, now);
  logic->on_agent_message(1, wire::AttemptChanged{++reports, end}, now);
  settle();
  EXPECT_EQ(state(1), "starting");
  EXPECT_EQ(world.jobs[1].attempt, 2);
}

TEST_F(MovingTest, a_stop_that_was_lost_is_ordered_again) {
  logic->on_agent_closed(1, now);
  hello({report(1, 1, "running")}, 2);
  const auto stops = world.all<wire::StopAttempt>();
  ASSERT_EQ(stops.size(), 2u);
  EXPECT_EQ(stops[1].reason, "resizing");
}

TEST_F(MovingTest, one_that_its_agent_no_longer_has_starts_where_it_was_to_go) {
  logic->on_agent_closed(1, now);
  hello({}, 2);
  EXPECT_EQ(state(1), "starting");
  EXPECT_EQ(starts_of(1).size(), 2u);
}

TEST_F(MovingTest, a_cancelled_one_ends_with_the_stop_that_is_under_way) {
  logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(state(1), "stopping");
  wire::AttemptReport end = ended(1, {}, "order");
  end.signal = 15;
  tell(end);
  EXPECT_EQ(state(1), "cancelled");
  EXPECT_EQ(starts_of(1).size(), 1u);
}

// It was to move to GPUs that job 3 is leaving, so nothing had been ordered yet when its server went silent.
TEST_F(MovingTest, one_that_was_cancelled_while_its_server_was_away_is_stopped_when_that_is_back) {
  tell(ended(1, 0, "order"));
  tell(report(1, 2, "running"));
  wire::AttemptReport second = report(2, 1, "running");
  tell(second);
  logic->set_policy({.name = "swap.py", .source = "x"}, "mei", now, [](const Status&) {});
  logic->on_policy_made(MadePolicy{{.name = "swap.py"}, std::make_unique<Swap>()}, now);
  submit(1);
  settle();
  EXPECT_EQ(state(1), "migrating");
  EXPECT_EQ(state(2), "stopping");
  logic->on_agent_closed(1, now);
  logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
  settle();
  world.sent.clear();
  hello({report(1, 2, "running"), report(2, 1, "running")}, 2);
  const auto stops = world.all<wire::StopAttempt>();
  EXPECT_TRUE(std::ranges::any_of(stops, [](const auto& stop) { return stop.incarnation.job == 1; }));
}

TEST_F(MovingTest, a_restarted_controller_stops_it_and_puts_it_back_in_line) {
  restart();
  EXPECT_EQ(state(1), "stopping");
  EXPECT_EQ(world.jobs[1].extra_json, "preempted");
  EXPECT_TRUE(std::ranges::any_of(world.events, [](const store::EventRow& event) {
    return event.from == "resizing" && event.to == "stopping" && event.text == "preempted";
  }));
  restart();  // what the first one has written is consistent
  EXPECT_EQ(state(1), "stopping");
  hello({report(1, 1, "running")});
  EXPECT_EQ(world.all<wire::StopAttempt>().back().reason, "preempted");
  tell(ended(1, 0, "order"));
  EXPECT_EQ(state(1), "starting");  // and the policy has given it GPUs again
  EXPECT_EQ(starts_of(1).back().incarnation.attempt, 2);
}

TEST_F(MovingTest, when_the_program_ends_it_is_stopped_and_put_back_in_line) {
  bool done = false;
  const StopPlan plan = logic->stop_jobs({"s"}, "the program ends", now, [&](const Status&) { done = true; });
  settle();
  EXPECT_EQ(plan.requeued, (std::vector<JobId>{JobId(1), JobId(2)}));
  EXPECT_EQ(plan.grace, Duration::whole_seconds(7));
  tell(ended(1, 0, "order"));
  EXPECT_EQ(state(1), "pending");
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace sl::controller::test
