#include "policies/preemptive/tiresias_gittins.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/random.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::Workload;

// policies.md 5.2: S = {100, 200, 1000, 4000}, delta 500.
struct Index : testing::Test {
  GittinsSample sample;
  void SetUp() override {
    for (const double total : {1000, 100, 4000, 200}) sample.add(total);
  }
};

TEST_F(Index, of_the_worked_example) {
  EXPECT_NEAR(sample.index(0, 500), 0.0015385, 1e-7);
  EXPECT_NEAR(sample.index(600, 500), 0.0011111, 1e-7);
  EXPECT_NEAR(sample.index(3700, 500), 0.0033333, 1e-7);
}

TEST_F(Index, is_lowest_when_no_past_job_took_as_long) { EXPECT_EQ(sample.index(4000, 500), 0); }

double index_by_definition(const std::vector<double>& totals, double attained, double delta) {
  double survivors = 0, ending = 0, spent = 0;
  for (const double total : totals) {
    if (total <= attained) continue;
    ++survivors;
    if (total <= attained + delta) ++ending;
    spent += std::min(total - attained, delta);
  }
  return survivors == 0 ? 0 : (ending / survivors) / (spent / survivors);
}

TEST_F(Index, equals_its_definition_summed_up_job_by_job) {
  for (double attained = 0; attained < 4200; attained += 50)
    EXPECT_NEAR(sample.index(attained, 500), index_by_definition({100, 200, 1000, 4000}, attained, 500), 1e-12)
        << attained;
}

// Of totals from a fraction of a second to weeks, some of them equal, at, between and beyond them.
RC_GTEST_PROP(GittinsSampleProperty, the_index_equals_its_definition, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  GittinsSample sample;
  std::vector<double> totals;
  const auto any = [&] { return std::round(std::pow(10, random.uniform() * 7 - 1) * 10) / 10; };
  for (std::int64_t jobs = random.integer(0, 60); jobs > 0; --jobs) {
    totals.push_back(any());
    sample.add(totals.back());
  }
  for (int i = 0; i < 30; ++i) {
    const bool at_one = !totals.empty() && random.chance(.5);
    const double attained =
        at_one ? totals[static_cast<std::size_t>(random.integer(0, std::ssize(totals) - 1))] : any();
    const double delta = any(), expected = index_by_definition(totals, attained, delta);
    // Differences of sums as great as all totals lose as much.
    RC_ASSERT(std::abs(sample.index(attained, delta) - expected) <= 1e-6 * (expected + 1e-6));
  }
}

// Whatever is kept for a running job must hold until it is looked at again.
RC_GTEST_PROP(GittinsSampleProperty, no_index_of_an_interval_is_lower_than_the_least, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  GittinsSample sample;
  for (std::int64_t jobs = random.integer(1, 60); jobs > 0; --jobs) sample.add(std::pow(10, random.uniform() * 6));
  const double delta = std::pow(10, 1 + random.uniform() * 4), from = std::pow(10, random.uniform() * 6);
  const double until = from + delta * random.uniform();
  const double least = sample.index_at_least(from, until, delta);
  RC_ASSERT(least <= sample.index(from, delta));
  for (int i = 0; i < 50; ++i) RC_ASSERT(least <= sample.index(from + (until - from) * random.uniform(), delta));
}

TEST_F(Index, at_least_is_close_to_the_index_over_a_short_time) {
  EXPECT_NEAR(sample.index_at_least(600, 601, 500), sample.index(600, 500), 1e-8);
  EXPECT_EQ(sample.index_at_least(600, 1000, 500), 0) << "nobody ends within 500 of what comes after 1000";
}

// Erratum: the simulator's stand-alone mode serves the lowest index first. Past jobs took 100 s each; a job that has
// had 90 s is nearly done, a new one is not.
TEST(TiresiasGittins, the_highest_index_goes_first) {
  Cluster cluster({1}, "tiresias_gittins",
                  {{"delta_gpu_s", "50"}, {"min_quantum_s", "0"}, {"thresholds_gpu_s", "100000"}});
  Workload load(cluster);
  load.job(1, 0, 100, gpus(1)).job(2, 100, 100, gpus(1)).job(3, 260, 100, gpus(1)).run(330);
  EXPECT_EQ(cluster.state(3), JobState::running);
  load.job(4, 331, 100, gpus(1)).run(349);
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(cluster.state(4), JobState::pending);
}

// With one past job of 50 s a new job is likelier to end soon than one that has had 90 s; with another of 100 s it is
// the other way round.
TEST(TiresiasGittins, every_job_that_ends_ranks_those_that_wait_anew) {
  Cluster cluster({1}, "tiresias_gittins", {{"delta_gpu_s", "50"}, {"min_quantum_s", "0"}, {"pure", "true"}});
  cluster.submit(1, gpus(1)).at(50).finish(1);
  cluster.at(100).submit(2, elastic(1, 1)).at(190).submit(3, gpus(1));
  EXPECT_EQ(cluster.state(3), JobState::running);
  cluster.at(250).submit(4, gpus(1)).at(290).finish(3);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(4), JobState::pending);
}

TEST(TiresiasGittins, the_sample_holds_nearly_all_jobs_and_changes_seldom) {
  std::size_t changes = 0;
  for (std::size_t finished = 1; finished <= 16384; ++finished) {
    const std::size_t size = gittins_sample_size(finished);
    EXPECT_LE(size, finished);
    EXPECT_GE(size, finished < 128 ? finished : finished - finished / 64) << finished;
    changes += size == gittins_sample_size(finished - 1) ? 0 : 1;
  }
  EXPECT_EQ(changes, 128 + 64 * 7);  // up to 128 at each, then 64 times until there are twice as many
}

}  // namespace
}  // namespace sl
