// Virtual time: future events in order of time, then of request. Deterministic.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace sl::dst {

class Heap {
 public:
  Instant now() const { return now_; }
  void at(Instant when, std::function<void()> what) { events_.push({std::max(when, now_), ++order_, std::move(what)}); }
  void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  // Runs the next event. False if there is none.
  bool step() {
    if (events_.empty()) return false;
    Item item = std::move(const_cast<Item&>(events_.top()));
    events_.pop();
    now_ = item.when;
    ++count_;
    item.what();
    return true;
  }
  std::uint64_t count() const { return count_; }

 private:
  struct Item {
    Instant when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Item& other) const {
      return when != other.when ? other.when < when : other.order < order;  // the heap's top is the earliest
    }
  };
  Instant now_ = Instant::at_seconds(1'000'000);
  std::uint64_t order_ = 0, count_ = 0;
  std::priority_queue<Item> events_;
};

}  // namespace sl::dst
