// Work for one thread, in order of arrival. Any thread may put work in.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace sl::controller {

class Inbox {
 public:
  void put(std::function<void()> input) {
    {
      const std::lock_guard lock(mutex_);
      inputs_.push_back(std::move(input));
    }
    changed_.notify_one();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
  }
  // Takes all inputs at hand; waits until there is one, or for `wait_max`. False once stopped and empty.
  bool take(std::deque<std::function<void()>>& inputs, std::chrono::microseconds wait_max) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait_max, [this] { return stopping_ || !inputs_.empty(); });
    inputs.swap(inputs_);
    return !(stopping_ && inputs.empty());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> inputs_;
  bool stopping_ = false;
};

}  // namespace sl::controller
