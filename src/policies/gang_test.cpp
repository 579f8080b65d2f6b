// The worked examples of gang scheduling and of its baseline, by hand.
#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;

// 3 slots; A and B need scheduler, server and worker each.
TEST(Gang, starts_all_members_or_none) {
  Cluster cluster({3}, "gang");
  cluster.submit(1, gpus(3)).submit(2, gpus(3));
  EXPECT_EQ(cluster.where(1), "0:0,1,2");
  EXPECT_EQ(cluster.state(2), JobState::pending);
  cluster.finish(1);
  EXPECT_EQ(cluster.where(2), "0:0,1,2");
}

TEST(Gang, prefers_a_server_where_no_other_job_has_a_member) {
  Cluster cluster({4, 8}, "gang");
  cluster.submit(1, gpus(2)).submit(2, gpus(2));
  EXPECT_EQ(cluster.where(1), "0:0,1");
  EXPECT_EQ(cluster.where(2), "1:0,1");  // 2 would fit tighter beside job 1
  cluster.submit(3, gpus(2));
  EXPECT_EQ(cluster.where(3), "0:2,3");
}

TEST(Gang, strict_lets_nobody_pass_and_backfill_those_that_delay_nobody) {
  for (const auto& [mode, passes] : {std::pair("strict", false), std::pair("backfill", true)}) {
    Cluster cluster({4}, "gang", {{"when_blocked", mode}});
    JobRequest running = gpus(2), wide = gpus(4), quick = gpus(1), slow = gpus(1);
    running.estimate = quick.estimate = Duration::whole_seconds(10);
    slow.estimate = Duration::whole_seconds(11);
    cluster.submit(1, running).submit(2, wide).submit(3, slow).submit(4, quick);
    EXPECT_EQ(cluster.state(3), JobState::pending);
    EXPECT_EQ(cluster.state(4) == JobState::running, passes);
  }
}

TEST(Gang, members_are_added_up_to_the_wanted_number_when_nobody_waits) {
  Cluster cluster({4}, "gang");
  cluster.submit(1, elastic(2, 4));
  EXPECT_EQ(cluster.job(1).allocation.count(), 4);
  cluster.finish(1).submit(2, gpus(2)).submit(3, elastic(2, 4));
  EXPECT_EQ(cluster.job(3).allocation.count(), 2);
  cluster.at(10).finish(2);
  EXPECT_EQ(cluster.job(3).allocation.count(), 2);  // it has only just started
  cluster.at(60).turn();
  EXPECT_EQ(cluster.job(3).allocation.count(), 4);
}

// Of the 20 ways to choose 3 pods of 6 only 2 complete a job.
TEST(DefaultPods, nine_of_ten_orders_deadlock) {
  int deadlocks = 0;
  constexpr int draws = 1000;
  for (std::uint64_t seed = 1; seed <= draws; ++seed) {
    CoreSettings settings;
    settings.seed = seed;
    Cluster cluster({3}, Cluster::make("default"), settings);
    cluster.feed(ServerDrained{"0", true}).submit(1, gpus(3)).submit(2, gpus(3)).feed(ServerDrained{"0", false});
    deadlocks += cluster.core.active().empty();
  }
  EXPECT_NEAR(deadlocks, 0.9 * draws, 40);  // four deviations
}

TEST(DefaultPods, a_deadlock_is_reported_and_ends_after_its_timeout) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CoreSettings settings;
    settings.seed = seed;
    Cluster cluster({3}, Cluster::make("default"), settings);
    cluster.feed(ServerDrained{"0", true}).submit(1, gpus(3)).submit(2, gpus(3)).feed(ServerDrained{"0", false});
    if (!cluster.core.active().empty()) continue;
    EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(1)), cluster.now).code, ReasonCode::gang_incomplete);
    EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(300));
    cluster.at(300).turn();
    EXPECT_EQ(cluster.state(1), JobState::running);  // the younger gave up its pods
    return;
  }
  FAIL() << "twenty draws without a deadlock";
}

TEST(DefaultPods, spreads_over_servers) {
  Cluster cluster({4, 4}, "default");
  cluster.submit(1, gpus(1)).submit(2, gpus(1));
  EXPECT_NE(cluster.where(1).substr(0, 1), cluster.where(2).substr(0, 1));
}

}  // namespace
}  // namespace sl
