#include "policies/elastic/elastic_edf.h"

#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::Workload;

JobRequest due(JobRequest request, double at_s) {
  request.deadline = Instant::at_seconds(at_s);
  return request;
}

// Asks for `asked` and runs on `min` to `max`.
JobRequest sized(int min, int asked, int max) {
  JobRequest request = elastic(min, max);
  request.gpus = asked;
  return request;
}

TEST(ElasticEdf, the_earliest_deadline_is_served_first) {
  Cluster cluster({4}, "elastic_edf");
  Workload load(cluster);
  load.job(1, 0, 75, due(elastic(1, 4), 110)).job(2, 0, 25, due(elastic(1, 4), 30)).run();
  EXPECT_EQ(load.ended(2), 25);
  EXPECT_EQ(load.ended(1), 100);
}

TEST(ElasticEdf, gpus_that_are_left_speed_jobs_up_and_are_given_back_at_once_for_a_deadline) {
  Cluster cluster({4}, "elastic_edf");
  Workload load(cluster);
  load.job(1, 0, 1000, sized(1, 2, 4)).job(2, 10, 50, due(gpus(2), 61)).run(10);
  EXPECT_EQ(cluster.job(1).allocation.count(), 2);  // 4 before, and it has run for less than resize_min_run_s
  load.run();
  EXPECT_EQ(load.ended(2), 60);
}

TEST(ElasticEdf, a_job_that_cannot_meet_its_deadline_on_the_gpus_it_asks_for_gets_the_fewest_that_do) {
  Cluster cluster({4}, "elastic_edf");
  cluster.submit(1, due(sized(1, 1, 1), 1e6));
  JobRequest urgent = due(sized(1, 1, 4), 60);
  urgent.estimate = Duration::seconds(100);
  cluster.submit(2, urgent);
  EXPECT_GE(cluster.job(2).allocation.count(), 2);
}

TEST(ElasticEdf, a_job_for_which_there_are_too_few_gpus_runs_on_fewer) {
  Cluster cluster({4}, "elastic_edf");
  Workload load(cluster);
  load.job(1, 0, 100, due(gpus(3), 200)).job(2, 0, 100, due(sized(1, 4, 4), 300)).run();
  EXPECT_EQ(load.ended(1), 100);
  EXPECT_EQ(load.ended(2), 175);  // 100 s on one GPU, then 75 s on four
}

// Two servers, each with a job that has grown to fill it: neither has room for the third job next to the first one's
// two GPUs.
TEST(ElasticEdf, a_job_that_needs_a_server_gets_one_though_free_gpus_are_on_two) {
  Cluster cluster({4, 4}, "elastic_edf");
  Workload load(cluster);
  for (const int id : {1, 2}) load.job(id, 0, 1000, due(sized(2, 2, 4), 5000));
  load.job(3, 10, 50, due(gpus(4), 65)).run();
  EXPECT_EQ(load.ended(3), 60);
  EXPECT_LE(load.ended(1), 5000);
  EXPECT_LE(load.ended(2), 5000);
}

TEST(ElasticEdf, a_job_that_cannot_be_stopped_waits_while_a_deadline_does) {
  Cluster cluster({4}, "elastic_edf");
  JobRequest wide = due(gpus(4), 200), running = gpus(3), blocking = gpus(1);
  wide.estimate = Duration::seconds(100);
  running.estimate = Duration::seconds(50);
  blocking.estimate = Duration::seconds(500);
  for (JobRequest* each : {&running, &blocking}) each->capability = Capability::none;
  cluster.submit(1, running).submit(3, wide);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.submit(4, blocking);
  EXPECT_EQ(cluster.state(4), JobState::pending);
}

}  // namespace
}  // namespace sl
