// Jobs that wait for others to end, or for a time.
#include <gtest/gtest.h>

#include "forecast/present.h"
#include "support/cluster.h"

namespace sl {
namespace {

using test::after;
using test::Cluster;
using test::gpus;

JobRequest not_before(JobRequest request, double seconds) {
  auto prerequisites = std::make_shared<Prerequisites>();
  prerequisites->not_before = Instant::at_seconds(seconds);
  request.prerequisites = std::move(prerequisites);
  return request;
}

struct AwaitedTest : testing::Test {
  Cluster cluster{{4}};
  ReasonCode why(std::int64_t id) const { return cluster.core.explain(cluster.core.find(JobId(id))); }
  // How a job ended that has left the core.
  const Record* end_of(std::int64_t id) const {
    for (const Record& record : cluster.records) {
      if (record.job == JobId(id) && record.kind == RecordKind::job_state && is_finished(record.to)) return &record;
    }
    return nullptr;
  }
};

TEST_F(AwaitedTest, a_job_starts_when_all_that_it_follows_have_succeeded) {
  cluster.submit(1, gpus(1)).submit(2, gpus(1)).submit(3, after(gpus(1), {1, 2}));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  EXPECT_EQ(why(3), ReasonCode::dependency);
  cluster.finish(1);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.finish(2);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST_F(AwaitedTest, it_keeps_nobody_waiting_and_its_place_in_line) {
  cluster.submit(1, gpus(1)).submit(2, after(gpus(4), {1})).submit(3, gpus(3)).submit(4, gpus(4));
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(cluster.core.waiting().size(), 1u) << "policies see job 4 only";
  cluster.finish(1).finish(3);
  EXPECT_EQ(cluster.state(2), JobState::running) << "it was submitted before job 4";
}

TEST_F(AwaitedTest, if_one_of_them_fails_it_fails_and_what_follows_it_too) {
  cluster.submit(1, gpus(1)).submit(2, after(gpus(1), {1})).submit(3, after(gpus(1), {2})).submit(4, gpus(1));
  cluster.finish(1, 1);
  ASSERT_NE(end_of(2), nullptr);
  EXPECT_EQ(end_of(2)->to, JobState::failed);
  EXPECT_EQ(end_of(2)->exit.failure, FailureKind::dependency);
  ASSERT_NE(end_of(3), nullptr);
  EXPECT_EQ(end_of(3)->exit.failure, FailureKind::dependency);
  EXPECT_EQ(cluster.state(4), JobState::running);
}

TEST_F(AwaitedTest, a_cancelled_job_has_not_succeeded) {
  cluster.submit(1, gpus(4)).submit(2, gpus(4)).submit(3, after(gpus(1), {2}));
  cluster.feed(JobCancelled{JobId(2)});
  ASSERT_NE(end_of(3), nullptr);
  EXPECT_EQ(end_of(3)->to, JobState::failed);
}

TEST_F(AwaitedTest, a_job_after_any_end_starts_whatever_the_end) {
  cluster.submit(1, gpus(1)).submit(2, gpus(1)).submit(3, after(gpus(1), {}, {1, 2}));
  cluster.finish(1, 1);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.feed(JobCancelled{JobId(2)});
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST_F(AwaitedTest, jobs_that_nobody_knows_have_ended_as_they_should) {
  cluster.submit(7, after(gpus(1), {5}, {6}));
  EXPECT_EQ(cluster.state(7), JobState::running);
}

TEST_F(AwaitedTest, a_retry_is_no_end) {
  cluster.submit(1, gpus(4)).submit(2, after(gpus(1), {1}));
  cluster.feed(AttemptExited{JobId(1), 1, {FailureKind::exit, 1}, true});
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
}

TEST_F(AwaitedTest, a_held_job_still_waits_for_its_user_and_fails_with_what_it_follows) {
  cluster.submit(1, gpus(1)).submit(2, after(gpus(1), {1})).submit(3, after(gpus(1), {1}));
  cluster.feed(JobHeld{JobId(2)});
  cluster.feed(JobHeld{JobId(2), false}).feed(JobHeld{JobId(2)});
  EXPECT_EQ(cluster.state(2), JobState::held);
  Cluster other({4});
  other.submit(1, gpus(1)).submit(2, after(gpus(1), {1})).feed(JobHeld{JobId(2)}).finish(1);
  EXPECT_EQ(other.state(2), JobState::held);
  other.feed(JobHeld{JobId(2), false});
  EXPECT_EQ(other.state(2), JobState::running);
  cluster.finish(1, 1);
  ASSERT_NE(end_of(2), nullptr);
  EXPECT_EQ(end_of(2)->exit.failure, FailureKind::dependency);
}

TEST_F(AwaitedTest, a_long_chain_ends_at_once) {
  constexpr std::int64_t last = 50'000;
  Core& core = cluster.core;
  Effects effects;
  for (std::int64_t id = 1; id <= last; ++id) {
    JobRequest request = id == 1 ? gpus(1) : after(gpus(1), {id - 1});
    request.id = JobId(id);
    core.apply(JobSubmitted{std::move(request)}, cluster.now, effects);
  }
  core.apply(JobCancelled{JobId(1)}, cluster.now, effects);
  effects.clear();
  core.schedule(cluster.now, effects);
  EXPECT_EQ(core.unfinished(), 0u);
}

TEST_F(AwaitedTest, a_job_waits_for_its_time_and_says_when_to_ask) {
  cluster.submit(1, not_before(gpus(1), 100)).submit(2, not_before(gpus(1), 50)).submit(3, not_before(gpus(1), -5));
  EXPECT_EQ(why(1), ReasonCode::not_before);
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(50));
  cluster.at(99.9).turn();
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(100));
  cluster.at(100).turn();
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST_F(AwaitedTest, a_job_that_was_being_changed_when_its_time_came_is_told_to_the_policy_once) {
  for (const std::string& policy : test::policy_names()) {
    Cluster one({4}, policy);
    one.submit(1, gpus(4)).submit(2, not_before(gpus(1), 10));
    one.now = Instant::at_seconds(10);
    one.engine.feed(JobEdited{.job = JobId(2), .priority = 3, .time_limit = {}}, one.now);
    one.turn();
    one.finish(1);
    EXPECT_EQ(one.state(2), JobState::running) << policy;
  }
}

TEST_F(AwaitedTest, a_copy_of_the_core_waits_for_the_same) {
  cluster.submit(1, gpus(4))
      .submit(2, after(gpus(1), {1}))
      .submit(3, not_before(gpus(1), 100))
      .submit_group(4, 9, gpus(2), 3);
  const forecast::Present present = forecast::copy_of(cluster.core, cluster.now);
  RequestEstimates estimates;
  Core copy(estimates, present.settings);
  Effects effects;
  forecast::restore(present, copy, effects);
  copy.set_policy(Cluster::make("fifo"), cluster.now, effects);
  EXPECT_EQ(copy.explain(copy.find(JobId(2))), ReasonCode::dependency);
  EXPECT_EQ(copy.explain(copy.find(JobId(3))), ReasonCode::not_before);
  copy.apply(AttemptExited{JobId(1), 1, {}}, cluster.now, effects);
  copy.schedule(cluster.now, effects);
  EXPECT_EQ(copy.job(copy.find(JobId(2))).state, JobState::starting);
  EXPECT_EQ(copy.job(copy.find(JobId(5))).state, JobState::starting);
  EXPECT_EQ(copy.job(copy.find(JobId(4))).group->to_come.text(), "3-8");
  copy.check_invariants();
}

TEST_F(AwaitedTest, a_job_that_cannot_be_restored_counts_as_failed) {
  cluster.submit(2, gpus(4)).submit(3, after(gpus(1), {2}));
  cluster.feed(JobForgotten{JobId(2), {}});
  ASSERT_NE(end_of(3), nullptr);
  EXPECT_EQ(end_of(3)->exit.failure, FailureKind::dependency);
}

}  // namespace
}  // namespace sl
