// Threads for work that may take long: disks and networks of others. They end with their owner, whose destructor waits
// for them; so the work must look whether it is to stop.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <utility>

namespace sl::agent {

class Threads {
 public:
  ~Threads() {
    stop_ = true;
    for (One& one : all_) one.thread.join();
  }
  const std::atomic<bool>& stop() const { return stop_; }

  // Also lets go of those that have ended.
  void run(std::function<void()> work) {
    std::erase_if(all_, [](One& one) { return one.is_over->load() && (one.thread.join(), true); });
    auto is_over = std::make_shared<std::atomic<bool>>(false);
    std::thread thread([is_over, work = std::move(work)] {
      work();
      *is_over = true;
    });
    all_.push_back({std::move(thread), std::move(is_over)});
  }

 private:
  struct One {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> is_over;
  };
  std::list<One> all_;
  std::atomic<bool> stop_ = false;
};

}  // namespace sl::agent
