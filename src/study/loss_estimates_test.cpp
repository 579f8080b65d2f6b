// How well the end of a training is predicted from the fall of its loss, on the learning curves that were measured for
// Pollux (trace/published_profiles.h): one for each kind of training, each with several target losses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "estimate/convergence.h"
#include "estimate/epochs_left.h"
#include "estimate/losses.h"
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
    EXPECT_LT(error, median_error(part - .1, by_all_forms)) << part;
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

}  // namespace
}  // namespace sl::study
