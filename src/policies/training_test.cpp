// The worked examples of policies.md 10.4: Optimus and Coach.
#include <gtest/gtest.h>

#include "estimate/quadratic_utility.h"
#include "policy/marginal_gain.h"
#include "policy/training_estimates.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;

// b = (0.01, 4, 0.02, 2, 0.5): (1,1) .39, (2,1) .44, (3,1) .47, (3,2) .49, (4,2) .50, and no further.
TEST(MarginalGain, coach_climbs_to_the_vertex_and_stops) {
  const QuadraticUtility utility(.01, 4, .02, 2, .5);
  EXPECT_NEAR(utility.at(1, 1).value, .39, 1e-12);
  std::vector<std::pair<int, int>> path;
  for (int steps = 0; steps <= 6; ++steps) {
    Trainee trainee;
    trainee.workers_max = trainee.servers_max = 10;
    trainee.server_share = 1;
    trainee.value = [&](int w, int p) { return utility.at(w, p).value; };
    std::vector<Trainee> jobs{trainee};
    share_by_marginal_gain(jobs, steps, false, false);
    path.emplace_back(jobs[0].workers, jobs[0].servers);
  }
  EXPECT_EQ(path, (std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {3, 1}, {3, 2}, {4, 2}, {4, 2}, {4, 2}}));
}

TEST(MarginalGain, what_does_not_fit_is_dropped_and_the_others_go_on) {
  Trainee big, small;
  big.workers_max = small.workers_max = 3;
  big.worker_share = 5;
  big.value = [](int w, int) { return 10.0 * w; };
  small.value = [](int w, int) { return 1.0 * w; };
  std::vector<Trainee> jobs{big, small};
  share_by_marginal_gain(jobs, 2, false, false);
  EXPECT_EQ(jobs[0].workers, 1);
  EXPECT_EQ(jobs[1].workers, 3);
}

JobRequest known(std::vector<double> speedup, double serial_s) {
  JobRequest request = elastic(1, static_cast<int>(speedup.size()));
  JobModel model;
  model.speedup = speedup;
  for (const double s : speedup) model.run_time_s.push_back(serial_s / s);
  request.model = std::make_shared<const JobModel>(model);
  return request;
}

Cluster& start_together(Cluster& cluster, const char* policy, const std::vector<JobRequest>& jobs) {
  cluster.feed(ServerDrained{"0", true});
  std::int64_t id = 1;
  for (const JobRequest& job : jobs) cluster.submit(id++, job);
  return cluster.use(policy).feed(ServerDrained{"0", false});
}

// 4 GPUs; A Q=36 f=(1,1.8,2.4,2.8), B Q=18 f=(1,1.5,1.7,1.8): A=2, B=2.
TEST(Optimus, gives_each_gpu_where_it_saves_most_time) {
  Cluster cluster({4});
  start_together(cluster, "optimus", {known({1, 1.8, 2.4, 2.8}, 36), known({1, 1.5, 1.7, 1.8}, 18)});
  EXPECT_EQ(cluster.job(1).allocation.count(), 2);
  EXPECT_EQ(cluster.job(2).allocation.count(), 2);
}

TEST(Optimus, a_job_of_which_nothing_is_known_gets_no_more_than_it_asks_for) {
  Cluster cluster({8}, "optimus");
  JobRequest request = elastic(1, 8);
  request.gpus = 3;
  cluster.submit(1, request);
  EXPECT_EQ(cluster.job(1).allocation.count(), 3);
}

TEST(Optimus, a_job_that_scales_badly_by_its_own_measurements_makes_room) {
  Cluster cluster({8}, "optimus", {{"resize_min_run_s", "10"}, {"resize_min_rem_s", "0"}, {"restart_cost_s", "0"}});
  JobRequest request = elastic(1, 8);
  request.gpus = 4;
  request.estimate = Duration::whole_seconds(10000);
  cluster.submit(1, request);
  for (const auto& [workers, speed] : {std::pair(1, 10.0), {2, 11.0}, {4, 9.0}, {8, 7.0}}) {
    AttemptProgressed progress{JobId(1), 1, {}, {}, SpeedSample{}};
    progress.speed->workers = workers;
    progress.speed->steps_per_s = speed;
    cluster.feed(progress);
  }
  cluster.at(20).submit(2, test::gpus(5));
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.job(1).allocation.count(), 2);
}

TEST(Coach, gives_each_gpu_where_progress_grows_most) {
  Cluster cluster({4});
  start_together(cluster, "coach", {known({1, 1.2, 1.3, 1.4}, 100), known({1, 1.9, 2.7, 3.4}, 100)});
  EXPECT_EQ(cluster.job(1).allocation.count(), 1);
  EXPECT_EQ(cluster.job(2).allocation.count(), 3);
}

// 100 s of work at 0.01 a GPU-second: one GPU costs 1, two with a speed-up of 1.5 cost 1.33.
TEST(Coach, a_job_grows_only_as_far_as_its_budget_lasts) {
  for (const auto& [budget, gpus] : {std::pair(1.2, 1), {1.4, 2}}) {
    JobRequest request = known({1, 1.5}, 100);
    JobModel model = *request.model;
    model.budget = budget;
    request.model = std::make_shared<const JobModel>(model);
    Cluster cluster({4});
    start_together(cluster, "coach", {request});
    EXPECT_EQ(cluster.job(1).allocation.count(), gpus) << budget;
  }
}

// Spending is counted (erratum 21): at 0.01 a GPU-second a budget of 2 lasts 200 s.
TEST(Coach, a_job_that_has_spent_its_budget_is_stopped) {
  JobRequest request = known({1}, 1000);
  JobModel model = *request.model;
  model.budget = 2;
  request.model = std::make_shared<const JobModel>(model);
  Cluster cluster({1});
  start_together(cluster, "coach", {request});
  cluster.at(199).turn();
  EXPECT_EQ(cluster.state(1), JobState::running);
  cluster.at(200.1).turn();
  EXPECT_FALSE(cluster.has(1) && !is_finished(cluster.state(1)));
}

// l(k) = 1/(0.1k + 0.5) + 0.2, target 0.4 at epoch 45: after 20 epochs of 10 s 25 are left.
TEST(TrainingEstimates, what_is_left_follows_from_the_loss_and_the_target) {
  JobRequest request = elastic(1, 1);
  JobModel model;
  model.target_loss = .4;
  request.model = std::make_shared<const JobModel>(model);
  Cluster cluster({1});
  cluster.submit(1, request).at(200);
  for (int k = 1; k <= 20; ++k) cluster.feed(AttemptProgressed{JobId(1), 1, 1 / (.1 * k + .5) + .2, {}, {}});
  RequestEstimates estimates;
  Random random;
  FreeGpus free = cluster.core.ledger().free();
  const Trigger trigger = Trigger::timer;
  const Snapshot snapshot{cluster.now,
                          trigger,
                          cluster.core.jobs(),
                          cluster.core.waiting(),
                          cluster.core.active(),
                          cluster.core.servers(),
                          free,
                          cluster.core.ledger().tenants(),
                          estimates,
                          cluster.core.history(),
                          cluster.core.memory(),
                          cluster.core.users(),
                          random};
  RunTimes run_times;
  TrainingEstimates training(run_times);
  EXPECT_NEAR(training.remaining_serial_s(snapshot, cluster.core.find(JobId(1))), 250, 1e-6);
}

}  // namespace
}  // namespace sl
