// What only the start of a daemon needs.
#pragma once

#include <memory>

#include "net/event_loop.h"

namespace sl::app {

// Five seconds after the start, unmaps the code and constants of the program and its libraries. Those that the daemon goes
// on using come back by page faults, from the page cache; what only options, set-up and other roles have used does not.
// Without this an idle daemon would hold nearly twice as much. Keep the timer as long as the loop runs.
std::shared_ptr<net::EventLoop::Timer> release_start_pages(net::EventLoop& loop);

}  // namespace sl::app
