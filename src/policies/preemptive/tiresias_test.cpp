#include <gtest/gtest.h>

#include "policies/preemptive/tiresias.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;
using test::Workload;

JobRequest stoppable(int count) {
  JobRequest request = gpus(count);
  request.capability = Capability::checkpoint;
  return request;
}

Job with_service(std::int64_t id, int count, double attained_gpu_s, double first_start_s, bool runs) {
  Job job;
  job.request = stoppable(count);
  job.request.id = JobId(id);
  job.request.submitted = Instant::at_seconds(-1000 + static_cast<double>(id));
  job.attained_gpu_us = Duration::seconds(attained_gpu_s).us;
  job.run = Duration::seconds(attained_gpu_s / count);
  job.state = runs ? JobState::running : JobState::pending;
  job.first_start = Instant::at_seconds(first_start_s);
  job.last_start = job.first_start;
  job.accounted = job.waiting_since = Instant::at_seconds(100);
  if (runs) job.allocation = Allocation(ServerIndex(0), GpuSet::first(count));
  return job;
}

const GivenParameters example_settings = {{"thresholds_gpu_s", "3600"}, {"min_quantum_s", "0"}, {"promote_knob", "8"}};

// policies.md 5.1: 4 GPUs, theta 3600; A r=4 a=4000 runs, B r=2 a=100, C r=2 a=3599, D r=1 new.
struct WorkedExample : testing::Test {
  Cluster cluster{{4}, "tiresias", example_settings};
  void SetUp() override {
    cluster.at(100);
    ASSERT_TRUE(cluster.core.restore(with_service(1, 4, 4000, 0, true), cluster.now).ok());
    ASSERT_TRUE(cluster.core.restore(with_service(2, 2, 100, 20, false), cluster.now).ok());
    ASSERT_TRUE(cluster.core.restore(with_service(3, 2, 3599, 10, false), cluster.now).ok());
    cluster.use("tiresias", example_settings);
    cluster.submit(4, stoppable(1));
  }
};

TEST_F(WorkedExample, the_two_with_little_service_take_the_place_of_the_one_with_most) {
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(cluster.state(4), JobState::pending);
  cluster.at(100.000001).turn();                                    // from now on they may be stopped
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(100.5));  // C: (3600 - 3599) / 2 GPUs
}

// Then C falls to the second queue: order B, D, A, C; D runs, A needs 4, C needs 2 and one is left.
TEST_F(WorkedExample, at_its_threshold_a_job_falls_and_makes_room_for_a_new_one) {
  cluster.at(100.5).turn();
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  EXPECT_EQ(cluster.state(4), JobState::running);
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 3);
}

// Erratum: (limit - executed seconds) / GPUs would wake after 700 s.
TEST(Tiresias, wakes_up_when_gpu_seconds_not_seconds_reach_the_threshold) {
  Cluster cluster({4}, "tiresias", example_settings);
  cluster.submit(1, stoppable(4)).at(800).submit(2, stoppable(4));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(900));
  cluster.at(900).turn();
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(Tiresias, tells_a_user_which_queue_a_job_is_in) {
  Cluster cluster({4}, "tiresias", example_settings);
  cluster.submit(1, stoppable(4));
  const auto standing = [&](double at) { return cluster.core.standing(JobIndex(0), Instant::at_seconds(at)); };
  EXPECT_TRUE(standing(800).starts_with("queue 1 of ")) << standing(800);
  EXPECT_TRUE(standing(901).starts_with("queue 2 of ")) << standing(901);
  EXPECT_TRUE(standing(901).ends_with(", 3604 GPU-seconds of service")) << standing(901);
}

// Erratum: service counts over the life of a job, not since its last start.
TEST(Tiresias, a_job_that_is_preempted_often_still_falls) {
  Cluster cluster({1}, "tiresias", {{"thresholds_gpu_s", "100"}, {"min_quantum_s", "0"}, {"promote_knob", "0"}});
  cluster.submit(1, stoppable(1));
  cluster.at(60).feed(ServerLost{"0"});
  ServerDescription server;
  server.name = "0";
  server.gpus = 1;
  cluster.feed(ServerJoined{server}).submit(2, stoppable(1));
  cluster.at(60.000001).turn();
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(100));
  cluster.at(100).turn();
  EXPECT_EQ(cluster.state(2), JobState::running);
}

// Erratum: a promoted job must not fall again at the next tick and flap.
TEST(Tiresias, a_promoted_job_starts_with_no_service_and_keeps_its_lifetime_total) {
  Cluster cluster({1}, "tiresias", {{"thresholds_gpu_s", "100"}, {"min_quantum_s", "0"}, {"promote_knob", "2"}});
  cluster.submit(1, stoppable(1)).at(10).submit(2, stoppable(1));
  cluster.at(100).turn();  // 1 falls, 2 takes its place
  EXPECT_EQ(cluster.state(2), JobState::running);
  cluster.at(200).turn();  // 2 falls too; 1 started earlier and continues
  EXPECT_EQ(cluster.state(1), JobState::running);
  cluster.at(200.000001).turn();
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(400));  // 2 has run 100 s and waits 2 x 100 s
  cluster.at(400).turn();
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.job(2).attained_gpu_us, Duration::whole_seconds(100).us);
  const int preemptions = cluster.job(1).preemptions + cluster.job(2).preemptions;
  cluster.at(401).turn().at(405).turn();
  EXPECT_EQ(cluster.job(1).preemptions + cluster.job(2).preemptions, preemptions);
}

// Erratum: continuous LAS makes equal jobs preempt one another for ever.
TEST(Tiresias, equal_jobs_alternate_a_bounded_number_of_times) {
  Cluster cluster({1}, "tiresias", {{"thresholds_gpu_s", "100"}, {"min_quantum_s", "0"}, {"promote_knob", "0"}});
  Workload load(cluster);
  load.job(1, 0, 1000, gpus(1)).job(2, 0, 1000, gpus(1)).run();
  EXPECT_EQ(load.ended(1), 1100);
  EXPECT_EQ(load.ended(2), 2000);
  EXPECT_LT(load.turns, 12);
}

JobRequest spanning(int count, std::int64_t model_bytes, std::int64_t largest_tensor_bytes) {
  JobRequest request = gpus(count);
  request.servers_max = any_number_of_servers;
  auto model = std::make_shared<JobModel>();
  if (model_bytes > 0) model->parameter_bytes = model_bytes;
  if (largest_tensor_bytes > 0) model->largest_tensor_bytes = largest_tensor_bytes;
  request.model = model;
  return request;
}

// One GPU is free on each of three servers of 4. VGG16 has a skew of 0.744, ResNet-50 of 0.109 (policies.md 5.3).
TEST(Tiresias, a_skewed_model_waits_for_few_servers_and_another_takes_fragments) {
  for (const char* name : {"tiresias", "tiresias_gittins"}) {
    Cluster cluster({4, 4, 4}, name);
    for (int id = 1; id <= 3; ++id) cluster.submit(id, gpus(3));
    cluster.submit(7, spanning(2, 528, 393));
    EXPECT_EQ(cluster.state(7), JobState::pending) << name;  // one server could hold it
    cluster.submit(8, spanning(2, 98, 10));
    EXPECT_EQ(cluster.job(8).allocation.parts().size(), 2u) << name;
    cluster.finish(1);
    EXPECT_EQ(cluster.job(7).allocation.parts().size(), 1u) << name;
  }
}

TEST(Tiresias, a_model_of_unknown_skew_goes_to_as_few_servers_as_are_free) {
  for (const JobRequest& request : {spanning(2, 0, 0), spanning(2, 528, 0), spanning(2, 0, 393)}) {
    Cluster cluster({4, 4}, "tiresias");
    cluster.submit(1, gpus(3)).submit(2, gpus(3)).submit(3, request);
    EXPECT_EQ(cluster.job(3).allocation.parts().size(), 2u);
  }
}

// Two GPUs are free on each of three servers, but two servers could hold six.
TEST(Tiresias, a_skewed_job_wider_than_a_server_waits_for_the_fewest_that_hold_it) {
  Cluster cluster({4, 4, 4}, "tiresias");
  for (int id = 1; id <= 6; ++id) cluster.submit(id, gpus(2));
  cluster.finish(1).finish(3).finish(5).submit(7, spanning(6, 100, 70));
  EXPECT_EQ(cluster.state(7), JobState::pending);
  cluster.finish(2);
  EXPECT_EQ(cluster.job(7).allocation.parts().size(), 2u);
}

// Three queues with the thresholds of the released simulator: 3250 and 7200 GPU-seconds.
TEST(Tiresias, thresholds_are_any_rising_list) {
  const Parameters given = *parse_parameters(find_policy("tiresias")->info, {{"thresholds_gpu_s", "3250,7200"}});
  const TiresiasQueues queues(TiresiasQueues::settings(given));
  Job job;
  const auto queue_at = [&](std::int64_t gpu_s) {
    job.attained_gpu_us = Duration::whole_seconds(gpu_s).us;
    return queues.queue(job, Instant::at_seconds(0));
  };
  EXPECT_EQ(queue_at(3249), 0);
  EXPECT_EQ(queue_at(3250), 1);
  EXPECT_EQ(queue_at(7199), 1);
  EXPECT_EQ(queue_at(7200), 2);
}

TEST(Tiresias, thresholds_that_do_not_rise_or_are_no_numbers_are_refused) {
  for (const char* name : {"tiresias", "tiresias_gittins", "elastic_tiresias"}) {
    EXPECT_TRUE(make_policy(name, {{"thresholds_gpu_s", "100,200,300"}}).ok());
    for (const char* bad : {"7200,3250", "100,100", "100,,200", "", "100,x", "0,100", "100,2e12", "nan"})
      EXPECT_EQ(make_policy(name, {{"thresholds_gpu_s", bad}}).error().code, "bad-parameter") << bad;
  }
}

}  // namespace
}  // namespace sl
