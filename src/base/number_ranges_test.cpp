#include "base/number_ranges.h"

#include <gtest/gtest.h>

namespace sl {
namespace {

TEST(NumberRanges, are_written_and_read_alike) {
  for (const char* text : {"", "0", "0-99", "0-99,105", "3,5,7-9"}) {
    const auto set = NumberRanges::parse(text);
    ASSERT_TRUE(set.has_value()) << text;
    EXPECT_EQ(set->text(), text);
  }
  EXPECT_EQ(NumberRanges::parse("1,2,3-4")->text(), "1-4");
  EXPECT_EQ(NumberRanges::below(10'000).text(), "0-9999");
  EXPECT_TRUE(NumberRanges::below(0).empty());
}

TEST(NumberRanges, what_is_no_ascending_list_is_refused) {
  for (const char* text : {"-1", "1-", "-", "a", "3-1", "1,1", "5,3", "1,,2", "1,", ",1", "1 ", "0-9:2", "1--2",
                           "99999999999999999999", "1000000000000001"})
    EXPECT_FALSE(NumberRanges::parse(text).has_value()) << text;
}

TEST(NumberRanges, are_made_of_numbers_in_any_order) {
  EXPECT_EQ(NumberRanges::of({5, 0, 4, 2, 5, 9, 3}).text(), "0,2-5,9");
  EXPECT_TRUE(NumberRanges::of({}).empty());
}

TEST(NumberRanges, a_number_that_is_removed_leaves_the_others) {
  NumberRanges set = NumberRanges::below(6);
  set.remove(3), set.remove(0), set.remove(9), set.remove(3);
  EXPECT_EQ(set.text(), "1-2,4-5");
  EXPECT_EQ(set.count(), 4);
  EXPECT_EQ(set.first(), 1);
  EXPECT_FALSE(set.contains(3));
  EXPECT_TRUE(set.at_or_above(5));
  EXPECT_FALSE(set.at_or_above(6) || NumberRanges().at_or_above(0));
  set.remove(5), set.remove(1), set.remove(2), set.remove(4);
  EXPECT_TRUE(set.empty());
}

TEST(NumberRanges, a_number_is_found_by_its_place_and_has_one) {
  const NumberRanges set = *NumberRanges::parse("2-4,9");
  EXPECT_EQ(set.at(0), 2);
  EXPECT_EQ(set.at(3), 9);
  EXPECT_EQ(set.place_of(4), 2);
  EXPECT_EQ(set.place_of(9), 3);
  EXPECT_FALSE(set.place_of(5).has_value());
  EXPECT_FALSE(set.place_of(1).has_value());
}

}  // namespace
}  // namespace sl
