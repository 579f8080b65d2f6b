// What policies tell users about how they rank a job (Policy::standing).
#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;

JobRequest with_estimate(JobRequest request, std::int64_t seconds) {
  request.estimate = Duration::whole_seconds(seconds);
  return request;
}

std::string standing(const Cluster& cluster, std::uint32_t job) {
  return cluster.core.standing(JobIndex(job), cluster.now);
}

TEST(Standing, run_times_say_where_they_come_from) {
  Cluster cluster({2}, "srtf");
  cluster.submit(1, with_estimate(gpus(2), 600)).submit(2, gpus(1)).at(60);
  EXPECT_EQ(standing(cluster, 0), "about 9m 00s left on 2 GPUs, by its own estimate");
  EXPECT_EQ(standing(cluster, 1), "about 5m 00s left on 1 GPU, by the policy's default, as nothing is known");
  cluster.at(100).feed(AttemptExited{JobId(1), 1, {}});
  EXPECT_EQ(standing(cluster, 1),
            "about 1m 40s left on 1 GPU, by its user's finished jobs; 8 of 10 such jobs run for 10s to 16m 40s");
}

TEST(Standing, priority_tells_who_makes_room_and_when) {
  Cluster cluster({2}, "priority");
  JobRequest urgent = gpus(2);
  urgent.priority = 3;
  cluster.submit(1, gpus(1)).submit(2, elastic(1, 1)).submit(3, urgent);
  EXPECT_EQ(standing(cluster, 0), "priority 0; keeps its GPUs: without a checkpoint folder it is never preempted");
  EXPECT_EQ(standing(cluster, 1), "priority 0; makes room for higher ones after running for 1m 00s");
  EXPECT_EQ(standing(cluster, 2),
            "priority 3; lower ones make room for it if they have a checkpoint folder, after running for 1m 00s");
}

TEST(Standing, edf_tells_the_deadline) {
  Cluster cluster({1}, "edf");
  JobRequest due = with_estimate(gpus(1), 60);
  due.deadline = Instant::at_seconds(300);
  cluster.submit(1, due).submit(2, with_estimate(gpus(1), 60)).at(30);
  EXPECT_EQ(standing(cluster, 0), "due in 4m 30s; about 30s left on 1 GPU, by its own estimate");
  EXPECT_TRUE(standing(cluster, 1).starts_with("no deadline; ")) << standing(cluster, 1);
  cluster.at(360);
  EXPECT_TRUE(standing(cluster, 0).starts_with("due 1m 00s ago; ")) << standing(cluster, 0);
}

TEST(Standing, elastic_policies_tell_the_size) {
  Cluster cluster({4}, "elastic_fifo");
  cluster.submit(1, with_estimate(elastic(1, 8), 800));
  EXPECT_TRUE(standing(cluster, 0).starts_with("4 of 1 to 8 GPUs; about ")) << standing(cluster, 0);
}

// 100 s of work at a speedup of 1.5 on two GPUs.
TEST(Standing, optimus_and_coach_tell_what_a_gpu_more_would_save) {
  for (const char* policy : {"optimus", "coach"}) {
    Cluster cluster({1}, policy);
    JobRequest request = elastic(1, 2);
    JobModel model;
    model.speed_curve = SpeedCurve({1, 1.5});
    model.budget = 4;
    request.model = std::make_shared<const JobModel>(model);
    request.gpus = 1;
    cluster.submit(1, with_estimate(request, 100)).at(10);
    const std::string text = standing(cluster, 0);
    EXPECT_TRUE(
        text.starts_with("1 of 1 to 2 GPUs; about 1m 30s left on 1 GPU, by its own estimate; "
                         "one more GPU would save 30s"))
        << text;
    EXPECT_EQ(text.ends_with("; 3.9 of its budget of 4 left"), std::string(policy) == "coach") << text;
  }
}

TEST(Standing, gandiva_tells_whose_turn_it_is) {
  Cluster cluster({1}, "gandiva", {{"slice_s", "60"}});
  JobRequest request = gpus(1);
  request.capability = Capability::checkpoint;
  cluster.submit(1, request).at(30).submit(2, request);
  EXPECT_EQ(standing(cluster, 0), "has run 30s of a slice of 1m 00s");
  EXPECT_EQ(standing(cluster, 1), "its turn has come");
  cluster.at(60).turn();
  EXPECT_EQ(standing(cluster, 0), "may claim a slice in 1m 00s");
}

TEST(Standing, fair_policies_tell_shares) {
  Cluster cluster({4}, "max_min");
  cluster.submit(1, gpus(4)).at(10).submit(2, gpus(4)).at(20);
  EXPECT_EQ(standing(cluster, 0), "due GPUs for 50 % of the time, has had them for 100 %");
  cluster.use("drf");
  EXPECT_EQ(standing(cluster, 1), "its user holds 100 % of the resource it holds most of");
  cluster.use("fair_share");
  EXPECT_EQ(standing(cluster, 1), "the fair-share factor of its user is 50 %");
}

}  // namespace
}  // namespace sl
