// One thread's event loop, which runs the sockets, timers and signals of this folder. Only net/ includes Asio.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"

namespace sl::net {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs until stop() is called; returns immediately if it already was.
  void run();
  // Any thread.
  void stop();
  // Any thread: runs `work` on the loop's thread, in the order of the calls.
  void post(std::function<void()> work);
  // Loop thread only: runs `work` once after `delay`. Destroying the handle cancels it.
  class Timer;
  std::shared_ptr<Timer> after(Duration delay, std::function<void()> work);
  // Loop thread only: calls `work(signal)` each time one of `signals` arrives, instead of the default action.
  void on_signals(std::vector<int> signals, std::function<void(int)> work);
  // Loop thread only: calls `work` whenever `fd` is readable, until the handle is destroyed. The caller still owns the
  // fd.
  class Watch;
  std::shared_ptr<Watch> on_readable(int fd, std::function<void()> work);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sl::net
