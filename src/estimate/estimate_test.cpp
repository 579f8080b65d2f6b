// The worked examples of policies.md 10 and what must hold for any input.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"
#include "estimate/convergence.h"
#include "estimate/epochs_left.h"
#include "estimate/estimates.h"
#include "estimate/loss_forms.h"
#include "estimate/nnls.h"
#include "estimate/quadratic_utility.h"
#include "estimate/run_time_history.h"
#include "estimate/speed_model.h"

namespace sl {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Losses, what_is_no_loss_is_dropped_and_epochs_keep_their_number) {
  const auto points = clean_losses({2, nan, 1.5, infinity, -1, 0, 1});
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[1].epoch, 3);
  EXPECT_EQ(points[2].epoch, 7);
}

TEST(Losses, a_spike_becomes_the_median_of_its_neighbours_and_a_rise_stays) {
  const auto spike = clean_losses({2, 1.8, 9, 1.5, 1.4});
  EXPECT_NEAR(spike[2].loss, 1.65, 1e-12);
  const std::vector<double> rising{1, 1.1, 1.2, 1.3, 1.4, 1.5};
  const auto kept = clean_losses(rising);
  for (std::size_t i = 0; i < rising.size(); ++i) EXPECT_EQ(kept[i].loss, rising[i]);  // divergence must be seen
}

TEST(Losses, a_target_is_reached_in_three_epochs_in_a_row) {
  EXPECT_EQ(epoch_of_target({.6, .49, .51, .48, .47, .46}, .5), 6);
  EXPECT_FALSE(epoch_of_target({.49, .51, .49, .49}, .5));
}

TEST(Losses, a_training_without_a_target_has_converged_when_it_hardly_improves) {
  std::vector<double> losses{2, 1.5, 1};
  for (int i = 0; i < 9; ++i) losses.push_back(1);
  EXPECT_FALSE(epoch_of_convergence(losses));
  losses.push_back(1);
  EXPECT_EQ(epoch_of_convergence(losses), 13);
}

// Each of the ten previous epochs counts: here the step of each epoch and the fall over all ten are small, but the loss
// two epochs ago was far above the current one.
TEST(Losses, a_loss_that_has_just_come_down_from_a_bump_has_not_converged) {
  EXPECT_FALSE(epoch_of_convergence({1, 1, 1, 1, 1, 1, 1, 1.04, 1.08, 1.04, 1}));
  EXPECT_EQ(epoch_of_convergence({1, 1, 1, 1, 1, 1, 1, 1.01, 1.02, 1.01, .99}), 11);
}

double example_loss(int k) { return 1 / (0.1 * k + 0.5) + 0.2; }

TEST(Convergence, the_curve_of_the_example_is_found_again) {
  EXPECT_NEAR(example_loss(0), 2.2, 1e-9);
  EXPECT_NEAR(example_loss(2), 1.628571, 1e-6);
  EXPECT_NEAR(example_loss(45), .4, 1e-9);
  std::vector<LossPoint> points;
  for (int k = 1; k <= 20; ++k) points.push_back({k, example_loss(k)});
  const auto curve = fit_convergence(points);
  ASSERT_TRUE(curve);
  EXPECT_NEAR(curve->b0, .1, 1e-6);
  EXPECT_NEAR(curve->b1, .5, 1e-6);
  EXPECT_NEAR(curve->b2, .2, 1e-6);
  EXPECT_NEAR(*curve->epoch_of(.4), 45, 1e-3);
  EXPECT_FALSE(curve->epoch_of(.2 - 1e-6));
}

std::vector<double> losses_of(int epochs, const std::function<double(int)>& loss, double noise = 0) {
  std::vector<double> losses;
  Random random(3);
  for (int k = 1; k <= epochs; ++k) losses.push_back(loss(k) * random.uniform(1 - noise, 1 + noise));
  return losses;
}

TEST(Convergence, each_form_finds_its_own_curve_again) {
  const std::array<std::function<double(int)>, 6> truth{example_loss,
                                                        [](int k) { return 2 * std::pow(k, -.5) + .3; },
                                                        [](int k) { return 2 * std::exp(-.1 * k) + .3; },
                                                        [](int k) { return 2 - .01 * k; },
                                                        [](int k) { return 2 * std::pow(k, -.5); },
                                                        [](int k) { return 2 * std::exp(-.1 * k); }};
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const auto points = clean_losses(losses_of(30, truth[i]));
    const auto curve = fit_loss(all_loss_forms[i], points);
    ASSERT_TRUE(curve);
    EXPECT_NEAR(curve->loss_at(60), truth[i](60), 1e-3) << i;
  }
}

// The target lies ten epochs ahead under every form.
TEST(Convergence, epochs_left_follow_the_form_that_predicts_best) {
  for (const auto& loss : {std::function<double(int)>(example_loss),
                           {[](int k) { return 2 * std::pow(k, -.5) + .3; }},
                           {[](int k) { return 2 * std::exp(-.1 * k) + .3; }},
                           {[](int k) { return 2 - .01 * k; }}}) {
    const EpochsLeft left = epochs_left(losses_of(20, loss), loss(30));
    ASSERT_TRUE(left.epochs.known());
    EXPECT_NEAR(left.epochs.value, 10, 1);
    EXPECT_EQ(left.epochs.confidence, Confidence::high);
  }
}

TEST(Convergence, noise_widens_the_range_and_lowers_the_confidence) {
  const EpochsLeft left = epochs_left(losses_of(20, example_loss, .05), .4);
  ASSERT_TRUE(left.epochs.known());
  EXPECT_LE(left.low, left.epochs.value);
  EXPECT_GE(left.high, left.epochs.value);
  EXPECT_LT(left.low, left.high);
  EXPECT_LT(left.epochs.confidence, Confidence::high);
}

// Even with many points, what drowns in noise is not trusted.
TEST(Convergence, many_points_alone_give_no_confidence) {
  EXPECT_EQ(epochs_left(losses_of(
                            100, [](int k) { return 1 + .001 * k; }, .2),
                        .5)
                .epochs.confidence,
            Confidence::unknown);
  const EpochsLeft slow = epochs_left(losses_of(
                                          100, [](int k) { return 1 - .001 * k; }, .2),
                                      .5);
  EXPECT_LT(slow.epochs.confidence, Confidence::high);
  EXPECT_GT(slow.high, 1.5 * slow.low);
}

TEST(Convergence, a_target_met_in_three_epochs_in_a_row_leaves_one_epoch) {
  EXPECT_EQ(epochs_left({.9, .6, .49, .48, .47}, .5).epochs.value, 1);
  EXPECT_EQ(epochs_left({.9, .6, .49, .48, .47}, .5).epochs.confidence, Confidence::high);
}

// e^(-k/5) falls by no more than 0.05 of the first loss over ten epochs from epoch 26 on.
TEST(Convergence, without_a_target_a_training_goes_on_until_its_loss_hardly_falls) {
  const auto loss = [](int k) { return std::exp(-.2 * k) + .01; };
  const int whole = *epoch_of_convergence(losses_of(100, loss));
  EXPECT_EQ(whole, 26);
  EXPECT_NEAR(epochs_to_convergence(losses_of(10, loss)).epochs.value, whole - 10, 1);
  EXPECT_EQ(epochs_to_convergence(losses_of(whole, loss)).epochs.value, 1);
  EXPECT_EQ(epochs_to_convergence(losses_of(60, [](int k) { return 100.0 - k; })).epochs.value, 40);  // at most 100
}

TEST(Convergence, losses_that_do_not_fall_never_reach_a_target) {
  for (const auto& losses : {std::vector<double>(10, 1.0), std::vector<double>{1, 1.2, 1.4, 1.6, 1.8}}) {
    const EpochsLeft left = epochs_left(losses, .4);
    EXPECT_FALSE(left.reachable);
    EXPECT_FALSE(left.epochs.known());
  }
  EXPECT_FALSE(epochs_left({1, .9}, .4).epochs.known());  // two points are no curve
}

RC_GTEST_PROP(ConvergenceProperty, no_loss_whatever_gives_a_nan_or_a_negative_epoch,
              (const std::vector<double>& losses, double target)) {
  const EpochsLeft left = epochs_left(losses, target);
  RC_ASSERT(!left.epochs.known() || (std::isfinite(left.epochs.value) && left.epochs.value >= 1));
  RC_ASSERT(!std::isnan(left.low) && !std::isnan(left.high) && left.low >= 0 && left.low <= left.high);
  const EpochsLeft converges = epochs_to_convergence(losses);
  RC_ASSERT(!converges.epochs.known() || (converges.epochs.value >= 1 && converges.epochs.value <= 100));
}

RC_GTEST_PROP(NnlsProperty, no_point_nearby_is_better, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto rows = static_cast<Eigen::Index>(random.integer(2, 8)),
             columns = static_cast<Eigen::Index>(random.integer(1, 5));
  Eigen::MatrixXd a(rows, columns);
  Eigen::VectorXd b(rows);
  for (Eigen::Index r = 0; r < rows; ++r) {
    b(r) = random.uniform(-5, 5);
    for (Eigen::Index c = 0; c < columns; ++c) a(r, c) = random.uniform(-3, 3);
  }
  const Eigen::VectorXd x = nonnegative_least_squares(a, b);
  const double error = (a * x - b).squaredNorm();
  for (int i = 0; i < 50; ++i) {
    Eigen::VectorXd other = x;
    for (Eigen::Index c = 0; c < columns; ++c) other(c) = std::max(0.0, other(c) + random.uniform(-.1, .1));
    RC_ASSERT(error <= (a * other - b).squaredNorm() + 1e-9);
  }
  RC_ASSERT(x.minCoeff() >= 0);
}

SpeedSample sample(int workers, int servers, double speed, int batch = 128, int machines = 1) {
  SpeedSample s;
  s.workers = workers;
  s.servers = servers;
  s.steps_per_s = speed;
  s.batch_size = batch;
  s.machines = machines;
  return s;
}

// theta = (0.01, 0.2, 0.1, 0.02, 0.03), M = 128.
double synchronous(double w, double p) { return 1 / (.01 * 128 / w + .2 + .1 * w / p + .02 * w + .03 * p); }

TEST(SpeedModel, the_synchronous_example_is_found_again) {
  EXPECT_NEAR(synchronous(1, 1), .613497, 1e-6);
  EXPECT_NEAR(synchronous(4, 2), 1.162791, 1e-6);
  std::vector<SpeedSample> samples;
  for (const auto& [w, p] : {std::pair(1, 1), {1, 2}, {2, 1}, {2, 2}, {4, 1}, {4, 4}, {8, 2}})
    samples.push_back(sample(w, p, synchronous(w, p)));
  const SpeedModel model(samples, TrainingMode::parameter_server_sync);
  EXPECT_NEAR(model.steps_per_s({4, 2, false}).value, synchronous(4, 2), 1e-6);
  EXPECT_NEAR(model.steps_per_s({6, 3, false}).value, synchronous(6, 3), 1e-6);
  const std::vector<double> theta{.01, .2, .1, .02, .03};
  for (std::size_t i = 0; i < theta.size(); ++i) EXPECT_NEAR(model.coefficients()[i], theta[i], 1e-6);
}

TEST(SpeedModel, asynchronous_servers_and_all_reduce_are_found_again) {
  const auto async = [](double w, double p) { return w / (1 + .2 * w / p + .1 * w + .05 * p); };
  std::vector<SpeedSample> samples;
  for (const auto& [w, p] : {std::pair(1, 1), {2, 1}, {1, 2}, {4, 2}, {3, 3}})
    samples.push_back(sample(w, p, async(w, p)));
  EXPECT_NEAR(SpeedModel(samples, TrainingMode::parameter_server_async).steps_per_s({6, 2, false}).value, async(6, 2),
              1e-6);
  const auto reduce = [](double n) { return 1 / (.01 * 128 / n + .05 + .08 * (n - 1) / n + .01 * (n - 1)); };
  samples.clear();
  for (const int n : {1, 2, 3, 4, 6}) samples.push_back(sample(n, 0, reduce(n)));
  EXPECT_NEAR(SpeedModel(samples, TrainingMode::all_reduce).steps_per_s({8, 0, false}).value, reduce(8), 1e-6);
}

TEST(SpeedModel, what_was_measured_is_returned_and_a_newer_figure_moves_it_by_three_tenths) {
  const SpeedModel model({sample(2, 0, 10), sample(2, 0, 20)}, TrainingMode::all_reduce);
  EXPECT_NEAR(model.steps_per_s({2, 0, false}).value, 13, 1e-12);
  EXPECT_EQ(model.steps_per_s({2, 0, false}).confidence, Confidence::high);
}

TEST(SpeedModel, with_little_data_it_is_a_power_and_with_none_unknown) {
  const SpeedModel one({sample(1, 0, 10)}, TrainingMode::all_reduce);
  EXPECT_NEAR(one.speedup(4, 0, false).value, std::pow(4, .9), 1e-9);
  EXPECT_EQ(one.speedup(4, 0, false).confidence, Confidence::low);
  const SpeedModel two({sample(1, 0, 10), sample(2, 0, 17)}, TrainingMode::all_reduce);
  EXPECT_NEAR(two.speedup(8, 0, false).value, 1.7 * 1.7 * 1.7, 1e-9);
  EXPECT_FALSE(SpeedModel({}, TrainingMode::all_reduce).speedup(4, 0, false).known());
  EXPECT_FALSE(
      SpeedModel({sample(1, 0, nan), sample(2, 0, -1)}, TrainingMode::all_reduce).speedup(2, 0, false).known());
}

TEST(SpeedModel, ranges_are_exact_where_it_was_measured_and_widen_with_the_distance) {
  const SpeedModel model({sample(1, 0, 10), sample(2, 0, 17)}, TrainingMode::all_reduce);
  const auto width = [&](int workers) {
    const SpeedModel::Range range = model.range({workers, 0, false});
    const double speed = model.steps_per_s({workers, 0, false}).value;
    EXPECT_TRUE(range.low <= speed && speed <= range.high) << workers;
    return range.high / range.low;
  };
  EXPECT_EQ(width(2), 1);
  EXPECT_GT(width(3), 1);
  EXPECT_GT(width(8), width(4));
  EXPECT_EQ(SpeedModel({}, TrainingMode::all_reduce).range({2, 0, false}).high, infinity);
}

constexpr RunTimeHistory::Kind ann_lenet{.user = 1, .family = 1, .gpus = 1};

TEST(RunTimeHistory, prefers_jobs_of_the_same_user_family_and_width) {
  RunTimeHistory history;
  EXPECT_FALSE(history.guess(ann_lenet));
  const auto guess = [&](const RunTimeHistory::Kind& kind) { return *history.guess(kind); };
  history.add({.user = 9, .family = 9, .gpus = 8}, 1000, 1000);
  EXPECT_EQ(guess(ann_lenet).run_s, 1000);
  EXPECT_EQ(guess(ann_lenet).from, RunTimeHistory::Likeness::all);
  history.add({.user = 2, .family = 1, .gpus = 1}, 400, 2000);
  EXPECT_EQ(guess(ann_lenet).run_s, 400);
  EXPECT_EQ(guess(ann_lenet).from, RunTimeHistory::Likeness::family_gpus);
  history.add({.user = 1, .family = 1, .gpus = 4}, 300, 3000);
  EXPECT_EQ(guess(ann_lenet).run_s, 300);
  EXPECT_EQ(guess(ann_lenet).from, RunTimeHistory::Likeness::user_family);
  history.add(ann_lenet, 200, 4000);
  EXPECT_EQ(guess(ann_lenet).run_s, 200);
  EXPECT_EQ(guess(ann_lenet).from, RunTimeHistory::Likeness::user_family_gpus);
}

TEST(RunTimeHistory, guesses_the_median_of_the_latest_nine_whatever_one_long_job_took) {
  RunTimeHistory history;
  for (int i = 0; i < 20; ++i) history.add(ann_lenet, 5000, 10'000 * i);
  for (int i = 0; i < 9; ++i) history.add(ann_lenet, i == 4 ? 1e6 : 100 + i, 1e6 + i);
  EXPECT_EQ(history.guess(ann_lenet)->run_s, 105);
}

// Run times alternate between 100 and 200 s: the median is one of the two, the range holds both.
TEST(RunTimeHistory, ranges_follow_what_past_guesses_missed) {
  RunTimeHistory steady, wavering;
  for (int i = 0; i < 60; ++i) {
    steady.add(ann_lenet, 100, 1000 * i);
    wavering.add(ann_lenet, i % 2 == 0 ? 100 : 200, 1000 * i);
  }
  const auto exact = steady.range(*steady.guess(ann_lenet)), wide = wavering.range(*wavering.guess(ann_lenet));
  EXPECT_NEAR(exact.high_s, exact.low_s, 1e-9);
  EXPECT_LE(wide.low_s, 105);
  EXPECT_GE(wide.high_s, 190);
}

// Twenty jobs at once: when the first started, none of the others had ended, so they say nothing about past guesses.
TEST(RunTimeHistory, past_guesses_know_only_what_had_ended_when_a_job_started) {
  RunTimeHistory history;
  history.add(ann_lenet, 10, 10);
  for (int i = 0; i < 20; ++i) history.add(ann_lenet, 1000, 1011 + i * 1e-3);
  const auto range = history.range({.run_s = 1000, .from = RunTimeHistory::Likeness::user_family_gpus, .count = 1});
  EXPECT_NEAR(range.high_s, 100'000, 6000);  // each was a hundred times as long as guessed
}

TEST(SpeedCurve, stays_as_it_is_beyond_its_last_entry) {
  const SpeedCurve flat = SpeedCurve::from_run_times({28.6, 24.3, 22.2, 21.5}), falling({1, 0.5});
  EXPECT_NEAR(flat.speed_on(4), 1.330, 5e-4);
  EXPECT_EQ(flat.speed_on(100), flat.speed_on(4));
  EXPECT_EQ(falling.speed_on(3), 0.5);
  EXPECT_EQ(falling.speed_on(0), 0);
  EXPECT_EQ(falling.speed_on(1, 3), 2);
}

TEST(SpeedCurve, without_a_table_is_linear_and_says_so) {
  EXPECT_EQ(unmeasured_speed_curve.speed_on(7), 7);
  EXPECT_FALSE(unmeasured_speed_curve.is_measured());
  EXPECT_TRUE(SpeedCurve({1}).is_measured());
}

// 100 s on the four GPUs it asks for, linear. Time on fewer GPUs counts for less.
TEST(RequestEstimates, count_what_was_run_on_other_numbers_of_gpus_by_the_speed_curve) {
  Job job;
  job.request.gpus = job.request.gpus_max = 4;
  job.request.estimate = Duration::whole_seconds(100);
  const auto left = [&](int gpus) { return RequestEstimates().remaining_s(job, gpus, {}).value; };
  EXPECT_DOUBLE_EQ(RequestEstimates().run_time_s(job, 1).value, 400);
  EXPECT_DOUBLE_EQ(left(1), 400);
  job.run = Duration::whole_seconds(40);
  job.attained_gpu_us = 4 * job.run.us;
  EXPECT_DOUBLE_EQ(left(4), 60);
  EXPECT_DOUBLE_EQ(left(1), 240);
  job.run = Duration::whole_seconds(80);
  job.attained_gpu_us = 2 * job.run.us;  // elastic: two GPUs on average
  job.request.gpus_min = 1;
  EXPECT_DOUBLE_EQ(left(4), 60);
  job.run = Duration::whole_seconds(2000);
  job.attained_gpu_us = 4 * job.run.us;  // far over its estimate: a tenth of its run time is left
  EXPECT_DOUBLE_EQ(left(4), 200);
}

RC_GTEST_PROP(SpeedModelProperty, speeds_are_positive_and_speedups_at_most_linear_unless_measured, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<SpeedSample> samples;
  int largest = 0;
  for (std::int64_t n = random.integer(1, 8); n > 0; --n) {
    samples.push_back(sample(static_cast<int>(random.integer(1, 8)), 0, random.uniform(.1, 50), 64));
    largest = std::max(largest, samples.back().workers);
  }
  const SpeedModel model(samples, TrainingMode::all_reduce);
  for (int n = 1; n <= 16; ++n) {
    const Figure speed = model.steps_per_s({n, 0, false}), up = model.speedup(n, 0, false);
    RC_ASSERT(!speed.known() || (std::isfinite(speed.value) && speed.value > 0));
    RC_ASSERT(!up.known() || (std::isfinite(up.value) && up.value > 0));
    if (up.known() && n > largest && largest <= 1) RC_ASSERT(up.value <= n + 1e-9);
  }
}

TEST(QuadraticUtility, the_coefficients_are_found_again_when_three_values_were_tried) {
  const QuadraticUtility truth(.01, 4, .02, 2, .5);
  std::vector<UtilitySample> samples;
  for (const double w : {1, 2, 4}) {
    for (const double p : {1, 2, 3}) samples.push_back({w, p, truth.at(w, p).value});
  }
  const auto found = QuadraticUtility::fit(samples);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->b1(), .01, 1e-9);
  EXPECT_NEAR(*found->b2(), 4, 1e-6);
  EXPECT_NEAR(found->b3(), .02, 1e-9);
  EXPECT_NEAR(*found->b4(), 2, 1e-6);
  EXPECT_NEAR(found->b5(), .5, 1e-9);
}

// In the four mini-epochs w is 1 or 2, where w^2 = 3w - 2.
TEST(QuadraticUtility, with_two_values_the_curvature_is_held_small_and_nothing_is_said_far_beyond) {
  const QuadraticUtility truth(.01, 4, .02, 2, .5);
  std::vector<UtilitySample> samples;
  for (const double w : {1, 2}) {
    for (const double p : {1, 2}) samples.push_back({w, p, truth.at(w, p).value});
  }
  const auto found = QuadraticUtility::fit(samples);
  ASSERT_TRUE(found);
  for (const UtilitySample& s : samples) EXPECT_NEAR(found->at(s.workers, s.servers).value, s.progress_per_s, 2e-3);
  EXPECT_EQ(found->at(2, 2).confidence, Confidence::low);
  EXPECT_FALSE(found->at(5, 1).known());
  EXPECT_FALSE(QuadraticUtility::fit({{1, 1, .1}, {2, 1, nan}, {2, 2, .2}}));
}

}  // namespace
}  // namespace sl
