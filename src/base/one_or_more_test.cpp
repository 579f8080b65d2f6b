#include "base/one_or_more.h"

#include <gtest/gtest.h>

namespace sl {
namespace {

std::vector<int> listed(const OneOrMore<int>& list) { return {list.items().begin(), list.items().end()}; }

OneOrMore<int> of(const std::vector<int>& items) {
  OneOrMore<int> list;
  for (const int item : items) list.insert(list.items().size(), item);
  return list;
}

TEST(OneOrMore, holds_items_in_the_order_they_were_put_in) {
  OneOrMore<int> list;
  EXPECT_TRUE(list.empty());
  list.insert(0, 5);
  EXPECT_EQ(listed(list), (std::vector{5}));
  list.insert(0, 3);
  list.insert(2, 9);
  list.insert(1, 4);
  EXPECT_EQ(listed(list), (std::vector{3, 4, 5, 9}));
  list.items()[1] = 7;
  EXPECT_EQ(listed(list), (std::vector{3, 7, 5, 9}));
}

TEST(OneOrMore, comes_back_in_place_when_all_but_one_have_gone) {
  OneOrMore<int> list = of({1, 2, 3});
  list.erase(1);
  list.erase(0);
  EXPECT_EQ(list, of({3}));
  list.erase(0);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list, OneOrMore<int>());
}

TEST(OneOrMore, copies_are_apart_and_what_was_moved_from_is_empty) {
  for (const std::vector<int>& items : {std::vector<int>{}, {1}, {1, 2}}) {
    OneOrMore<int> list = of(items);
    OneOrMore<int> copy = list;
    EXPECT_EQ(copy, list);
    copy.insert(0, 8);
    EXPECT_NE(copy, list);
    EXPECT_EQ(listed(list), items);
    const OneOrMore<int> moved = std::move(list);
    EXPECT_EQ(listed(moved), items);
    EXPECT_TRUE(list.empty());
    list = of({4, 5});
    list = moved;
    EXPECT_EQ(listed(list), items);
  }
}

}  // namespace
}  // namespace sl
