// The worked examples of policies.md 8, by hand.
#include <gtest/gtest.h>

#include "policies/packing/gandiva_packing.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::Workload;

const GivenParameters paper = {{"slice_s", "60"}};

TEST(Gandiva, two_jobs_on_one_gpu_take_turns) {
  Cluster cluster({1}, "gandiva", paper);
  Workload load(cluster);
  load.job(1, 0, 120, gpus(1)).job(2, 0, 120, gpus(1)).run();
  EXPECT_EQ(load.ended(1), 180);
  EXPECT_EQ(load.ended(2), 240);
}

// Two servers of one GPU, three jobs of two epochs of 10 s.
TEST(GandivaRing, an_epoch_is_the_quantum_and_checkpoints_are_fetched) {
  Cluster cluster({1, 1}, "gandiva", {{"mode", "epoch_ring"}});
  Workload load(cluster);
  JobRequest request = gpus(1);
  JobModel model;
  model.epochs_total = 2;
  request.model = std::make_shared<const JobModel>(model);
  load.job(1, 0, 20, request).job(2, 0, 20, request).job(3, 0, 20, request);
  load.run(11);
  EXPECT_EQ(cluster.where(3), "0:0");  // t10: J2@W0, J0@W1
  EXPECT_EQ(cluster.where(1), "1:0");
  load.run(21);
  EXPECT_EQ(cluster.where(2), "0:0");  // t20: J1@W0, J2@W1
  EXPECT_EQ(cluster.where(3), "1:0");
  load.run();
  EXPECT_EQ(load.ended(1), 20);
  EXPECT_EQ(load.ended(2), 30);
  EXPECT_EQ(load.ended(3), 30);
}

TEST(GandivaRing, jobs_that_take_one_anothers_places_move_in_an_order_that_works) {
  Cluster cluster({1, 1, 1}, "gandiva", {{"mode", "epoch_ring"}});
  Workload load(cluster);
  JobRequest request = gpus(1);
  JobModel model;
  model.epochs_total = 2;
  request.model = std::make_shared<const JobModel>(model);
  for (const std::int64_t id : {1, 2, 3, 4}) load.job(id, 0, 20, request);
  load.run(11);
  EXPECT_EQ(cluster.where(4), "0:0");
  EXPECT_EQ(cluster.where(1), "1:0");
  EXPECT_EQ(cluster.where(2), "2:0");
  EXPECT_EQ(cluster.state(3), JobState::suspended);
  EXPECT_EQ(cluster.core.refusals(Refusal::gpus_taken), 0U);
}

Job with_speeds(std::int64_t id, double alone, std::int64_t neighbour, double together) {
  Job job;
  job.request.id = JobId(id);
  job.telemetry = std::make_unique<JobTelemetry>();
  SpeedSample sample;
  sample.steps_per_s = alone;
  job.telemetry->speeds.push_back(sample);
  sample.neighbour = JobId(neighbour);
  sample.steps_per_s = together;
  job.telemetry->speeds.push_back(sample);
  return job;
}

// Alone 10 and 8 steps per second; together 7 and 6, or 4 and 4.
TEST(GandivaPacking, a_pair_is_kept_when_together_they_do_more_than_one_alone) {
  EXPECT_NEAR(*packing_gain(with_speeds(1, 10, 2, 7), with_speeds(2, 8, 1, 6)), 1.45, 1e-12);
  EXPECT_NEAR(*packing_gain(with_speeds(1, 10, 2, 4), with_speeds(2, 8, 1, 4)), 0.9, 1e-12);
  EXPECT_FALSE(packing_gain(with_speeds(1, 10, 3, 7), with_speeds(2, 8, 3, 6)));
}

TEST(GandivaPacking, a_job_that_has_never_run_alone_counts_as_slowed_down_like_its_partner) {
  Job newcomer = with_speeds(2, 8, 1, 6);
  newcomer.telemetry->speeds.erase(newcomer.telemetry->speeds.begin());
  EXPECT_NEAR(*packing_gain(with_speeds(1, 10, 2, 7), newcomer), 1.4, 1e-12);
  EXPECT_NEAR(*packing_gain(newcomer, with_speeds(1, 10, 2, 4)), 0.8, 1e-12);
}

TEST(GandivaPacking, only_speeds_on_as_many_gpus_are_compared) {
  Job grown = with_speeds(1, 10, 2, 7);
  SpeedSample on_four;
  on_four.workers = 4;
  on_four.steps_per_s = 35;
  grown.telemetry->speeds.push_back(on_four);
  EXPECT_NEAR(*packing_gain(grown, with_speeds(2, 8, 1, 6)), 1.45, 1e-12);
}

JobRequest packable(std::int64_t memory_bytes) {
  JobRequest request = elastic(1, 1);
  request.shareable = true;
  JobModel model;
  model.gpu_memory_bytes = memory_bytes;
  model.gpu_utilization_pct = 30;
  request.model = std::make_shared<const JobModel>(model);
  return request;
}

void tell_speed(Cluster& cluster, std::int64_t id, std::int64_t neighbour, double speed) {
  AttemptProgressed progress{JobId(id), cluster.job(id).attempt, {}, {}, SpeedSample{}};
  progress.speed->neighbour = neighbour == 0 ? JobId::none() : JobId(neighbour);
  progress.speed->steps_per_s = speed;
  cluster.feed(progress);
}

TEST(GandivaPacking, packs_where_memory_suffices_and_takes_a_slow_pair_apart_for_good) {
  Cluster cluster({1}, "gandiva", paper);
  cluster.with_gpu_memory(10);
  cluster.submit(1, packable(4)).submit(2, packable(7));
  EXPECT_EQ(cluster.state(2), JobState::pending);  // 11 of 10
  cluster.submit(3, packable(5));
  EXPECT_EQ(cluster.where(3), "0:0");
  tell_speed(cluster, 1, 0, 10);
  tell_speed(cluster, 3, 0, 8);
  tell_speed(cluster, 1, 3, 7);
  tell_speed(cluster, 3, 1, 6);
  EXPECT_EQ(cluster.where(3), "0:0");
  tell_speed(cluster, 1, 3, 4);
  tell_speed(cluster, 3, 1, 4);
  EXPECT_EQ(cluster.state(3), JobState::suspended);
  cluster.at(1).turn();
  EXPECT_EQ(cluster.state(3), JobState::suspended);
}

// Both need 6 of 10 bytes: a job is sliced only if its memory goes with it.
TEST(Gandiva, a_job_whose_memory_the_next_one_needs_is_stopped_at_a_checkpoint_and_not_frozen) {
  for (const bool has_checkpoints : {true, false}) {
    Cluster cluster({1}, "gandiva", paper);
    cluster.with_gpu_memory(10);
    for (const int id : {1, 2}) {
      JobRequest request = has_checkpoints ? elastic(1, 1) : test::freezable(1);
      request.freezable = true;
      request.gpu_memory_bytes = 6;
      cluster.submit(id, request);
    }
    cluster.at(61).turn();
    EXPECT_EQ(cluster.state(1), has_checkpoints ? JobState::pending : JobState::running);
    EXPECT_EQ(cluster.state(2), has_checkpoints ? JobState::running : JobState::pending);
    EXPECT_EQ(cluster.core.refusals(Refusal::type_or_memory), 0u);
  }
}

TEST(GandivaPacking, a_pair_separates_as_soon_as_there_are_gpus_that_nobody_waits_for) {
  Cluster cluster({2}, "gandiva", paper);
  cluster.with_gpu_memory(10);
  cluster.submit(1, packable(4)).submit(2, packable(9)).submit(3, packable(4));
  EXPECT_EQ(cluster.where(3), "0:0");
  cluster.finish(2);
  EXPECT_EQ(cluster.where(1), "0:0");
  EXPECT_EQ(cluster.where(3), "0:1");
}

// 2 + 2 free on two servers of 4, with jobs of 2 on each: one moves, and 4 fit.
TEST(Gandiva, jobs_move_together_to_make_room_for_a_wide_one) {
  Cluster cluster({4, 4}, "gandiva", paper);
  cluster.submit(1, elastic(2, 2)).submit(2, elastic(2, 2)).submit(3, elastic(2, 2)).submit(4, elastic(2, 2));
  cluster.finish(1).finish(3).at(61).submit(5, gpus(4));
  EXPECT_EQ(cluster.state(5), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(4), JobState::running);
  EXPECT_EQ(cluster.job(2).migrations + cluster.job(4).migrations, 1);
}

TEST(Gandiva, servers_are_dedicated_to_a_size_as_long_as_there_are_empty_ones) {
  Cluster cluster({4, 4, 4}, "gandiva", paper);
  cluster.submit(1, gpus(1)).submit(2, gpus(2)).submit(3, gpus(1)).submit(4, gpus(2));
  EXPECT_EQ(cluster.where(1), "0:0");
  EXPECT_EQ(cluster.where(2), "1:0,1");
  EXPECT_EQ(cluster.where(3), "0:1");
  EXPECT_EQ(cluster.where(4), "1:2,3");
}

TEST(Gandiva, grows_into_idle_gpus_and_gives_them_back_at_once) {
  Cluster cluster({4}, "gandiva", paper);
  JobRequest request = elastic(1, 4);
  request.gpus = 2;
  cluster.submit(1, request);
  EXPECT_EQ(cluster.job(1).allocation.count(), 2);
  cluster.at(60).turn();
  EXPECT_EQ(cluster.job(1).allocation.count(), 4);
  cluster.at(61).submit(2, gpus(1));
  EXPECT_EQ(cluster.job(1).allocation.count(), 2);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(Gandiva, nothing_of_an_earlier_job_in_the_same_slot_is_left) {
  Cluster cluster({4}, "gandiva", {{"slice_s", "600"}});
  cluster.submit(1, elastic(1, 1)).submit(2, elastic(1, 1));
  cluster.finish(1).finish(2);  // as job 1 ended, job 2 was seen in its slice, which ends at 600
  JobRequest request = elastic(1, 4);
  request.gpus = 1;
  for (const std::int64_t id : {3, 4}) cluster.submit(id, request);
  cluster.finish(4).at(70).turn();
  EXPECT_EQ(cluster.job(3).allocation.count(), 4);
  cluster.at(80).submit(5, gpus(3));
  EXPECT_EQ(cluster.job(3).allocation.count(), 1);
  EXPECT_EQ(cluster.state(5), JobState::running);
}

TEST(Gandiva, where_jobs_cannot_be_suspended_they_are_stopped_at_a_checkpoint) {
  CoreSettings live;
  live.abilities = {.suspend = false, .freeze = false, .migrate = false, .resize = false};
  Cluster cluster({1}, Cluster::make("gandiva", paper), live);
  cluster.submit(1, elastic(1, 1)).submit(2, elastic(1, 1)).at(60).turn();
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

}  // namespace
}  // namespace sl
