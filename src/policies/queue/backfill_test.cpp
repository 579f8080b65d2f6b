// The worked examples of the policies with reservations (policies.md 1.2 to 1.4), by hand.
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

TEST_P(Backfilling, says_when_and_where_it_keeps_gpus_for_the_job_that_waits) {
  const auto kept = cluster.core.reservations(cluster.now);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.front().job, cluster.core.find(JobId(3)));
  EXPECT_EQ(kept.front().at, Instant::at_seconds(10));
  EXPECT_EQ(kept.front().on, (std::vector<ServerCount>{{ServerIndex(0), 3}}));
  cluster.at(10).finish(1);
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_TRUE(cluster.core.reservations(cluster.now).empty());
}
INSTANTIATE_TEST_SUITE_P(Both, Backfilling, testing::Values("fifo_easy", "fifo_conservative"));

// The last two of four GPUs are busy until 100; a job of 3 GPUs heads the line. At 100 one GPU is left over.
TEST(FifoEasy, a_head_that_may_be_on_several_servers_reserves_a_number_of_gpus_wherever_they_are) {
  for (const std::vector<int>& servers : {std::vector<int>{1, 1, 1, 1}, {2, 2}, {4}}) {
    Cluster cluster(servers, "fifo_easy");
    const auto anywhere = [](int count, double seconds) {
      JobRequest request = lasting(count, seconds);
      request.servers_max = any_number_of_servers;
      return request;
    };
    cluster.submit(1, anywhere(2, 1)).submit(2, anywhere(2, 100)).at(1).finish(1).submit(3, anywhere(3, 10));
    cluster.submit(4, anywhere(1, 500)).submit(5, anywhere(1, 500)).submit(6, anywhere(1, 50));
    EXPECT_EQ(cluster.state(4), JobState::running) << servers.size();
    EXPECT_EQ(cluster.state(5), JobState::pending) << servers.size();
    EXPECT_EQ(cluster.state(6), JobState::running) << servers.size();
    cluster.at(51).finish(6).at(100).finish(2);
    EXPECT_EQ(cluster.state(3), JobState::running) << servers.size();
  }
}

TEST(Fifo, the_first_job_that_does_not_fit_stops_the_pass_also_under_its_name_fifo_strict) {
  for (const char* name : {"fifo", "fifo_strict"}) {
    Cluster cluster({4}, name);
    cluster.submit(1, gpus(3)).submit(2, gpus(2)).submit(3, gpus(1));
    EXPECT_EQ(cluster.state(1), JobState::running);
    EXPECT_EQ(cluster.state(2), JobState::pending);
    EXPECT_EQ(cluster.state(3), JobState::pending);
  }
}

TEST(FifoFirstFit, a_job_blocks_the_line_when_as_many_as_the_limit_have_passed_it) {
  Cluster cluster({4}, "fifo_first_fit", {{"skip_limit", "2"}});
  cluster.submit(1, gpus(1)).submit(2, gpus(4)).submit(3, gpus(1)).submit(4, gpus(1)).submit(5, gpus(1));
  EXPECT_EQ(cluster.state(4), JobState::running);
  EXPECT_EQ(cluster.state(5), JobState::pending);  // although a GPU is idle
  cluster.finish(1).finish(3).finish(4);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

// All at the same moment: each job that starts counts, not each decision.
TEST(FifoFirstFit, every_job_that_passes_counts_also_within_one_decision) {
  Cluster cluster({4}, "fifo_first_fit", {{"skip_limit", "2"}});
  cluster.submit(1, gpus(1)).feed(ServerDrained{"0", true}).submit(2, gpus(4));
  for (int id = 3; id <= 5; ++id) cluster.submit(id, gpus(1));
  cluster.feed(ServerDrained{"0", false});
  EXPECT_EQ(cluster.state(4), JobState::running);
  EXPECT_EQ(cluster.state(5), JobState::pending);
}

TEST(FifoFirstFit, claims_to_be_work_conserving_only_as_far_as_it_is) {
  EXPECT_FALSE(find_policy("fifo_first_fit")->info.work_conserving);
}

TEST(HeadOfLine, the_first_job_in_line_lets_others_pass_or_holds_them_back) {
  for (const char* policy : {"sjf", "sgf"}) {
    for (const bool block : {false, true}) {
      Cluster cluster({4}, policy, {{"head", block ? "block" : "skip"}});
      cluster.submit(1, lasting(3, 100));
      cluster.submit(2, lasting(2, 10)).submit(3, lasting(3, 20)).submit(4, lasting(1, 10));
      // sgf: 4 before 2; sjf: 2 before 4, being as long and submitted earlier.
      EXPECT_EQ(cluster.state(4) == JobState::running, !block || std::string(policy) == "sgf") << policy;
      cluster.finish(1);
      EXPECT_EQ(cluster.state(2), JobState::running) << policy;
      EXPECT_EQ(cluster.state(4), JobState::running) << policy;
      EXPECT_EQ(cluster.state(3), JobState::pending) << policy;
    }
  }
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

TEST(FifoEasy, keeps_gpus_for_the_first_in_line_also_while_none_is_free) {
  Cluster cluster({2}, "fifo_easy");
  cluster.submit(1, lasting(2, 10)).submit(2, lasting(2, 10)).submit(3, lasting(1, 1));
  const auto kept = cluster.core.reservations(cluster.now);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.front().job, cluster.core.find(JobId(2)));
  EXPECT_EQ(kept.front().at, Instant::at_seconds(10));
}

// Two servers of 2, one GPU in use on each, until 10 and 20: two free GPUs are no room for a job that needs two on one
// server.
TEST(FifoEasy, the_shadow_time_comes_from_the_placer_and_not_from_a_count) {
  Cluster cluster({2, 2}, "fifo_easy");
  cluster.submit(1, lasting(2, 5)).submit(2, lasting(1, 20)).submit(3, lasting(1, 10));
  cluster.submit(4, lasting(2, 5));  // starts at 5 on server 0
  cluster.submit(5, lasting(1, 7));
  EXPECT_EQ(cluster.state(4), JobState::pending);
  cluster.at(5).finish(1);
  EXPECT_EQ(cluster.where(4), "0:0,1");
}

// Its end is reported a moment after its estimate. Meanwhile nobody takes the GPU that is free already.
TEST(FifoEasy, a_job_that_has_just_reached_its_estimate_is_expected_to_end_at_once) {
  for (const char* policy : {"fifo_easy", "fifo_conservative"}) {
    Cluster cluster({2}, policy);
    cluster.submit(1, lasting(1, 10)).submit(2, lasting(1, 10)).submit(3, lasting(2, 10)).submit(4, lasting(1, 6));
    cluster.at(10).finish(1);
    EXPECT_EQ(cluster.state(4), JobState::pending) << policy;
    cluster.finish(2);
    EXPECT_EQ(cluster.where(3), "0:0,1") << policy;
    EXPECT_EQ(cluster.state(4), JobState::pending) << policy;
  }
}

// 10 + 2 * 60 = 130.
TEST(FifoEasy, a_job_that_outlives_its_estimate_is_given_a_little_more_each_time) {
  Cluster cluster({2}, "fifo_easy", {{"overrun_grace_s", "60"}});
  cluster.submit(1, lasting(1, 10)).at(100).submit(2, lasting(2, 10)).submit(3, lasting(1, 31));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.submit(4, lasting(1, 30));
  EXPECT_EQ(cluster.state(4), JobState::running);
}

// After 10 the end is expected at 70, 190 and then 430.
TEST(FifoConservative, a_job_that_outlives_its_estimate_is_given_twice_as_much_each_time) {
  Cluster cluster({2}, "fifo_conservative", {{"overrun_grace_s", "60"}});
  cluster.submit(1, lasting(1, 10)).at(200).submit(2, lasting(2, 10)).submit(3, lasting(1, 231));
  EXPECT_EQ(cluster.core.reservations(cluster.now).front().at, Instant::at_seconds(430));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.submit(4, lasting(1, 230));
  EXPECT_EQ(cluster.state(4), JobState::running);
}

// Job 5 is promised server 0 at 20, since job 4 takes all of server 1 at 22. When job 4 has gone, it may start there at 15.
TEST(FifoConservative, a_job_moves_to_another_server_on_which_gpus_are_free_for_longer_than_before) {
  Cluster cluster({1, 2}, "fifo_conservative");
  cluster.submit(1, lasting(1, 20)).submit(2, lasting(1, 15)).submit(3, lasting(1, 22)).submit(4, lasting(2, 18));
  cluster.submit(5, lasting(1, 10));
  EXPECT_EQ(cluster.core.reservations(cluster.now).back().at, Instant::at_seconds(20));
  cluster.at(1).feed(JobCancelled{JobId(4)});
  cluster.at(15).finish(2);
  EXPECT_EQ(cluster.state(5), JobState::running);
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

TEST(FifoConservative, a_job_is_promised_its_start_at_once_also_while_no_gpu_is_free) {
  Cluster cluster({2}, "fifo_conservative");
  cluster.submit(1, lasting(1, 20)).submit(2, lasting(1, 10)).at(1).submit(3, lasting(1, 10)).submit(4, lasting(1, 30));
  const auto kept = cluster.core.reservations(cluster.now);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.front().at, Instant::at_seconds(10));
  EXPECT_EQ(kept.back().at, Instant::at_seconds(20));
}

// The one that was promised first keeps its start against one of higher priority.
TEST(FifoConservative, a_promise_holds_against_a_job_of_higher_priority_that_comes_later) {
  Cluster cluster({1}, "fifo_conservative");
  JobRequest urgent = lasting(1, 10);
  urgent.priority = 1;
  cluster.submit(1, lasting(1, 20)).at(1).submit(2, lasting(1, 10)).at(2).submit(3, urgent).at(20).finish(1);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

// Nothing has become free, so nobody else is looked at.
TEST(FifoConservative, a_job_that_is_edited_to_ask_for_less_may_start_before_its_promise) {
  Cluster cluster({4}, "fifo_conservative");
  cluster.submit(1, lasting(3, 20)).at(1).submit(2, lasting(4, 10)).at(2);
  ASSERT_EQ(cluster.core.reservations(cluster.now).size(), 1u);
  cluster.feed(JobEdited{JobId(2), 0, 1, 1, {}});
  EXPECT_EQ(cluster.state(2), JobState::running);
}

// At 10, when job 1 ends as expected, no GPU is free that was not to be: but its CPUs let job 2 leave its place to job 4.
TEST(FifoConservative, a_job_that_waited_for_cpus_leaves_its_place_to_another) {
  Cluster cluster({2, 1}, "fifo_conservative");
  for (std::uint32_t i = 0; i < 2; ++i) {
    ServerDescription server = cluster.core.servers()[ServerIndex(i)].description;
    server.capacity[Resource::cpu] = 8;
    cluster.feed(ServerJoined{server});
  }
  const auto request = [](double seconds, double cpus, const ServerChoice& on) {
    JobRequest made = lasting(1, seconds);
    made.demand[Resource::cpu] = cpus;
    made.servers_chosen = on;
    return made;
  };
  cluster.submit(3, request(100, 0, {{"1"}, {}})).submit(1, request(10, 8, {{"0"}, {}}));
  cluster.submit(2, request(50, 8, {})).submit(4, request(50, 0, {{"1"}, {}}));
  EXPECT_EQ(cluster.core.reservations(cluster.now).back().at, Instant::at_seconds(150));
  cluster.at(10).finish(1);
  EXPECT_EQ(cluster.state(2), JobState::running);
  const auto kept = cluster.core.reservations(cluster.now);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.front().at, Instant::at_seconds(100));
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
