#include "sim/event_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <queue>

namespace sl::sim {
namespace {

struct Event {
  Instant at;
  int number = 0;
  friend bool operator>(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }
};

// Compared with a heap: the same events in the same order, at any distance, with ties, and some in the past.
RC_GTEST_PROP(EventQueue, gives_what_a_heap_gives, ()) {
  EventQueue<Event> queue;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> heap;
  std::int64_t now = 0;
  const int steps = *rc::gen::inRange(1, 4000);
  for (int i = 0; i < steps; ++i) {
    if (heap.empty() || *rc::gen::inRange(0, 5) < 3) {
      const int bits = *rc::gen::element(0, 3, 12, 31, 50);
      const std::int64_t ahead = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << bits);
      const bool past = *rc::gen::inRange(0, 20) == 0;
      const Event event{Instant{past ? now - ahead : now + ahead}, i % 7};
      queue.push(event);
      heap.push(event);
    } else {
      now = std::max(now, heap.top().at.us);
      heap.pop();
      queue.pop();
    }
    RC_ASSERT(queue.empty() == heap.empty());
    if (heap.empty()) continue;
    RC_ASSERT(queue.top().at == heap.top().at);
    RC_ASSERT(queue.top().number == heap.top().number);
  }
}

TEST(EventQueue, orders_what_never_comes_last) {
  EventQueue<Event> queue;
  queue.push({Instant::never(), 1});
  queue.push({Instant{5}, 2});
  queue.push({Instant{-5}, 3});
  for (const int number : {3, 2, 1}) {
    EXPECT_EQ(queue.top().number, number);
    queue.pop();
  }
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace sl::sim
