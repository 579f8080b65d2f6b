#include "forecast/lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "forecast/forecast.h"

namespace sl::forecast {
namespace {

const Instant now = Instant::at_seconds(1'000'000);

Job waiting_job() {
  Job job;
  job.request.id = JobId(1);
  return job;
}

Job running_job(double run_s, int gpus = 1) {
  Job job = waiting_job();
  job.request.gpus = gpus;
  job.state = JobState::running;
  job.allocation = Allocation(ServerIndex(0), GpuSet::first(gpus));
  job.accounted = now - Duration::seconds(run_s);
  return job;
}

FinishedRun run_of(const char* user, const char* family, double run_s) {
  return {.kind = {.user = hash_of(user), .family = hash_of(family), .command = 1}, .run_s = run_s};
}

JobFacts facts_of(const char* user, const char* family) {
  return {.kind = {.user = hash_of(user), .family = hash_of(family), .command = 1}};
}

// The quantile of many draws of what is left.
double quantile_s(const Lengths::Prospect& prospect, double share) {
  std::vector<double> draws;
  Random random(7);
  for (int i = 0; i < 4'000; ++i) draws.push_back(draw_left_s(prospect, 1 - random.uniform(), random));
  std::sort(draws.begin(), draws.end());
  return draws[static_cast<std::size_t>(share * 4'000)];
}

TEST(Lengths, nothing_known_has_no_length) {
  const auto prospect = Lengths().prospect_of(waiting_job(), {}, now);
  EXPECT_EQ(prospect.basis.kind, BasisKind::none);
  Random random;
  EXPECT_EQ(draw_left_s(prospect, 0.5, random), endless_s);
}

TEST(Lengths, runs_alike_come_before_the_users_estimate_and_that_before_the_time_limit) {
  Lengths lengths;
  Job job = waiting_job();
  job.request.time_limit = Duration::whole_seconds(7200);
  EXPECT_EQ(to_string(lengths.prospect_of(job, facts_of("mei", "mnist"), now).basis), "time_limit");
  job.request.estimate = Duration::whole_seconds(3600);
  EXPECT_EQ(to_string(lengths.prospect_of(job, facts_of("mei", "mnist"), now).basis), "estimate");
  lengths.add(run_of("mei", "mnist", 60));
  EXPECT_EQ(to_string(lengths.prospect_of(job, facts_of("mei", "mnist"), now).basis), "history:1");
  JobFacts reporting = facts_of("mei", "mnist");
  reporting.progress = ReportedProgress{.left_s = 10, .share = 0.5};
  EXPECT_EQ(to_string(lengths.prospect_of(job, reporting, now).basis), "progress");
  // A pace that includes the start says little before some of the work is done.
  reporting.progress = ReportedProgress{.left_s = 1000, .share = 0.02, .is_measured = false};
  EXPECT_EQ(to_string(lengths.prospect_of(job, reporting, now).basis), "history:1");
  reporting.progress->share = 0.2;
  EXPECT_EQ(to_string(lengths.prospect_of(job, reporting, now).basis), "progress");
  reporting.progress = ReportedProgress{.left_s = 1000, .share = 0.02, .is_measured = false};
  EXPECT_EQ(to_string(Lengths().prospect_of(waiting_job(), reporting, now).basis), "progress") << "better than nothing";
}

TEST(Lengths, many_equal_runs_give_a_narrow_range_around_them) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", 600 + i % 5));
  const auto prospect = lengths.prospect_of(waiting_job(), facts_of("mei", "mnist"), now);
  EXPECT_NEAR(quantile_s(prospect, 0.1), 600, 30);
  EXPECT_NEAR(quantile_s(prospect, 0.9), 604, 30);
}

TEST(Lengths, two_kinds_of_runs_are_both_expected) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", i % 2 == 0 ? 60 : 3'600));
  const auto prospect = lengths.prospect_of(waiting_job(), facts_of("mei", "mnist"), now);
  EXPECT_LT(quantile_s(prospect, 0.3), 100);
  EXPECT_GT(quantile_s(prospect, 0.7), 2'000);
}

TEST(Lengths, a_job_that_has_outlived_the_short_ones_is_one_of_the_long_ones) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", i % 2 == 0 ? 60 : 3'600));
  const auto prospect = lengths.prospect_of(running_job(300), facts_of("mei", "mnist"), now);
  EXPECT_NEAR(quantile_s(prospect, 0.3), 3'300, 700);
  EXPECT_GT(quantile_s(prospect, 0.05), 1'000);
}

TEST(Lengths, a_job_that_has_outlived_all_may_last_as_long_again) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", 60));
  const auto prospect = lengths.prospect_of(running_job(36'000), facts_of("mei", "mnist"), now);
  EXPECT_GT(quantile_s(prospect, 0.5), 10'000);
  EXPECT_LT(quantile_s(prospect, 0.5), 100'000);
}

// One of 40 lasted for ten hours, all others for a minute: of what has run for an hour, it says little.
TEST(Lengths, the_fewer_lasted_as_long_the_less_is_known_of_a_job_that_does) {
  const auto width = [](int long_runs) {
    Lengths lengths;
    for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", i < long_runs ? 36'000 : 60));
    const auto prospect = lengths.prospect_of(running_job(3'600), facts_of("mei", "mnist"), now);
    return quantile_s(prospect, 0.8) / quantile_s(prospect, 0.2);
  };
  EXPECT_GT(width(1), 3);
  EXPECT_GT(width(1), 1.3 * width(4));
  EXPECT_NEAR(width(20), 2.03, 0.05);  // worked out: 2.031
}

// How far lengths that are guesses are wrong together, after `runs` of `length(i)`.
template <typename Length>
double common_spread_after(int runs, Length length) {
  Lengths lengths;
  for (int i = 0; i < runs; ++i) lengths.add(run_of("mei", "mnist", length(i)));
  return lengths.common_spread();
}

TEST(Lengths, are_not_taken_to_err_together_before_there_is_anything_to_tell) {
  EXPECT_DOUBLE_EQ(common_spread_after(15, [](int) { return 600.0; }), 0.35);
}

// The mean of 20 times: every 32 runs have an error in common, of that spread, besides their own.
double mean_common_spread_after(int runs, double common_spread) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    double common = 0;
    sum += common_spread_after(runs, [&](int i) {
      if (i % 32 == 0) common = common_spread * normal(random);
      return 600 * std::exp(common + 0.3 * normal(random));
    });
  }
  return sum / 20;
}

TEST(Lengths, that_err_one_by_one_are_soon_known_to) {
  EXPECT_LT(mean_common_spread_after(150, 0), 0.05);
  EXPECT_LT(mean_common_spread_after(2'000, 0), 0.02);
}

TEST(Lengths, that_err_together_are_found_to_by_as_much_as_they_do) {
  EXPECT_NEAR(mean_common_spread_after(2'000, 0.1), 0.09, 0.02);
  EXPECT_NEAR(mean_common_spread_after(2'000, 0.2), 0.18, 0.025);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value / static_cast<double>(values.size());
  return sum;
}
double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean) / static_cast<double>(values.size());
  return std::sqrt(squares);
}

// The mean of the logarithms of what 200 jobs still run, and of 200 members of a group among them, in each of 300 futures.
struct MeansOfFutures {
  std::vector<double> of_jobs, of_members, of_both;
};
MeansOfFutures means_of_futures(double common_spread, bool with_progress) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", 600 + i % 5));
  JobFacts facts = facts_of("mei", "mnist");
  if (with_progress) facts.progress = ReportedProgress{.left_s = 600, .share = 0.5};
  std::vector<Lengths::Prospect> prospects(200, lengths.prospect_of(waiting_job(), facts, now));
  for (Lengths::Prospect& prospect : prospects)
    prospect.common_spread = common_spread, prospect.job = static_cast<std::uint64_t>(&prospect - prospects.data());
  MeansOfFutures means;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::vector<double> jobs, members;
    for (const double left_s : draw_all_left_s(prospects, seed)) jobs.push_back(std::log(left_s));
    const auto draw = draws_of_members(prospects, seed);
    for (std::uint64_t nth = 0; nth < 200; ++nth) members.push_back(std::log(draw(0, nth)));
    means.of_jobs.push_back(mean_of(jobs)), means.of_members.push_back(mean_of(members));
    means.of_both.push_back(means.of_jobs.back() - means.of_members.back());
  }
  return means;
}

TEST(Lengths, of_one_future_are_wrong_together_by_the_common_error) {
  for (const double common : {0.1, 0.3}) {
    const MeansOfFutures means = means_of_futures(common, false);
    EXPECT_NEAR(deviation_of(means.of_jobs), common, 0.15 * common);
    EXPECT_NEAR(deviation_of(means.of_members), common, 0.15 * common);
    EXPECT_LT(deviation_of(means.of_both), 0.02) << "members err as the jobs do";
  }
  EXPECT_LT(deviation_of(means_of_futures(0, false).of_jobs), 0.01);
  EXPECT_LT(deviation_of(means_of_futures(0.3, true).of_jobs), 0.05) << "what jobs report is no guess";
}

// They are as wrong as each other: their sum is near what the users said, whatever their number.
TEST(Lengths, of_which_nothing_but_the_users_estimate_is_known_add_up_to_about_what_it_says) {
  Job job = waiting_job();
  job.request.estimate = Duration::whole_seconds(60);
  const std::vector<Lengths::Prospect> prospects = {Lengths().prospect_of(job, facts_of("mei", "mnist"), now)};
  std::vector<double> sums;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto draw = draws_of_members(prospects, seed);
    sums.push_back(0);
    for (std::uint64_t nth = 0; nth < 100; ++nth) sums.back() += draw(0, nth);
  }
  std::sort(sums.begin(), sums.end());
  EXPECT_NEAR(sums[200], 6'000, 1'200);
  EXPECT_LT(sums[40], 2'000);
  EXPECT_GT(sums[360], 18'000);
}

// As long as nothing happens but that others come and go.
TEST(Lengths, are_drawn_alike_from_one_forecast_to_the_next) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", 600 + 30 * i));
  std::vector<Lengths::Prospect> prospects;
  for (int id = 1; id <= 3; ++id) {
    Job job = waiting_job();
    job.request.id = JobId(id);
    prospects.push_back(lengths.prospect_of(job, facts_of("mei", "mnist"), now));
  }
  const std::vector<double> before = draw_all_left_s(prospects, 1);
  EXPECT_NE(before[1], before[2]);
  prospects.erase(prospects.begin());
  EXPECT_EQ(draw_all_left_s(prospects, 1), std::vector<double>(before.begin() + 1, before.end()));
}

TEST(Lengths, that_err_together_stay_known_to) {
  const auto in_turns = [](int i) { return i / 32 % 2 == 0 ? 300.0 : 1'200.0; };
  EXPECT_DOUBLE_EQ(common_spread_after(2'000, in_turns), 0.35);
  const auto hardly = [](int i) { return i / 32 % 2 == 0 ? 500.0 : 720.0; };
  EXPECT_NEAR(common_spread_after(2'000, hardly), 0.18, 0.05);
}

TEST(Lengths, no_length_exceeds_the_time_limit) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) lengths.add(run_of("mei", "mnist", 3'600));
  Job job = running_job(100);
  job.request.time_limit = Duration::whole_seconds(150);
  const auto prospect = lengths.prospect_of(job, facts_of("mei", "mnist"), now);
  EXPECT_DOUBLE_EQ(quantile_s(prospect, 0.99), 50);
}

TEST(Lengths, estimates_are_corrected_by_how_true_the_users_were) {
  Lengths lengths;
  for (int i = 0; i < 40; ++i) {
    FinishedRun run = run_of("mei", ("other" + std::to_string(i % 3)).c_str(), 2'000);
    run.estimate_s = 1'000;
    lengths.add(run);
  }
  Job job = waiting_job();
  job.request.estimate = Duration::whole_seconds(3'600);
  const auto prospect = lengths.prospect_of(job, facts_of("mei", "new"), now);
  EXPECT_EQ(prospect.basis.kind, BasisKind::estimate);
  EXPECT_NEAR(quantile_s(prospect, 0.5), 7'200, 720);
}

TEST(Lengths, what_is_left_is_never_negative_and_always_a_number) {
  Lengths lengths;
  for (double run_s : {0.001, 1.0, 1e9, 5.0, 70.0}) lengths.add(run_of("mei", "mnist", run_s));
  lengths.add(run_of("mei", "mnist", 0));
  lengths.add(run_of("mei", "mnist", -5));
  lengths.add(run_of("mei", "mnist", NAN));
  EXPECT_EQ(lengths.runs(), 5U);
  Random random;
  for (double passed : {0.0, 1e-6, 1.0, 1e6, 1e12}) {
    const auto prospect = lengths.prospect_of(running_job(passed), facts_of("mei", "mnist"), now);
    for (int i = 0; i < 1'000; ++i) {
      const double left = draw_left_s(prospect, 1 - random.uniform(), random);
      ASSERT_TRUE(left >= 0 && left < 1e13) << passed << " " << left;
    }
  }
}

TEST(Lengths, names_that_differ_only_in_numbers_are_one_family) {
  EXPECT_EQ(family_of("lr-0.1"), family_of("lr-0.03"));
  EXPECT_EQ(family_of("bert_2"), family_of("bert_17"));
  EXPECT_EQ(family_of("train"), family_of("train-7"));
  EXPECT_EQ(family_of("7"), family_of("12"));
  EXPECT_NE(family_of("bert"), family_of("resnet"));
  EXPECT_NE(family_of("resnet50-ddp"), family_of("resnet50-solo"));
}

TEST(Quantile, of_few_values_reaches_outwards) {
  std::vector<Instant> times;
  for (int i = 1; i <= 9; ++i) times.push_back(Instant::at_seconds(i));
  EXPECT_EQ(quantile(times, 0.1), Instant::at_seconds(1));
  EXPECT_EQ(quantile(times, 0.5), Instant::at_seconds(5));
  EXPECT_EQ(quantile(times, 0.9), Instant::at_seconds(9));
  times.back() = Instant::never();
  EXPECT_TRUE(quantile(times, 0.9).is_never());
  EXPECT_FALSE(quantile(times, 0.5).is_never());
}

}  // namespace
}  // namespace sl::forecast
