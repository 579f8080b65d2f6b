#include "notify/delivery_queue.h"

#include <gtest/gtest.h>

namespace sl::notify {
namespace {

constexpr Instant begin{1'000'000'000};

store::DeliveryRow row(const std::string& id, const std::string& channel = "team", Instant due = begin) {
  store::DeliveryRow made{.id = id, .made_us = begin.us, .next_us = due.us};
  made.owner = "mei", made.channel = channel, made.event = "failed", made.state = "waiting";
  return made;
}

store::DeliveryRow test_row(const std::string& id, const std::string& channel = "team") {
  auto made = row(id, channel);
  made.event = "test";
  return made;
}

const courier::Outcome accepted{.is_delivered = true, .status = 200}, refused{.status = 500, .why = "it answered 500"};

std::string ids(const std::vector<store::DeliveryRow>& rows) {
  std::string text;
  for (const auto& each : rows) text += each.id;
  return text;
}

double pause_s(const store::DeliveryRow& tried, Instant now) { return (Instant{tried.next_us} - now).to_seconds(); }

TEST(DeliveryQueue, what_arrived_is_over) {
  DeliveryQueue queue;
  queue.add(row("a"));
  EXPECT_EQ(queue.open_for("mei", "team"), 1U);
  EXPECT_EQ(ids(queue.take_due(begin)), "a");
  EXPECT_EQ(ids(queue.take_due(begin)), "") << "it is under way";
  const auto over = queue.settle("a", accepted, begin);
  EXPECT_EQ(over.state, "delivered");
  EXPECT_EQ(over.next_us, 0);
  EXPECT_EQ(over.tries, 1);
  EXPECT_EQ(queue.open_for("mei", "team"), 0U);
  EXPECT_TRUE(queue.next_due().is_never());
}

TEST(DeliveryQueue, whose_receivers_hang_leaves_room_for_others) {
  DeliveryQueue queue;
  const auto under_way = [&](const std::string& owner) {
    for (std::size_t i = 0; i < under_way_max; ++i) {
      auto hangs = row(owner + std::to_string(i), "hook" + std::to_string(i));
      hangs.owner = owner;
      queue.add(std::move(hangs));
    }
    return queue.take_due(begin).size();
  };
  const std::size_t places = under_way_max - tests_under_way_max;
  EXPECT_EQ(under_way("bob"), places / 2);
  EXPECT_EQ(under_way("eve"), places / 4);
  queue.add(row("a"));
  EXPECT_EQ(ids(queue.take_due(begin)), "a");
}

TEST(DeliveryQueue, what_failed_is_tried_again_less_and_less_often_for_a_day) {
  DeliveryQueue queue;
  queue.add(row("a"));
  Instant now = begin;
  std::vector<double> pauses;
  store::DeliveryRow tried;
  while (tried.state != "failed" && pauses.size() < 100) {
    ASSERT_EQ(ids(queue.take_due(now)), "a");
    tried = queue.settle("a", refused, now);
    if (tried.state == "failed") break;
    pauses.push_back(pause_s(tried, now));
    EXPECT_EQ(ids(queue.take_due(now)), "");
    now = queue.next_due();
  }
  EXPECT_EQ(std::vector<double>(pauses.begin(), pauses.begin() + 4), (std::vector<double>{5, 10, 20, 40}));
  EXPECT_EQ(pauses.back(), 3600);
  EXPECT_NEAR((now - begin).to_seconds(), 24 * 3600, 3600);
  EXPECT_EQ(tried.next_us, 0);
  EXPECT_EQ(tried.why, "it answered 500");
}

TEST(DeliveryQueue, a_receiver_says_how_long_to_wait_within_limits) {
  DeliveryQueue queue;
  queue.add(row("a"));
  queue.take_due(begin);
  EXPECT_EQ(pause_s(queue.settle("a", {.status = 503, .wait_s = 60}, begin), begin), 60);
  queue.take_due(queue.next_due());
  EXPECT_EQ(pause_s(queue.settle("a", {.status = 503, .wait_s = 1'000'000}, begin), begin), 3600);
}

TEST(DeliveryQueue, one_of_a_channel_is_under_way_at_a_time) {
  DeliveryQueue queue;
  for (const char* id : {"a", "b"}) queue.add(row(id));
  queue.add(row("c", "other"));
  EXPECT_EQ(ids(queue.take_due(begin)), "ac");
  EXPECT_TRUE(queue.next_due().is_never()) << "b waits for a";
  queue.settle("a", refused, begin);
  EXPECT_EQ(queue.next_due(), begin);
  EXPECT_EQ(ids(queue.take_due(begin)), "b") << "a has its pause";
}

TEST(DeliveryQueue, not_too_many_are_under_way) {
  DeliveryQueue queue;
  for (std::size_t i = 0; i < under_way_max + 5; ++i) queue.add(row(std::to_string(i), "c" + std::to_string(i)));
  EXPECT_EQ(queue.take_due(begin).size(), (under_way_max - tests_under_way_max) / 2) << "of one owner";
}

TEST(DeliveryQueue, tests_are_not_too_many_either_and_hold_up_no_messages) {
  DeliveryQueue queue;
  for (std::size_t i = 0; i < under_way_max; ++i) queue.add(test_row("t" + std::to_string(i), "c" + std::to_string(i)));
  EXPECT_EQ(queue.take_due(begin).size(), tests_under_way_max / 2);
  EXPECT_TRUE(queue.next_due().is_never()) << "the others wait for their ends";
  for (std::size_t i = 0; i < under_way_max; ++i) queue.add(row(std::to_string(i), "c" + std::to_string(i)));
  EXPECT_EQ(queue.take_due(begin).size(), (under_way_max - tests_under_way_max) / 2);
}

TEST(DeliveryQueue, one_test_of_a_channel_is_under_way_at_a_time) {
  DeliveryQueue queue;
  for (const char* id : {"t", "u"}) queue.add(test_row(id));
  EXPECT_EQ(ids(queue.take_due(begin)), "t");
  EXPECT_EQ(ids(queue.take_due(begin)), "");
  EXPECT_EQ(queue.settle("t", refused, begin).state, "failed");
  EXPECT_EQ(ids(queue.take_due(begin)), "u");
}

TEST(DeliveryQueue, a_test_goes_at_once_and_only_once) {
  DeliveryQueue queue;
  queue.add(row("a"));
  queue.take_due(begin);
  queue.add(test_row("t"));
  EXPECT_EQ(ids(queue.take_due(begin)), "t") << "although a is under way";
  EXPECT_EQ(queue.settle("t", refused, begin).state, "failed");
  queue.add(row("b"));
  EXPECT_EQ(ids(queue.take_due(begin)), "") << "a is still under way";
}

TEST(DeliveryQueue, what_waits_for_a_channel_that_was_removed_is_over_although_another_has_its_name) {
  DeliveryQueue queue;
  queue.add(row("a")), queue.add(row("b", "other"));
  queue.take_due(begin);
  ASSERT_EQ(queue.settle("a", refused, begin).state, "waiting");
  queue.add(row("c"));
  ASSERT_EQ(ids(queue.take_due(begin)), "c");
  queue.orphan("mei", "team", begin);
  EXPECT_EQ(queue.settle("c", refused, begin).state, "failed") << "it was under way";
  queue.add(row("d", "team", begin + Duration{1}));
  EXPECT_EQ(ids(queue.take_due(begin)), "a") << "at once, to be told";
  EXPECT_TRUE(queue.is_orphan("a"));
  EXPECT_FALSE(queue.is_orphan("b"));
  EXPECT_EQ(queue.settle("a", refused, begin).state, "failed");
  EXPECT_EQ(ids(queue.take_due(begin + Duration{1})), "d");
  EXPECT_FALSE(queue.is_orphan("d")) << "it is for the new one";
}

TEST(DeliveryQueue, what_may_not_be_sent_there_is_not_tried_again) {
  DeliveryQueue queue;
  queue.add(row("a"));
  queue.take_due(begin);
  EXPECT_EQ(queue.settle("a", {.why = "not allowed", .is_refused_here = true}, begin).state, "failed");
}

}  // namespace
}  // namespace sl::notify
