// The Asio side of EventLoop; included only by the .cpp files of this folder.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <list>

#include "net/event_loop.h"

namespace sl::net {

struct EventLoop::Impl {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work = boost::asio::make_work_guard(io);
  std::list<boost::asio::signal_set> signals;
};

}  // namespace sl::net
