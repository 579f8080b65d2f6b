// How well the end of a training is predicted from the fall of its loss, on two kinds of real curves: 480 trainings of
// small models (examples/loss_curves.py), half of which nothing was chosen on, and the learning curves that were measured
// for Pollux (trace/published_profiles.h), one for each kind of training, each with several target losses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "estimate/convergence.h"
#include "estimate/epochs_left.h"
#include "estimate/losses.h"
#include "study/loss_scores.h"
#include "trace/profiles.h"

namespace sl::study {
namespace {

constexpr double no_answer = std::numeric_limits<double>::infinity();

struct Question {
  std::vector<double> seen;
  double target;
  double left;    // epochs, in truth
  double epochs;  // of the whole training
  double stated;  // epochs that its user states: as many as were measured
};

// Trainings that end at any loss lower than all before it, from 30 % of the measured epochs on, when `part` of each was
// seen.
std::vector<Question> questions(double part) {
  std::vector<Question> all;
  for (const auto& [family, profile] : trace::published_profiles()) {
    if (!profile->loss || profile->loss->by_epoch.empty()) continue;
    const std::vector<double>& losses = profile->loss->by_epoch;
    double least = no_answer;
    for (auto at = losses.begin(); at != losses.end(); ++at) {
      const double epochs = static_cast<double>(at - losses.begin()) + 1;
      if (*at >= std::exchange(least, std::min(least, *at)) || epochs < .3 * static_cast<double>(losses.size()))
        continue;
      const auto seen = static_cast<std::ptrdiff_t>(part * epochs);
      if (seen < 3) continue;
      all.push_back({{losses.begin(), losses.begin() + seen},
                     *at,
                     epochs - static_cast<double>(seen),
                     epochs,
                     static_cast<double>(losses.size())});
    }
  }
  return all;
}

using Predict = double (*)(const Question&);  // epochs left

double by_all_forms(const Question& q) {
  const EpochsLeft left = epochs_left(q.seen, q.target);
  return left.epochs.value_or(no_answer);
}
double by_the_form_of_optimus(const Question& q) {
  const auto curve = fit_convergence(clean_losses(q.seen));
  const auto at = curve ? curve->epoch_of(q.target) : std::nullopt;
  return at ? std::max(1.0, *at - static_cast<double>(q.seen.size())) : no_answer;
}
double by_stated_epochs(const Question& q) { return q.stated - static_cast<double>(q.seen.size()); }

// Relative to the whole training.
double median_error(double part, Predict predict) {
  std::vector<double> errors;
  for (const Question& q : questions(part)) errors.push_back(std::abs(predict(q) - q.left) / q.epochs);
  std::sort(errors.begin(), errors.end());
  return errors.at(errors.size() / 2);
}

TEST(LossEstimates, of_measured_trainings_are_better_than_what_users_state_from_the_middle_on) {
  EXPECT_GE(questions(.5).size(), 70U);
  for (const double part : {.5, .6, .7, .8}) {
    const double error = median_error(part, by_all_forms);
    EXPECT_LT(error, .8 * median_error(part, by_stated_epochs)) << part;
    EXPECT_LT(error, 1.01 * median_error(part, by_the_form_of_optimus)) << part;
    EXPECT_LT(error, .33) << part;
  }
  EXPECT_LT(median_error(.8, by_all_forms), .2);
}

TEST(LossEstimates, come_with_a_range_that_covers_most_of_the_truth) {
  for (const double part : {.4, .6, .8}) {
    const auto all = questions(part);
    const auto covered = std::ranges::count_if(all, [](const Question& q) {
      const EpochsLeft left = epochs_left(q.seen, q.target);
      return left.low <= q.left && q.left <= left.high;
    });
    EXPECT_GT(static_cast<double>(covered), .55 * static_cast<double>(all.size())) << part;
  }
}

const std::string curves_file = SCHEDULEARN_FIXTURES "/loss_curves.csv";

std::vector<LossTraining> half_of_the_curves(const std::string& half) {
  auto all = read_loss_trainings(curves_file);
  EXPECT_TRUE(all.ok());
  std::erase_if(*all, [&](const LossTraining& training) { return training.half != half; });
  return *all;
}

TEST(LossScores, are_of_trainings_and_models_on_which_nothing_was_chosen) {
  const auto fit = half_of_the_curves("fit"), judge = half_of_the_curves("judge");
  EXPECT_EQ(fit.size(), 240U);
  EXPECT_EQ(judge.size(), 240U);
  std::set<std::string> chosen_on;
  for (const LossTraining& training : fit) chosen_on.insert(training.model);
  EXPECT_EQ(chosen_on.size(), 20U);
  for (const LossTraining& training : judge) EXPECT_FALSE(chosen_on.contains(training.model)) << training.model;
}

// docs/guide/estimates.md states the figures.
TEST(LossScores, beat_both_yardsticks_and_their_ranges_hold_80_percent_of_the_truth) {
  for (const std::string half : {"fit", "judge"}) {
    const auto tables = score_losses(half_of_the_curves(half), {.4, .6});
    ASSERT_EQ(tables.size(), 2U);
    for (const ScoreTable& table : tables) {
      for (const std::string when : {"after 40 %", "after 60 %"}) {
        SCOPED_TRACE(half + ", " + table.title + ", " + when);
        const Score& ours = table.score(when, weighed_forms);
        EXPECT_GE(ours.questions, 230U);
        EXPECT_LT(ours.error, .95 * table.score(when, single_form).error);
        EXPECT_LT(ours.error, .8 * table.score(when, line_through_half).error);
        EXPECT_GE(*ours.covers, .75);
        EXPECT_LE(*ours.covers, .85);
        EXPECT_LE(ours.unanswered, ours.questions / 50);
      }
    }
  }
}

TEST(LossScores, read_files_of_users_and_say_what_is_wrong_with_them) {
  const std::string path = testing::TempDir() + "losses.csv";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_loss_trainings(path);
  };
  const auto plain = read("name,losses\nx,3|2|1.5\n");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->front().losses, (std::vector<double>{3, 2, 1.5}));
  EXPECT_EQ(read("name\nx\n").error().code, "no-column");
  EXPECT_EQ(read("name,size\nx,1\n").error().notes.at(0), "its columns are name, size");
  EXPECT_EQ(read("").error().code, "no-column");
  for (const std::string bad : {"3|2|", "3|x", "0|1", "3||1", "nan|1", ""})
    EXPECT_EQ(read("losses,model\n" + bad + ",m\n").error().code, "bad-losses") << bad;
  std::filesystem::remove(path);
}

TEST(LossScores, of_a_training_that_keeps_its_form_are_exact) {
  LossTraining training{"m", "", {}};
  for (int k = 1; k <= 50; ++k) training.losses.push_back(2 * std::pow(k, -.5) + .3);
  const auto tables = score_losses({training}, {.5});
  for (const ScoreTable& table : tables) {
    EXPECT_LT(table.rows.front().score.error, .03) << table.title;
    EXPECT_EQ(table.rows.front().score.questions, 1U);
  }
}

}  // namespace
}  // namespace sl::study
