#include "controller/attempt_meter.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

constexpr std::int64_t second_us = 1'000'000;

class AttemptMeterTest : public testing::Test {
 protected:
  AttemptMeterTest() { meter.begin(1, JobId::none()); }
  AttemptMeter meter;
};

TEST_F(AttemptMeterTest, a_day_of_reports_each_second_gives_a_few_dozen_or_so_speeds_each_the_mean_of_its_window) {
  int speeds = 0;
  for (std::int64_t s = 1; s <= 86'400; ++s) {
    meter.on_count(10.0 * static_cast<double>(s), s * second_us);
    const auto measured = meter.take(s * second_us);
    if (!measured) continue;
    ++speeds;
    EXPECT_NEAR(*measured->per_s, 10, 1e-9);
  }
  EXPECT_GT(speeds, 8);
  EXPECT_LT(speeds, 160);
  EXPECT_NEAR(*meter.per_s(), 10, 1e-9);
}

TEST_F(AttemptMeterTest, a_long_epoch_is_measured_when_it_ends) {
  for (std::int64_t s = 1; s < 700; ++s) {
    if (s % 300 == 0) meter.on_count(static_cast<double>(s) / 300, s * second_us);
    const auto measured = meter.take(s * second_us);
    EXPECT_EQ(measured.has_value(), s == 600) << s;
    if (measured) {
      EXPECT_NEAR(*measured->per_s, 1 / 300.0, 1e-9);
    }
  }
}

TEST_F(AttemptMeterTest, a_count_that_falls_or_another_neighbour_begins_anew) {
  meter.on_count(100, 10 * second_us);
  meter.on_count(200, 20 * second_us);
  EXPECT_EQ(meter.per_s(), 10);
  meter.on_count(50, 30 * second_us);
  EXPECT_FALSE(meter.per_s());
  meter.on_count(50, 31 * second_us);  // a repeated count has no effect
  EXPECT_FALSE(meter.per_s());
  meter.on_count(60, 31 * second_us);
  EXPECT_EQ(meter.per_s(), 10);
  EXPECT_FALSE(meter.begin(1, JobId(7))) << "the same attempt";
  EXPECT_FALSE(meter.per_s());
  EXPECT_TRUE(meter.begin(2, JobId(7)));
}

TEST_F(AttemptMeterTest, the_load_of_the_gpus_comes_with_the_speed_or_alone_where_nothing_is_counted) {
  meter.on_gpus(60, 5);
  EXPECT_FALSE(meter.take(1 * second_us));
  meter.on_gpus(80, 9);
  const auto measured = meter.take(3 * second_us);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->gpu_utilization_pct, 70);
  EXPECT_EQ(measured->gpu_memory_used_bytes, 9);
  EXPECT_FALSE(measured->per_s);
  meter.on_count(1, 4 * second_us);
  meter.on_gpus(50, 4);
  EXPECT_FALSE(meter.take(60 * second_us)) << "it reports steps: wait for its speed";
  meter.on_count(2, 61 * second_us);
  EXPECT_EQ(meter.take(62 * second_us)->gpu_utilization_pct, 50);
}

TEST_F(AttemptMeterTest, the_start_up_ends_with_the_first_step) {
  meter.on_count(30, 13 * second_us);
  EXPECT_FALSE(meter.start_up_s(2 * second_us, 30)) << "no speed yet";
  meter.on_count(40, 14 * second_us);
  EXPECT_EQ(meter.start_up_s(2 * second_us, 30), 8);
  EXPECT_EQ(meter.start_up_s(12 * second_us, 30), 0);
}

}  // namespace
}  // namespace sl::controller
