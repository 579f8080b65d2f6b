// What only the start of a daemon needs.
#pragma once

#include <memory>

#include "net/event_loop.h"

namespace sl::app {

// A while after the start, takes the pages of the program and its libraries out of this process that are on disk as they
// are, so that it holds those that it goes on using, which come back from the page cache one by one: reading options,
// starting up and the other roles have touched more than half of what a daemon that waits would hold otherwise. To be
// kept as long as the loop runs.
std::shared_ptr<net::EventLoop::Timer> release_start_pages(net::EventLoop& loop);

}  // namespace sl::app
