// Jobs that their users hold and move.
#include <gtest/gtest.h>

#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::freezable;
using test::gpus;

Allocation on(std::uint32_t server, std::uint64_t bits) { return Allocation(ServerIndex(server), GpuSet{bits}); }

CoreSettings live() {
  CoreSettings settings;
  settings.abilities = {.suspend = false, .freeze = true, .migrate = true, .resize = true};
  return settings;
}

// As on real servers, where a job with a checkpoint is stopped.
struct Holding : testing::Test {
  Cluster cluster{{2, 2}, Cluster::make("fifo"), live()};
  void hold(std::int64_t id) { cluster.feed(JobHeld{JobId(id)}); }
  void resume(std::int64_t id) { cluster.feed(JobHeld{JobId(id), false}); }
};

TEST_F(Holding, a_job_with_a_checkpoint_stops_and_waits_for_its_user) {
  cluster.submit(1, elastic(2, 2)).submit(2, gpus(2)).submit(3, gpus(2));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  hold(1);
  EXPECT_EQ(cluster.state(1), JobState::held);
  EXPECT_EQ(cluster.where(3), "0:0,1");  // what it held
  cluster.finish(2);
  EXPECT_EQ(cluster.state(1), JobState::held);  // though there is room
  resume(1);
  EXPECT_EQ(cluster.where(1), "1:0,1");
  EXPECT_EQ(cluster.job(1).attempt, 2);
  EXPECT_EQ(cluster.job(1).preemptions, 0) << "nobody else wanted its GPUs";
}

TEST_F(Holding, a_frozen_job_waits_for_its_user_where_it_stands) {
  cluster.submit(1, freezable(2)).submit(2, gpus(2));
  hold(1);
  EXPECT_EQ(cluster.state(1), JobState::suspended);
  EXPECT_TRUE(cluster.job(1).set_aside);
  cluster.submit(3, gpus(2));
  EXPECT_EQ(cluster.where(3), "0:0,1");
  resume(1);
  EXPECT_EQ(cluster.state(1), JobState::suspended) << "its GPUs are taken";
  cluster.finish(2);
  EXPECT_EQ(cluster.state(1), JobState::suspended) << "others are of no use to it";
  cluster.finish(3);
  EXPECT_EQ(cluster.where(1), "0:0,1");
  EXPECT_EQ(cluster.job(1).attempt, 1);
}

TEST_F(Holding, a_frozen_job_continues_on_its_own_gpus_only) {
  Cluster one({4}, Cluster::make("fifo"), live());
  one.submit(1, freezable(1)).submit(2, freezable(1)).feed(JobHeld{JobId(1)}).feed(JobHeld{JobId(2)});
  one.submit(3, gpus(1));
  EXPECT_EQ(one.where(3), "0:0");
  one.feed(JobHeld{JobId(2), false});
  EXPECT_EQ(one.where(2), "0:1");
  one.feed(JobHeld{JobId(1), false});
  EXPECT_EQ(one.state(1), JobState::suspended);
  one.finish(3);
  EXPECT_EQ(one.where(1), "0:0");
}

TEST_F(Holding, a_frozen_job_that_is_about_to_go_on_is_not_stopped_for_its_user) {
  cluster.submit(1, freezable(2));
  hold(1);
  cluster.obeys = false;
  resume(1);
  EXPECT_EQ(cluster.state(1), JobState::starting);
  hold(1);
  EXPECT_EQ(cluster.state(1), JobState::starting);
  EXPECT_FALSE(cluster.job(1).on_hold);
}

TEST_F(Holding, a_job_that_can_bear_no_interruption_goes_on) {
  cluster.submit(1, gpus(2));
  hold(1);
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_FALSE(cluster.job(1).on_hold);
}

TEST_F(Holding, what_is_resumed_before_it_has_stopped_waits_in_line) {
  cluster.submit(1, elastic(2, 2));
  cluster.obeys = false;
  hold(1);
  EXPECT_EQ(cluster.state(1), JobState::stopping);
  resume(1);
  cluster.obeys = true;
  cluster.feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.job(1).attempt, 2);
}

TEST_F(Holding, what_is_held_while_it_is_preempted_does_not_start_again) {
  cluster.submit(1, elastic(2, 2));
  cluster.obeys = false;
  cluster.feed(JobPreempted{JobId(1)});
  hold(1);
  cluster.feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::held);
}

TEST_F(Holding, a_wait_to_start_again_neither_holds_nor_releases_what_its_user_holds) {
  cluster.submit(1, gpus(2)).submit(2, gpus(2)).submit(3, gpus(2)).feed(JobHeld{JobId(3), true, false});
  EXPECT_EQ(cluster.state(3), JobState::held);
  hold(3);
  cluster.feed(JobHeld{JobId(3), false, false});
  EXPECT_EQ(cluster.state(3), JobState::held);
  resume(3);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.feed(JobHeld{JobId(1), true, false});
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST_F(Holding, a_held_job_is_cancelled_at_once) {
  cluster.submit(1, elastic(2, 2)).submit(2, freezable(2));
  hold(1), hold(2);
  cluster.feed(JobCancelled{JobId(1)}).feed(JobCancelled{JobId(2)}).feed(JobCancelled{JobId(9)});
  EXPECT_FALSE(cluster.has(1));
  EXPECT_FALSE(cluster.has(2));
}

// ---- moved by their users ----

TEST_F(Holding, a_job_goes_where_its_user_moves_it) {
  cluster.submit(1, elastic(1, 1));
  cluster.feed(JobMoved{JobId(1), on(1, 0b10)});
  EXPECT_EQ(cluster.where(1), "1:1");
  EXPECT_EQ(cluster.job(1).migrations, 1);
}

TEST_F(Holding, a_job_that_is_resized_asks_for_its_new_range_from_then_on) {
  cluster.submit(1, elastic(1, 1));
  cluster.feed(JobMoved{JobId(1), on(0, 0b11), 2, 2});
  EXPECT_EQ(cluster.where(1), "0:0,1");
  EXPECT_EQ(cluster.job(1).request.gpus_min, 2);
  EXPECT_EQ(cluster.job(1).request.gpus, 2);
}

TEST_F(Holding, a_move_that_no_policy_may_decide_changes_nothing) {
  JobRequest at_home = elastic(1, 1);
  at_home.migratable = false;
  cluster.submit(1, gpus(1)).submit(2, at_home).submit(3, elastic(1, 1));
  const std::string before = cluster.where(3);
  cluster.feed(JobMoved{JobId(1), on(1, 0b10)});        // without a checkpoint
  cluster.feed(JobMoved{JobId(2), on(1, 0b10)});        // not migratable
  cluster.feed(JobMoved{JobId(3), on(0, 0b01)});        // taken
  cluster.feed(JobMoved{JobId(3), on(1, 0b11), 4, 4});  // another number than it asks for
  cluster.feed(JobMoved{JobId(9), on(1, 0b10)});        // unknown
  EXPECT_EQ(cluster.where(3), before);
  EXPECT_EQ(cluster.job(3).request.gpus_max, 1);
  EXPECT_EQ(cluster.job(1).migrations + cluster.job(2).migrations + cluster.job(3).migrations, 0);
}

TEST_F(Holding, a_running_job_may_be_given_a_range_that_includes_what_it_has) {
  cluster.submit(1, elastic(2, 2));
  cluster.feed(JobEdited{.job = JobId(1), .gpus_min = 1, .gpus_max = 4, .time_limit = {}});
  EXPECT_EQ(cluster.job(1).request.gpus_max, 4);
  cluster.feed(JobEdited{.job = JobId(1), .gpus_min = 3, .gpus_max = 4, .time_limit = {}});
  EXPECT_EQ(cluster.job(1).request.gpus_min, 1);
}

}  // namespace
}  // namespace sl
