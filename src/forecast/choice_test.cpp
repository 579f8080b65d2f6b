#include "forecast/choice.h"

#include <gtest/gtest.h>

namespace sl::forecast {
namespace {

const Instant asked = Instant::at_seconds(10'000), long_ago = Instant::at_seconds(0);

Trial trial(const std::string& name, const std::vector<double>& jct_s) {
  Trial trial{.name = name};
  for (const double seconds : jct_s) trial.costs.push_back({.jct_s = seconds, .makespan_s = 1'000 - seconds});
  trial.draws = jct_s.size(), trial.jobs = 3;
  return trial;
}

TEST(Choice, the_cheapest_takes_over_and_says_by_how_much) {
  const auto choice =
      choose({trial("fifo", {100, 100}), trial("sjf", {80, 80}), trial("srtf", {50, 60})}, {}, asked, long_ago);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->policy, "srtf");
  EXPECT_EQ(choice->why,
            "mean time to the end 55.0 s with srtf instead of 100.0 s with fifo, less in 2 of 2 futures of 3 jobs");
}

TEST(Choice, the_one_that_acts_stays_unless_enough_is_saved) {
  EXPECT_FALSE(choose({trial("fifo", {100}), trial("sjf", {96})}, {.gain = 0.05}, asked, long_ago));
  EXPECT_TRUE(choose({trial("fifo", {100}), trial("sjf", {94})}, {.gain = 0.05}, asked, long_ago));
  EXPECT_FALSE(choose({trial("fifo", {100}), trial("sjf", {100})}, {.gain = 0}, asked, long_ago));
}

TEST(Choice, a_gain_in_few_futures_is_luck) {
  const auto trials = [](double fourth) {
    return std::vector<Trial>{trial("fifo", {100, 100, 100, 100}), trial("sjf", {10, 10, 101, fourth})};
  };
  EXPECT_FALSE(choose(trials(101), {}, asked, long_ago));
  EXPECT_TRUE(choose(trials(99), {}, asked, long_ago));
}

TEST(Choice, no_change_comes_soon_after_another) {
  const ChoiceRules rules{.hold = Duration::whole_seconds(900)};
  const std::vector<Trial> trials = {trial("fifo", {100}), trial("sjf", {50})};
  EXPECT_FALSE(choose(trials, rules, asked, asked - Duration::whole_seconds(899)));
  EXPECT_TRUE(choose(trials, rules, asked, asked - Duration::whole_seconds(900)));
}

TEST(Choice, follows_the_objective) {
  const std::vector<Trial> trials = {trial("fifo", {100}), trial("sjf", {50})};  // sjf ends last
  EXPECT_FALSE(choose(trials, {.objective = Objective::makespan}, asked, long_ago));
}

std::vector<Trial> missing(double fifo, double sjf) {
  std::vector<Trial> trials = {trial("fifo", {100}), trial("sjf", {100})};
  trials[0].costs.front().late = fifo, trials[1].costs.front().late = sjf;
  return trials;
}

TEST(Choice, by_deadlines_anything_saved_counts) {
  const ChoiceRules rules{.objective = Objective::deadlines, .gain = 0.02};
  EXPECT_TRUE(choose(missing(0.501, 0.5), rules, asked, long_ago));
  EXPECT_FALSE(choose(missing(0.5, 0.5), rules, asked, long_ago));
}

TEST(Choice, by_deadlines_says_that_it_looked_back) {
  const auto choice = choose(missing(20, 10), {.objective = Objective::deadlines}, asked, long_ago);
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->why.starts_with("missed deadlines, looking back, 10.00 with sjf instead of 20.00 with fifo"));
}

TEST(PastCosts, of_each_window_count_half_as_much_as_those_of_the_one_after_it) {
  PastCosts past;
  past.window_began();
  auto trials = missing(1, 1);
  past.add_to(trials);  // not the latest of its window
  for (const auto& [fifo, sjf] : {std::pair(40.0, 8.0), std::pair(4.0, 8.0)}) {
    trials = missing(fifo, sjf);
    past.add_to(trials);
    past.window_began();
  }
  trials = missing(1, 2);
  past.add_to(trials);
  EXPECT_DOUBLE_EQ(trials[0].costs.front().late, 1 + 4.0 / 2 + 40.0 / 4);
  EXPECT_DOUBLE_EQ(trials[1].costs.front().late, 2 + 8.0 / 2 + 8.0 / 4);
}

TEST(Choice, who_failed_does_not_count) {
  Trial failed = trial("mine.py", {1});
  failed.failure = invalid("policy-failed", "line 3");
  EXPECT_FALSE(choose({trial("fifo", {100}), failed}, {}, asked, long_ago));
  failed.name = "fifo";
  EXPECT_FALSE(choose({failed, trial("sjf", {50})}, {}, asked, long_ago));
  EXPECT_FALSE(choose({}, {}, asked, long_ago));
}

TEST(Objective, has_a_name_that_is_read_again) {
  for (const Objective objective :
       {Objective::mean_jct, Objective::makespan, Objective::deadlines, Objective::fairness})
    EXPECT_EQ(parse_objective(to_string(objective)), objective);
  EXPECT_FALSE(parse_objective("speed"));
}

}  // namespace
}  // namespace sl::forecast
