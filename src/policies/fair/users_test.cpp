// The worked examples of the policies that share between users, by hand.
#include <gtest/gtest.h>

#include "policies/fair/fair_share.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;

JobRequest of_user(std::uint32_t user, int count) {
  JobRequest request = gpus(count);
  request.user = UserIndex(user);
  return request;
}

TEST(FairShare, the_factor_halves_with_each_multiple_of_the_share_used) {
  EXPECT_DOUBLE_EQ(fair_share_factor(0, 10, 1, 2), 1);
  EXPECT_DOUBLE_EQ(fair_share_factor(5, 10, 1, 2), 0.5);    // uses exactly its half
  EXPECT_DOUBLE_EQ(fair_share_factor(10, 10, 1, 2), 0.25);  // uses twice its half
  EXPECT_DOUBLE_EQ(fair_share_factor(10, 10, 2, 2), 0.5);
}

TEST(FairShare, who_has_used_less_goes_first) {
  Cluster cluster({1}, "fair_share");
  cluster.submit(1, of_user(1, 1)).at(100).submit(2, of_user(1, 1)).submit(3, of_user(2, 1)).finish(1);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

// User 1 ran 1000 s, then user 2 800 s. With a half-life of 100 s user 2 counts more, with a week less.
TEST(FairShare, old_use_is_forgotten) {
  for (const auto& [half_life_h, first] : {std::pair("0.0277777778", 3), std::pair("168", 4)}) {
    Cluster cluster({1}, "fair_share", {{"half_life_h", half_life_h}, {"weight_age", "0"}});
    cluster.submit(1, of_user(1, 1)).at(1000).finish(1).submit(2, of_user(2, 1)).at(1700);
    cluster.submit(3, of_user(1, 1)).submit(4, of_user(2, 1)).at(1800).finish(2);
    EXPECT_EQ(cluster.state(first), JobState::running) << half_life_h;
  }
}

TEST(FairShare, waiting_and_priority_outweigh_use_as_far_as_their_weights_say) {
  Cluster cluster({1}, "fair_share", {{"weight_priority", "5000"}});
  JobRequest urgent = of_user(1, 1);
  urgent.priority = 10;
  cluster.submit(1, of_user(1, 1)).at(100).submit(2, urgent).submit(3, of_user(2, 1)).finish(1);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

// 9 CPUs, 18 GB as in the paper: A's tasks take <1 CPU, 4 GB>, B's <3 CPUs, 1 GB>: A gets 3 tasks, B 2.
TEST(Drf, equal_dominant_shares) {
  Cluster cluster({16}, "fifo");
  ServerDescription server;
  server.name = "0";
  server.gpus = 16;
  server.capacity[Resource::cpu] = 9;
  server.capacity[Resource::memory] = 18;
  cluster.feed(ServerJoined{server}).feed(ServerDrained{"0", true});
  for (std::int64_t id = 1; id <= 12; ++id) {
    JobRequest request = of_user(id % 2 == 1 ? 1 : 2, 1);
    request.demand[Resource::cpu] = id % 2 == 1 ? 1 : 3;
    request.demand[Resource::memory] = id % 2 == 1 ? 4 : 1;
    cluster.submit(id, request);
  }
  cluster.use("drf").feed(ServerDrained{"0", false});
  int a = 0, b = 0;
  for (std::int64_t id = 1; id <= 12; ++id) {
    if (cluster.state(id) == JobState::running) ++(id % 2 == 1 ? a : b);
  }
  EXPECT_EQ(a, 3);
  EXPECT_EQ(b, 2);
}

TEST(Drf, a_user_of_twice_the_weight_gets_twice_as_much) {
  Cluster cluster({6}, "fifo");
  cluster.feed(ServerDrained{"0", true});
  for (std::int64_t id = 1; id <= 12; ++id) {
    JobRequest request = of_user(id % 2 == 1 ? 1 : 2, 1);
    request.user_weight = id % 2 == 1 ? 2 : 1;
    cluster.submit(id, request);
  }
  cluster.use("drf").feed(ServerDrained{"0", false});
  int heavy = 0;
  for (std::int64_t id = 1; id <= 12; id += 2) heavy += cluster.state(id) == JobState::running;
  EXPECT_EQ(heavy, 4);
}

}  // namespace
}  // namespace sl
