// The worked examples of policies.md 10.4: Optimus and Coach.
#include <gtest/gtest.h>

#include <functional>

#include "estimate/quadratic_utility.h"
#include "policy/marginal_gain.h"
#include "policy/training_estimates.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;

// From `left` shares, whoever asks.
TakeShare from(double left) {
  return [left](std::size_t, double share) mutable {
    if (share > left) return false;
    left -= share;
    return true;
  };
}

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
    share_by_marginal_gain(jobs, from(steps), false, false);
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
  share_by_marginal_gain(jobs, from(2), false, false);
  EXPECT_EQ(jobs[0].workers, 1);
  EXPECT_EQ(jobs[1].workers, 3);
}

JobRequest known(std::vector<double> speedup, double serial_s) {
  JobRequest request = elastic(1, static_cast<int>(speedup.size()));
  JobModel model;
  model.speed_curve = SpeedCurve(std::move(speedup));
  request.estimate = Duration::seconds(serial_s / model.speed_curve.speed_on(request.gpus));
  request.model = std::make_shared<const JobModel>(model);
  return request;
}

JobRequest with_model(JobRequest request, const std::function<void(JobModel&)>& change) {
  JobModel model = request.model ? *request.model : JobModel();
  change(model);
  request.model = std::make_shared<const JobModel>(std::move(model));
  return request;
}

void report_losses(Cluster& cluster, int epochs, const std::function<double(int)>& loss) {
  for (int k = 1; k <= epochs; ++k) cluster.feed(AttemptProgressed{JobId(1), 1, loss(k), {}, {}});
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

// Speeds hold on one server: with one GPU on the first and two free on the second, it moves to the two.
TEST(Coach, a_job_grows_only_as_far_as_its_server_goes) {
  for (const char* policy : {"optimus", "coach"}) {
    JobRequest request = known({1, 1.9, 2.8, 3.7}, 10'000);
    request.gpus = 1;
    request.servers_max = any_number_of_servers;
    Cluster cluster({4, 4});
    cluster.submit(2, test::gpus(3)).submit(3, test::gpus(2)).submit(1, request);
    ASSERT_EQ(cluster.job(1).allocation.count(), 1);
    cluster.at(10).use(policy, {{"resize_min_run_s", "0"}, {"resize_min_rem_s", "0"}, {"restart_cost_s", "0"}}).turn();
    EXPECT_EQ(cluster.job(1).allocation.count(), 2) << policy;
    EXPECT_EQ(cluster.job(1).allocation.parts().size(), 1U) << policy;
  }
}

// 100 s of work at 0.01 per GPU-second: one GPU costs 1, two with a speedup of 1.5 cost 1.33.
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

// The faster job already has 3 of the 4 GPUs; the one that has met its target three times keeps its minimum.
TEST(Coach, a_job_whose_loss_has_met_its_target_gets_no_more_than_its_minimum) {
  for (const auto& [target, gpus] : {std::pair(.5, 1), std::pair(.1, 3)}) {
    Cluster cluster({4});
    JobRequest fast = with_model(known({1, 1.9, 2.7, 3.4}, 100), [&](JobModel& model) { model.target_loss = target; });
    cluster.submit(1, fast).at(10);
    report_losses(cluster, 6, [](int k) { return k < 4 ? .8 - .1 * k : .45; });
    cluster.submit(2, known({1, 1.2, 1.3, 1.4}, 100))
        .use("coach", {{"resize_min_run_s", "0"}, {"resize_min_rem_s", "0"}, {"restart_cost_s", "0"}})
        .turn();
    EXPECT_EQ(cluster.job(1).allocation.count(), gpus) << target;
  }
}

GivenParameters with_probes_at_once(const std::string& name, const std::string& value) {
  return {{"resize_min_run_s", "0"}, {"resize_min_rem_s", "0"}, {"restart_cost_s", "0"}, {name, value}};
}

void report_speed(Cluster& cluster, double steps_per_s) {
  AttemptProgressed told{JobId(1), cluster.job(1).attempt, {}, {}, SpeedSample{}};
  told.speed->workers = cluster.job(1).allocation.count();
  told.speed->steps_per_s = steps_per_s;
  cluster.feed(told).turn();
}

TEST(Coach, a_training_that_reports_epochs_makes_room_when_one_has_ended) {
  Cluster cluster({4}, "coach", with_probes_at_once("at_epoch_ends", "true"));
  cluster.submit(1, known({1, 1.9, 2.7, 3.4}, 1000)).at(10);
  report_losses(cluster, 1, [](int) { return .8; });
  EXPECT_EQ(cluster.job(1).allocation.count(), 4);
  cluster.at(20).submit(2, known({1, 1.9, 2.7, 3.4}, 1000));
  EXPECT_EQ(cluster.state(2), JobState::pending);
  cluster.at(30);
  report_losses(cluster, 2, [](int) { return .7; });
  EXPECT_EQ(cluster.job(1).allocation.count(), 2);
  EXPECT_EQ(cluster.job(2).allocation.count(), 2);
}

TEST(Coach, nobody_waits_for_ever_for_the_end_of_an_epoch) {
  Cluster cluster({4}, "coach", with_probes_at_once("at_epoch_ends", "true"));
  cluster.submit(1, known({1, 1.9, 2.7, 3.4}, 10000)).at(10);
  report_losses(cluster, 1, [](int) { return .8; });
  cluster.at(20).submit(2, known({1, 1.9, 2.7, 3.4}, 1000));
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(610));
  cluster.at(609).turn();
  EXPECT_EQ(cluster.state(2), JobState::pending);
  cluster.at(610).turn();
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(Coach, a_training_of_unknown_speed_is_tried_on_three_numbers_of_gpus) {
  Cluster cluster({4}, "coach", with_probes_at_once("probes", "3"));
  JobRequest request = elastic(1, 4);
  request.gpus = 1;
  request.estimate = Duration::whole_seconds(10000);
  cluster.submit(1, request).at(10).turn();
  std::vector<int> tried;
  for (int i = 0; i < 3; ++i) {
    tried.push_back(cluster.job(1).allocation.count());
    report_speed(cluster, 10);  // more GPUs gain nothing
  }
  EXPECT_EQ(tried, (std::vector<int>{1, 2, 4}));
  cluster.submit(2, test::gpus(3));
  EXPECT_EQ(cluster.state(2), JobState::running) << "they go where they gain something";
}

// Spending is counted (erratum 21): at 0.01 per GPU-second a budget of 2 lasts 200 s.
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

// A snapshot of the cluster as it is now, to question TrainingEstimates with.
template <typename Ask>
auto ask(Cluster& cluster, const Ask& question) {
  RequestEstimates estimates;
  Random random;
  FreeGpus free = cluster.core.ledger().free();
  const Core& core = cluster.core;
  const Snapshot snapshot{{cluster.now, Trigger::timer, core.jobs(), core.waiting(), core.active(), core.servers(),
                           free, core.ledger().tenants(), estimates, core.history(), core.memory(), core.users()},
                          free,
                          random};
  RunTimes run_times;
  TrainingEstimates training(run_times);
  return question(training, snapshot, cluster.core.find(JobId(1)));
}

double seconds_left(Cluster& cluster) {
  return ask(cluster,
             [](auto& training, const Snapshot& s, JobIndex job) { return training.remaining_serial_s(s, job); });
}

double example_loss(int k) { return 1 / (.1 * k + .5) + .2; }

// Without an estimate, and after running longer than a job about which nothing is known is assumed to
// (`default_est_s`).
TEST(TrainingEstimates, a_job_grows_by_what_its_losses_and_speeds_say_is_left) {
  for (const char* policy : {"optimus", "coach"}) {
    Cluster cluster({4}, policy, policy == std::string("coach") ? GivenParameters{{"probes", "0"}} : GivenParameters{});
    JobRequest request = elastic(1, 4);
    request.gpus = 1;
    cluster.submit(1, with_model(request, [](JobModel& model) { model.target_loss = .25; })).at(700);
    report_losses(cluster, 20, example_loss);
    AttemptProgressed progress{JobId(1), 1, {}, {}, SpeedSample{}};
    progress.speed->steps_per_s = 10;
    cluster.feed(progress).turn();
    EXPECT_EQ(cluster.job(1).allocation.count(), 4) << policy;
  }
}

// The example's target of 0.4 is met at epoch 45: after 20 epochs of 10 s, 25 are left.
TEST(TrainingEstimates, what_is_left_follows_from_the_loss_and_the_target) {
  Cluster cluster({1});
  cluster.submit(1, with_model(elastic(1, 1), [](JobModel& model) { model.target_loss = .4; })).at(200);
  report_losses(cluster, 20, example_loss);
  EXPECT_NEAR(seconds_left(cluster), 250, 1e-6);
}

TEST(TrainingEstimates, without_a_target_the_number_of_epochs_counts_else_the_fall_of_the_loss) {
  for (const auto& [epochs_total, left_s] : {std::pair(30, 100.0), std::pair(0, 170.0)}) {
    Cluster cluster({1});
    JobRequest request = elastic(1, 1);
    if (epochs_total > 0) request = with_model(request, [&](JobModel& model) { model.epochs_total = epochs_total; });
    cluster.submit(1, request).at(200);
    report_losses(cluster, 20, [](int k) { return std::exp(-.1 * k) + .01; });
    EXPECT_NEAR(seconds_left(cluster), left_s, 10) << epochs_total;  // the fall of its loss ends at epoch 37
  }
}

// One epoch is 100 steps at 10 steps/s on one GPU, however long its epochs took on the GPUs it had.
TEST(TrainingEstimates, an_epoch_takes_its_steps_at_the_measured_speed) {
  Cluster cluster({4});
  cluster
      .submit(1, with_model(elastic(1, 4),
                            [](JobModel& model) {
                              model.epochs_total = 30;
                              model.steps_total = 3000;
                            }))
      .at(77);
  AttemptProgressed progress{JobId(1), 1, 1.0, {}, SpeedSample{}};
  progress.speed->steps_per_s = 10;
  cluster.feed(progress);
  EXPECT_NEAR(seconds_left(cluster), 290, 1e-6);
}

}  // namespace
}  // namespace sl
