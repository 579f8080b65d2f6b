// The worked examples of the policies that reserve (policies.md 1.2 to 1.4), by hand.
#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;
using test::Workload;

JobRequest lasting(int count, double seconds) {
  JobRequest request = gpus(count);
  request.estimate = Duration::seconds(seconds);
  return request;
}

// One server of 4: R1 has 2 GPUs until 10, R2 one until 6; H wants 3 for 10 s.
struct Backfilling : testing::TestWithParam<const char*> {
  Backfilling() : cluster({4}, GetParam()) {
    cluster.submit(1, lasting(2, 10)).submit(2, lasting(1, 6)).submit(3, lasting(3, 10));
  }
  Cluster cluster;
};

TEST_P(Backfilling, a_short_job_passes_the_one_that_waits_for_room) {
  cluster.submit(4, lasting(1, 5));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  EXPECT_EQ(cluster.state(4), JobState::running);
}
INSTANTIATE_TEST_SUITE_P(Both, Backfilling, testing::Values("fifo_easy", "fifo_conservative"));

TEST(FifoStrict, the_first_job_that_does_not_fit_stops_the_pass) {
  Cluster cluster({4}, "fifo_strict");
  cluster.submit(1, gpus(3)).submit(2, gpus(2)).submit(3, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

TEST(FifoEasy, a_long_job_passes_on_gpus_that_are_left_over_at_the_shadow_time_and_the_next_one_waits) {
  Cluster cluster({4}, "fifo_easy");
  cluster.submit(1, lasting(2, 10)).submit(2, lasting(1, 6)).submit(3, lasting(3, 10));
  cluster.submit(4, lasting(1, 20));  // ends after 10, but 4 - 3 GPUs are left over then
  cluster.submit(5, lasting(1, 20));
  EXPECT_EQ(cluster.state(4), JobState::running);
  cluster.at(6).finish(2);
  EXPECT_EQ(cluster.state(5), JobState::pending);
  cluster.at(10).finish(1);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

// Two servers of 2, one GPU used on each until 10 and 20: two free GPUs are no room for a job of two on one server.
TEST(FifoEasy, the_shadow_time_comes_from_the_placer_and_not_from_a_count) {
  Cluster cluster({2, 2}, "fifo_easy");
  cluster.submit(1, lasting(2, 5)).submit(2, lasting(1, 20)).submit(3, lasting(1, 10));
  cluster.submit(4, lasting(2, 5));  // starts at 5 on server 0
  cluster.submit(5, lasting(1, 7));
  EXPECT_EQ(cluster.state(4), JobState::pending);
  cluster.at(5).finish(1);
  EXPECT_EQ(cluster.where(4), "0:0,1");
}

// 10 + 2 * 60 = 130.
TEST(FifoEasy, a_job_that_outlives_its_estimate_is_given_a_little_more_each_time) {
  Cluster cluster({2}, "fifo_easy", {{"overrun_grace_s", "60"}});
  cluster.submit(1, lasting(1, 10)).at(100).submit(2, lasting(2, 10)).submit(3, lasting(1, 31));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.submit(4, lasting(1, 30));
  EXPECT_EQ(cluster.state(4), JobState::running);
}

// H is booked [10,20), B1 [0,5); B2 (20 s) finds its window at 5.
TEST(FifoConservative, every_job_gets_the_earliest_window_that_delays_nobody_before_it) {
  Cluster cluster({4}, "fifo_conservative");
  Workload load(cluster);
  load.job(1, 0, 10, gpus(2)).job(2, 0, 6, gpus(1)).job(3, 0, 10, gpus(3)).job(4, 0, 5, gpus(1)).job(5, 0, 20, gpus(1));
  load.run();
  EXPECT_EQ(load.ended(3), 20);
  EXPECT_EQ(load.ended(4), 5);
  EXPECT_EQ(load.ended(5), 25);
}

TEST(FifoConservative, promises_survive_a_change_of_policy) {
  Cluster cluster({4}, "fifo_conservative");
  cluster.submit(1, lasting(3, 10)).submit(2, lasting(4, 10));
  const std::string kept = cluster.core.memory().blob;
  EXPECT_NE(kept.find("\n2 10000000 10000000 0:4"), std::string::npos) << kept;
  cluster.use("fifo").use("fifo_conservative").at(3).submit(3, lasting(1, 8));
  EXPECT_EQ(cluster.state(3), JobState::pending);  // it would end at 11
  cluster.submit(4, lasting(1, 7));
  EXPECT_EQ(cluster.state(4), JobState::running);
}

}  // namespace
}  // namespace sl
