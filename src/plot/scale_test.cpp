#include "plot/scale.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "plot/text.h"

namespace sl::plot {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Scale, ticks_stand_at_round_numbers) {
  EXPECT_EQ(labels(linear_ticks({0, 100}, 1, 6)), (Texts{"0", "20", "40", "60", "80", "100"}));
  EXPECT_EQ(labels(linear_ticks({0, 0.35}, 1, 5)), (Texts{"0.0", "0.1", "0.2", "0.3"}));
  EXPECT_EQ(labels(linear_ticks({1200, 4800}, 1, 5)), (Texts{"2,000", "3,000", "4,000"}));
}

TEST(Scale, times_are_written_in_the_unit_that_fits_the_largest) {
  EXPECT_EQ(labels(linear_ticks({0, 4 * 3600}, 3600, 5)), (Texts{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(time_unit(4 * 3600).name, "h");
  EXPECT_EQ(time_unit(90).name, "s");
}

TEST(Scale, whole_numbers_have_no_ticks_between_them) {
  EXPECT_EQ(labels(linear_ticks({1, 3}, 1, 12, true)), (Texts{"1", "2", "3"}));
}

TEST(Scale, logarithmic_ticks_of_time_are_times_people_know) {
  EXPECT_EQ(labels(log_time_ticks({1, 86400}, 9)), (Texts{"1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 d"}));
  EXPECT_EQ(labels(log_ticks({1, 1e6}, 1, 4)), (Texts{"1", "100", "10k", "1M"}));
}

TEST(Scale, round_ranges_begin_at_zero_unless_all_is_far_from_it) {
  EXPECT_EQ(round_range({3, 97}, 1, 6).low, 0);
  EXPECT_EQ(round_range({3, 97}, 1, 6).high, 100);
  EXPECT_GT(round_range({900, 1000}, 1, 6).low, 0);
  EXPECT_EQ(round_range({5, 5}, 1, 6).low, 0);
}

TEST(Scale, values_land_between_the_ends_and_logarithms_in_even_steps) {
  const Scale linear{{0, 10}, Spacing::linear, 100, 200};
  EXPECT_EQ(linear(5), 150);
  EXPECT_EQ(linear(99), 200);
  const Scale log{{1, 10000}, Spacing::logarithmic, 0, 4};
  EXPECT_NEAR(log(100), 2, 1e-9);
}

TEST(Scale, any_range_gets_at_most_the_ticks_asked_for_and_all_lie_in_it) {
  EXPECT_TRUE(rc::check([] {
    const double low = *rc::gen::inRange(-100000, 100000) / 7.0, span = *rc::gen::inRange(1, 1000000) / 13.0;
    const int most = *rc::gen::inRange(2, 15);
    const double unit_size = *rc::gen::element(1.0, 60.0, 3600.0, 86400.0);
    const std::vector<Tick> ticks = linear_ticks({low, low + span}, unit_size, most);
    RC_ASSERT(static_cast<int>(ticks.size()) <= most);
    for (const Tick& tick : ticks) RC_ASSERT(tick.value >= low - span * 1e-6 && tick.value <= low + span * (1 + 1e-6));
  }));
}

TEST(Texts, names_that_are_shortened_keep_what_they_differ_in) {
  const std::string name = "tiresias (promote_knob=0, thresholds_gpu_s=100,200)";
  const auto shown = [](const std::string& text, double width) { return shortened_name(text, size_small, width); };
  const double whole = text_width(name, size_small);
  EXPECT_EQ(shown(name, whole), name);
  EXPECT_EQ(shown(name, whole - 1), "tiresias (0, 100,200)");
  EXPECT_EQ(shown("tiresias (1,2,3,4,5,6,7,8,9)", whole / 3), "tiresias…5,6,7,8,9)");
  EXPECT_LE(text_width(shown(name, whole / 4), size_small), whole / 4);
  EXPECT_EQ(shown("äöü", 0), "");
}

}  // namespace
}  // namespace sl::plot
