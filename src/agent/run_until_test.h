// Runs an event loop in a test until something has come true.
#pragma once

#include <functional>
#include <memory>

#include "agent/clocks.h"
#include "net/event_loop.h"

namespace sl::agent {

// For 20 s at most. A loop that was stopped stays stopped: each test runs it once.
inline void run_until(net::EventLoop& loop, const std::function<bool()>& done) {
  const Instant give_up = boot_now() + Duration::whole_seconds(20);
  std::shared_ptr<net::EventLoop::Timer> timer;
  std::function<void()> look = [&] {
    if (done() || boot_now() > give_up) return loop.stop();
    timer = loop.after(Duration::milliseconds(1), look);
  };
  look();
  loop.run();
}

}  // namespace sl::agent
