#include "base/statistics.h"

#include <gtest/gtest.h>

namespace sl {
namespace {

TEST(Statistics, the_interval_of_a_mean_is_by_student_s_t) {
  const Estimate five = estimate({1, 2, 3, 4, 5});
  EXPECT_EQ(five.mean, 3);
  EXPECT_NEAR(five.half_width, 1.963, 1e-3);  // 2.776 * sqrt(2.5 / 5)
  EXPECT_DOUBLE_EQ(five.high - five.low, 2 * five.half_width);
  EXPECT_EQ(five.count, 5u);
}

TEST(Statistics, one_value_has_no_width_and_none_has_no_figures) {
  EXPECT_EQ(estimate({7}).low, 7);
  EXPECT_EQ(estimate({7}).high, 7);
  EXPECT_EQ(estimate({}).count, 0u);
  EXPECT_EQ(estimate({}).mean, 0);
}

TEST(Statistics, a_paired_change_is_the_mean_of_each_pair_s) {
  const Estimate change = paired_change_pct({100, 200, 0}, {110, 220, 5});
  EXPECT_NEAR(change.mean, 10, 1e-9);
  EXPECT_NEAR(change.half_width, 0, 1e-9);
  EXPECT_EQ(change.count, 2u);
}

TEST(Statistics, percentiles_are_by_nearest_rank) {
  const std::vector<double> sorted = {10, 20, 30, 40};
  EXPECT_EQ(percentile(sorted, 0), 10);
  EXPECT_EQ(percentile(sorted, 0.5), 20);
  EXPECT_EQ(percentile(sorted, 0.51), 30);
  EXPECT_EQ(percentile(sorted, 1), 40);
}

}  // namespace
}  // namespace sl
