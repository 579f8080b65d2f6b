#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;
using test::Workload;

JobRequest due(double at_s) {
  JobRequest request = gpus(1);
  request.deadline = Instant::at_seconds(at_s);
  return request;
}

// policies.md 4.2: one GPU; A (due 100, 50 s), B (due 60, 30 s), C (10 s, no deadline).
TEST(Edf, the_worked_example_meets_both_deadlines_where_fifo_misses_one) {
  Cluster cluster({1}, "edf", {{"min_quantum_s", "0"}}), in_order({1});
  Workload load(cluster), fifo(in_order);
  for (Workload* each : {&load, &fifo})
    each->job(1, 0, 50, due(100)).job(2, 0, 30, due(60)).job(3, 0, 10, gpus(1)).run();
  EXPECT_EQ(load.ended(2), 30);
  EXPECT_EQ(load.ended(1), 80);
  EXPECT_EQ(load.ended(3), 90);
  EXPECT_EQ(fifo.ended(2), 80);
}

// Job 1 cannot meet its deadline even alone; job 2 can if it does not have to wait.
Workload& overload(Workload& load) { return load.job(1, 0, 50, due(20)).job(2, 0, 30, due(60)).run(); }

TEST(Edf, a_job_that_cannot_meet_its_deadline_waits_behind_those_that_can) {
  Cluster cluster({1}, "edf", {{"min_quantum_s", "0"}});
  Workload load(cluster);
  overload(load);
  EXPECT_EQ(load.ended(2), 30);
  EXPECT_EQ(load.ended(1), 80);
}

TEST(Edf, with_late_mode_keep_a_late_job_drags_others_over_their_deadlines) {
  Cluster cluster({1}, "edf", {{"min_quantum_s", "0"}, {"late_mode", "keep"}});
  Workload load(cluster);
  overload(load);
  EXPECT_EQ(load.ended(1), 50);
  EXPECT_EQ(load.ended(2), 80);
}

TEST(Edf, with_late_mode_reject_a_job_that_has_become_late_in_the_queue_is_turned_away) {
  Cluster cluster({1}, "edf", {{"min_quantum_s", "0"}, {"late_mode", "reject"}});
  Workload load(cluster);
  load.job(1, 0, 50, due(55)).job(2, 0, 30, due(60)).run(31);
  EXPECT_FALSE(cluster.has(2));  // from second 30 on it could not meet its deadline
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST(Edf, least_slack_prefers_the_job_with_less_time_to_spare) {
  const auto first = [](const char* order) {
    Cluster cluster({1}, "edf", {{"min_quantum_s", "0"}, {"order", order}});
    Workload load(cluster);
    load.job(9, 0, 5, due(6)).job(1, 1, 10, due(100)).job(2, 1, 80, due(110)).run(6);
    return cluster.state(1) == JobState::running ? 1 : 2;
  };
  EXPECT_EQ(first("deadline"), 1);
  EXPECT_EQ(first("least_slack"), 2);
}

TEST(Priority, a_higher_class_takes_the_place_of_the_lowest_and_youngest_only) {
  Cluster cluster({3}, "priority", {{"min_quantum_s", "0"}});
  Workload load(cluster);
  const auto of_class = [](int priority) {
    JobRequest request = gpus(1);
    request.priority = priority;
    return request;
  };
  load.job(1, 0, 500, of_class(0)).job(2, 1, 500, of_class(0)).job(3, 2, 500, of_class(1));
  load.job(4, 3, 500, of_class(2)).job(5, 4, 500, of_class(0)).run(5);
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(cluster.state(4), JobState::running);
  EXPECT_EQ(cluster.state(5), JobState::pending);  // equal classes do not preempt one another
  EXPECT_EQ(cluster.core.queue_order(cluster.now).front(), cluster.core.find(JobId(2)));  // back in its place
}

// Job 1 loses 10 s on one GPU, job 2 60 s, job 3 10 s on each of two GPUs.
TEST(Priority, of_one_class_those_go_first_whose_interruption_costs_the_least_work) {
  Cluster cluster({4}, "priority", {{"min_quantum_s", "0"}});
  const auto costs = [](int count, int seconds) {
    JobRequest request = test::elastic(count, count);
    JobModel model;
    model.restart_cost = Duration::whole_seconds(seconds);
    request.model = std::make_shared<const JobModel>(model);
    return request;
  };
  cluster.submit(1, costs(1, 10)).at(1).submit(2, costs(1, 60)).at(2).submit(3, costs(2, 10)).at(3);
  JobRequest urgent = gpus(1);
  urgent.priority = 1;
  cluster.submit(4, urgent);
  EXPECT_EQ(cluster.state(1), JobState::pending) << "though it started first";
  urgent.gpus = urgent.gpus_min = urgent.gpus_max = 2;
  cluster.submit(5, urgent);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

}  // namespace
}  // namespace sl
