// How jobs end when the program ends that runs their servers.
#include "controller/stopping.h"

#include "controller/explain.h"
#include "controller/logic_test.h"
#include "controller/views.h"

namespace sl::controller::test {
namespace {

class StoppingTest : public LogicTest {
 protected:
  void submit_with_checkpoint(int gpus, bool preemptible = true, int priority = 0) {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {gpus, gpus};
    submission.spec.checkpoint = {"/checkpoints", "USR1", 40};
    submission.spec.preemptible = preemptible;
    submission.spec.priority = priority;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
  void stop() {
    plan = logic->stop_jobs({"s"}, "up was stopped", now, [this](const Status&) { ++done; });
    logic->turn(now);
  }
  void run(std::int64_t job, int attempt = 1) { tell(report(job, attempt, "running")); }
  void end(std::int64_t job, std::optional<int> code, int attempt = 1) {
    wire::AttemptReport exit = report(job, attempt, "exited", code);
    exit.started_us = 1, exit.stopped_by = "order";
    if (!code) exit.signal = 15;
    tell(exit);
  }
  static std::vector<std::int64_t> numbers(const std::vector<JobId>& jobs) {
    std::vector<std::int64_t> found;
    for (const JobId job : jobs) found.push_back(job.value);
    return found;
  }
  std::size_t started() const { return world.all<wire::StartAttempt>().size(); }
  using Ids = std::vector<std::int64_t>;

  StopPlan plan;
  int done = 0;
};

TEST_F(StoppingTest, what_can_resume_goes_back_to_the_queue_and_the_rest_is_cancelled_with_the_reason) {
  hello();
  submit_with_checkpoint(1, false), submit(1), settle();
  submit(2), settle();
  run(1), run(2);
  stop();
  EXPECT_EQ(numbers(plan.requeued), Ids{1});
  EXPECT_EQ(numbers(plan.cancelled), Ids{2});
  EXPECT_EQ(plan.grace.to_seconds(), 40);
  settle();
  const auto orders = world.all<wire::StopAttempt>();
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].signal, "USR1");
  EXPECT_EQ(orders[1].signal, "TERM");
  ASSERT_EQ(plan.orders.size(), 2u);  // for those whom the controller cannot tell
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(plan.orders[i].incarnation, orders[i].incarnation);
    EXPECT_EQ(plan.orders[i].signal, orders[i].signal);
  }
  end(2, {}), end(1, 143);
  EXPECT_EQ(state(1), "pending");
  EXPECT_EQ(state(2), "cancelled");
  EXPECT_EQ(state(3), "pending");
  EXPECT_EQ(world.jobs[1].preemptions, 1);
  const auto view = wire::to_value(job_view(*logic, *logic->book().find(JobId(2)), now, true)).as_object();
  EXPECT_EQ(view.at("reason").at("text"), "up was stopped");
  EXPECT_TRUE(view.at("failure").is_null());
}

// It would save its model for nobody: whoever freezes it expects no end, so that would be taken for its own.
TEST_F(StoppingTest, a_job_that_is_being_frozen_is_not_asked_to_end) {
  hello();
  submit_freezable();
  run(1);
  logic->intervene(JobId(1), {.verb = "suspend"}, "mei", now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(state(1), "stopping");
  stop();
  EXPECT_TRUE(plan.orders.empty());
}

TEST_F(StoppingTest, nothing_starts_meanwhile_not_even_on_a_server_that_joins) {
  hello();
  submit(2), settle();
  submit(1), settle();
  run(1);
  stop(), settle();
  submit(1), settle();
  logic->on_agent_message(
      2,
      [] {
        wire::Hello other;
        other.server = "other", other.agent_id = "b", other.gpus.resize(1);
        return other;
      }(),
      now);
  settle();
  end(1, {});
  EXPECT_EQ(started(), 1u);
  EXPECT_EQ(state(2), "pending");
  EXPECT_EQ(state(3), "pending");
  restart();
  hello();
  EXPECT_EQ(started(), 3u);  // the next program starts them
}

TEST_F(StoppingTest, a_job_that_has_not_started_yet_goes_back_whatever_it_is) {
  hello();
  submit(1), settle();
  stop();
  EXPECT_EQ(numbers(plan.requeued), Ids{1});
  settle();
  wire::AttemptReport never = report(1, 1, "exited");
  never.failure_kind = "lost";
  tell(never);
  EXPECT_EQ(state(1), "pending");
  EXPECT_EQ(done, 1);
}

TEST_F(StoppingTest, it_is_done_once_all_ends_are_durable_or_cannot_be_written) {
  hello();
  submit(1), settle();
  run(1);
  stop(), settle();
  EXPECT_EQ(done, 0);
  wire::AttemptReport exit = report(1, 1, "exited");
  exit.started_us = 1, exit.stopped_by = "order", exit.signal = 15;
  logic->on_agent_message(1, wire::AttemptChanged{++reports, exit}, now);
  logic->turn(now);
  EXPECT_EQ(done, 0);
  commit(unavailable("disk-full", "full"));
  EXPECT_EQ(done, 1) << "the disk may stay full; agents report until they know that it is durable";
  pass(2);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(world.jobs[1].state, "cancelled");
}

TEST_F(StoppingTest, without_running_jobs_it_is_done_at_once) {
  hello();
  submit(3), stop(), settle();
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(plan.requeued.empty() && plan.cancelled.empty());
}

TEST_F(StoppingTest, a_program_that_dies_in_the_middle_is_finished_by_the_next) {
  hello();
  submit_with_checkpoint(1), submit(1), settle();
  run(1), run(2);
  const auto first = report(1, 1, "running"), second = report(2, 1, "running");
  stop(), settle();
  world.sent.clear();
  restart();
  hello({first, second});
  EXPECT_EQ(world.all<wire::StopAttempt>().size(), 2u);
  end(1, 143), end(2, {});
  EXPECT_EQ(state(2), "cancelled");
  EXPECT_EQ(world.jobs[2].failure_message, "up was stopped");
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
}

TEST_F(StoppingTest, a_job_that_waits_for_gpus_of_another_does_not_get_them) {
  ASSERT_EQ(use("priority"), "ok");
  hello();
  submit_with_checkpoint(2);
  run(1);
  for (int i = 0; i < 5; ++i) pass(20), keep_session();
  submit_with_checkpoint(2, true, 9);
  ASSERT_EQ(state(1), "stopping");
  ASSERT_EQ(state(2), "starting");
  stop();
  EXPECT_EQ(numbers(plan.requeued), (Ids{1, 2}));
  settle();
  end(1, 143);
  EXPECT_EQ(state(1), "pending");
  EXPECT_EQ(state(2), "pending");
  EXPECT_EQ(started(), 1u);
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace sl::controller::test
