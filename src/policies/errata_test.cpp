// The mistakes of the originals listed in policies.md 15, by number: each has a test that fails if we make it too.
//
//   3  see also elastic_test.cpp: ElasticFifo
//   7  elastic_test.cpp: ElasticFifo.shares_what_is_left_in_order_and_never_gives_less_than_the_minimum
//   9  ffdl_test.cpp: Ffdl.minima_are_kept_and_nobody_passes_a_job_whose_minimum_does_not_fit
//  10  tiresias_test.cpp: Tiresias.a_promoted_job_starts_with_no_service_and_keeps_its_lifetime_total
//  12  tiresias_test.cpp: Tiresias.wakes_up_when_gpu_seconds_not_seconds_reach_the_threshold;
//      tiresias_gittins_test.cpp: Index.equals_its_definition_summed_up_job_by_job, TiresiasGittins.the_highest_…
//  14  tetris_test.cpp: Tetris.packs_complementary_jobs_onto_one_server_and_never_more_than_fits
//  19  estimate_test.cpp: Convergence.the_curve_of_the_example_is_found_again
//  20  does not apply: there is no Pollux here
//  21  training_test.cpp: Coach.a_job_that_has_spent_its_budget_is_stopped
//
// Left out because they cannot occur here: comparing text with text (of 14, that two policies ran on different
// workloads: a comparison simulates one trace), and cutting up names of pods (of 16: jobs have whole numbers).
#include <gtest/gtest.h>

#include "estimate/losses.h"
#include "estimate/quadratic_utility.h"
#include "policy/placer.h"
#include "policy/run_times.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::with_speedup;
using test::Workload;

// 1: free GPUs are counted on one server, exactly as many as asked for suffice, and no more than those are given.
TEST(Errata, fifo_gives_as_many_gpus_as_asked_for_on_one_server) {
  Cluster cluster({2, 2}, "fifo");
  cluster.submit(1, gpus(1)).submit(2, gpus(2)).submit(3, gpus(2));
  EXPECT_EQ(cluster.where(1), "0:0");
  EXPECT_EQ(cluster.where(2), "1:0,1");
  EXPECT_EQ(cluster.state(3), JobState::pending);  // two GPUs are free, but not on one server
}

// 2: no job gets in by asking at the right moment.
TEST(Errata, fifo_starts_jobs_in_the_order_they_came_however_often_it_looks) {
  Cluster cluster({1}, "fifo");
  for (int id = 1; id <= 20; ++id) cluster.at(id * 0.1).submit(id, gpus(1));
  for (int id = 1; id <= 20; ++id) {
    cluster.at(10 + id * 0.37).turn().turn();
    EXPECT_EQ(cluster.state(id), JobState::running);
    cluster.finish(id);
  }
}

// 3: an elastic job changes its number of GPUs and continues where it was: the last job ends when it would under FIFO.
TEST(Errata, elastic_fifo_is_elastic_and_loses_nothing_by_it) {
  for (const bool is_elastic : {false, true}) {
    Cluster cluster({4}, is_elastic ? "elastic_fifo" : "fifo");
    Workload load(cluster);
    load.job(1, 0, 2000, elastic(1, 4)).job(2, 300, 2000, elastic(1, 4)).run(500);
    EXPECT_EQ(cluster.job(1).allocation.count(), is_elastic ? 2 : 4);
    EXPECT_EQ(cluster.job(1).attempt, 1) << "resized, not started from zero";
    load.run();
    EXPECT_EQ(load.ended(2), 4000);
  }
}

// 4: the pointer does not move when nothing was placed, and GPUs in use are not given twice.
TEST(Errata, round_robin_goes_on_from_the_last_server_a_job_went_to) {
  Cluster cluster({2, 2, 2}, "round_robin");
  cluster.submit(1, gpus(1)).submit(2, gpus(1)).submit(3, gpus(1));
  cluster.submit(4, gpus(2));  // fits nowhere
  cluster.at(5).turn().at(10).turn();
  cluster.feed(JobCancelled{JobId(4)}).submit(5, gpus(1));
  EXPECT_EQ(cluster.where(5), "0:1");
}

// 5: a turnaround begins when the job is submitted. (In the simulator: Simulation.two_jobs_on_one_gpu_by_hand.)
TEST(Errata, submission_is_kept_through_waiting_and_preemption) {
  Cluster cluster({1}, "srtf", {{"min_quantum_s", "0"}, {"preempt_margin_s", "0"}});
  Workload load(cluster);
  load.job(1, 7, 100, gpus(1)).job(2, 20, 10, gpus(1)).run(25);
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.job(1).request.submitted, Instant::at_seconds(7));
  EXPECT_EQ(cluster.job(1).waiting_since, Instant::at_seconds(20));
}

// 6: best fit compares all servers, wherever the best one is in the list.
TEST(Errata, best_fit_looks_at_every_server_and_keeps_the_best) {
  for (const auto& [sizes, best] :
       {std::pair(std::vector<int>{2, 3, 4}, "0:0,1"), {{4, 2, 3}, "1:0,1"}, {{4, 3, 2}, "2:0,1"}}) {
    Cluster cluster(sizes, "fifo_strict");
    cluster.submit(1, gpus(2));
    EXPECT_EQ(cluster.where(1), best);
  }
}

// 8: 2 GPUs, linear speedup, W = 100 and 60. With the other job's GPU count for its length, both jobs would get one.
TEST(Errata, afs_l_takes_each_job_s_length_on_its_own_gpus) {
  Cluster cluster({2}, "fifo");
  cluster.feed(ServerDrained{"0", true});
  for (const auto& [id, seconds] : {std::pair(1, 100), {2, 60}}) {
    JobRequest request = with_speedup(elastic(1, 2), {1, 2});
    request.estimate = Duration::whole_seconds(seconds / 2);  // on the two GPUs it asks for
    cluster.submit(id, request);
  }
  cluster.use("afs_l").feed(ServerDrained{"0", false});
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.job(2).allocation.count(), 2);
}

// 11: what is known about a job reaches the policies that need it.
TEST(Errata, estimates_reach_the_policies_that_order_by_them) {
  for (const char* policy : {"sjf", "srjf", "srtf", "srsf", "elastic_srjf", "elastic_srtf"}) {
    Cluster cluster({1}, "fifo");
    cluster.feed(ServerDrained{"0", true});
    for (const auto& [id, seconds] : {std::pair(1, 500), {2, 50}}) {
      JobRequest request = gpus(1);
      request.estimate = Duration::whole_seconds(seconds);
      cluster.submit(id, request);
    }
    cluster.use(policy).feed(ServerDrained{"0", false});
    EXPECT_EQ(cluster.state(2), JobState::running) << policy;
  }
}

// 13: two jobs of one queue do not displace each other, however different their service; a demoted one gives way.
TEST(Errata, tiresias_has_queues_and_is_not_plain_least_attained_service) {
  Cluster cluster({1}, "tiresias", {{"thresholds_gpu_s", "100"}, {"min_quantum_s", "0"}, {"promote_knob", "0"}});
  Workload load(cluster);
  load.job(1, 0, 90, gpus(1)).job(2, 1, 10, gpus(1)).run();
  EXPECT_EQ(load.ended(1), 90);
  EXPECT_EQ(load.ended(2), 100);
}

// 15: epochs that no job ran do not count: a job whose start is not confirmed has done nothing, and keeps its GPU.
TEST(Errata, a_start_that_is_under_way_is_neither_service_nor_a_free_gpu) {
  Cluster cluster({1}, "gandiva", {{"mode", "epoch_ring"}});
  cluster.obeys = false;
  cluster.submit(1, gpus(1)).submit(2, gpus(1));
  cluster.at(600).turn();
  EXPECT_EQ(cluster.state(1), JobState::starting);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.job(1).attained_at(cluster.now), 0);
}

// 16: an empty server is preferred even if the job would fit tighter elsewhere; and all members start or none.
TEST(Errata, gang_prefers_an_empty_server_and_never_starts_in_part) {
  Cluster cluster({8, 3}, "gang");
  cluster.submit(1, gpus(1));
  EXPECT_EQ(cluster.where(1), "1:0");
  cluster.submit(2, gpus(2));
  EXPECT_EQ(cluster.where(2), "0:0,1");
  cluster.submit(3, gpus(7));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  EXPECT_TRUE(cluster.where(3).empty());
}

// 17: a gain is new minus old, not the other way round.
TEST(Errata, the_marginal_utility_of_a_worker_is_new_minus_old) {
  const QuadraticUtility utility(.01, 4, .02, 2, .5);
  EXPECT_GT(utility.at(2, 1).value - utility.at(1, 1).value, 0);
  EXPECT_LT(utility.at(6, 1).value - utility.at(5, 1).value, 0);
}

// 18: a rising loss stays as it is, so that it does not look converged.
TEST(Errata, rising_losses_are_not_clipped_to_their_running_mean) {
  const std::vector<double> diverges = {1, .9, .8, 1.2, 1.6, 2.4, 4};
  const auto cleaned = clean_losses(diverges);
  EXPECT_EQ(cleaned.back().loss, 4);
  EXPECT_EQ(epoch_of_target({.6, .49, .51, .48, .47, .46}, .5), 6);
}

// 22: a speedup is computed from the times, not copied: 107 s on one GPU and 45 s on four make 2.378.
TEST(Errata, speed_ups_follow_from_measured_times) {
  EXPECT_NEAR(SpeedCurve::from_run_times({107, 69, 52.3, 45}).speed_on(4), 2.378, 5e-4);
}

}  // namespace
}  // namespace sl
