// Future events, earliest first: a radix heap, which relies on time only moving forward. An event lies in the bucket of
// the first digit in which its time differs from the last time taken; when a bucket's turn comes, its events move to
// the buckets of lower digits. So each event is written a few times, sequentially, instead of sinking through the cache
// misses of one large heap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"

namespace sl::sim {

// T: an event with an Instant `at`, and `>`, which compares that first. Events earlier than one already taken are also
// returned in order, but slowly if there are many.
template <typename T>
class EventQueue {
 public:
  bool empty() const { return due_.empty() && levels_ == 0; }
  const T& top() const { return due_.empty() ? first().least : due_.front(); }

  void push(const T& event) {
    if (event.at > reached_) return put(event);
    due_.push_back(event);
    std::push_heap(due_.begin(), due_.end(), std::greater<>());
  }

  void pop() {
    if (!due_.empty()) {
      std::pop_heap(due_.begin(), due_.end(), std::greater<>());
      return due_.pop_back();
    }
    const int level = std::countr_zero(levels_), digit = std::countr_zero(filled_[static_cast<std::size_t>(level)]);
    Bucket& bucket = at(level, digit);
    reached_ = bucket.least.at;
    if ((filled_[static_cast<std::size_t>(level)] &= ~(1ULL << digit)) == 0) levels_ &= ~(1U << level);
    for (const T& event : bucket.others) push(event);  // into buckets of lower digits
    bucket.others.size() > most_kept ? std::vector<T>().swap(bucket.others) : bucket.others.clear();
  }

 private:
  static constexpr int digit_bits = 6;  // so that one word tells which buckets of a level are filled
  static constexpr std::size_t digits = std::size_t{1} << digit_bits;
  static constexpr std::size_t levels = (64 + digit_bits - 1) / digit_bits;
  static constexpr std::size_t most_kept = 256;  // an emptied bucket keeps memory for this many events

  struct Bucket {
    T least{};
    std::vector<T> others;
  };

  Bucket& at(int level, int digit) {
    return buckets_[static_cast<std::size_t>(level) * digits + static_cast<std::size_t>(digit)];
  }
  const Bucket& first() const {
    const auto level = static_cast<std::size_t>(std::countr_zero(levels_));
    return buckets_[level * digits + static_cast<std::size_t>(std::countr_zero(filled_[level]))];
  }

  void put(T event) {
    const auto time = static_cast<std::uint64_t>(event.at.us), last = static_cast<std::uint64_t>(reached_.us);
    const int level = static_cast<int>(std::bit_width(time ^ last) - 1) / digit_bits;
    const int digit = static_cast<int>(time >> (level * digit_bits) & (digits - 1));
    Bucket& bucket = at(level, digit);
    std::uint64_t& filled = filled_[static_cast<std::size_t>(level)];
    if ((filled >> digit & 1) == 0) {
      filled |= 1ULL << digit;
      levels_ |= 1U << level;
      bucket.least = event;
      return;
    }
    if (bucket.least > event) std::swap(bucket.least, event);
    bucket.others.push_back(event);
  }

  std::vector<Bucket> buckets_ = std::vector<Bucket>(levels * digits);  // of level 0, then of level 1, ...
  std::array<std::uint64_t, levels> filled_{};                          // by level: the buckets that hold events
  std::uint32_t levels_ = 0;                                            // the levels that have such buckets
  Instant reached_{0};                                                  // the latest time taken
  std::vector<T> due_;  // a heap of the events that are no later; all others are in buckets
};

}  // namespace sl::sim
