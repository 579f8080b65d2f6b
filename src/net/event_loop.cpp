#include "net/event_loop.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/event_loop_impl.h"

namespace sl::net {

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;
void EventLoop::run() { impl_->io.run(); }
void EventLoop::stop() { impl_->io.stop(); }
void EventLoop::post(std::function<void()> work) { boost::asio::post(impl_->io, std::move(work)); }

class EventLoop::Timer {
 public:
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

std::shared_ptr<EventLoop::Timer> EventLoop::after(Duration delay, std::function<void()> work) {
  auto timer = std::make_shared<Timer>(impl_->io);
  timer->timer.expires_after(std::chrono::microseconds(delay.us));
  timer->timer.async_wait(
      [weak = std::weak_ptr<Timer>(timer), work = std::move(work)](boost::system::error_code error) {
        if (!error && !weak.expired()) work();
      });
  return timer;
}

void EventLoop::on_signals(std::vector<int> signals, std::function<void(int)> work) {
  auto& set = impl_->signals.emplace_back(impl_->io);
  for (const int signal : signals) set.add(signal);
  auto wait = std::make_shared<std::function<void()>>();
  *wait = [&set, work = std::move(work), weak = std::weak_ptr(wait)] {
    set.async_wait([work, again = weak.lock()](boost::system::error_code error, int signal) {
      if (error) return;
      work(signal);
      (*again)();
    });
  };
  (*wait)();
}

class EventLoop::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(boost::asio::io_context& io, int fd, std::function<void()> work)
      : descriptor_(io, fd), work_(std::move(work)) {}
  ~Watch() { stop(); }
  // Takes effect at once, even inside the loop's own work: the fd may be closed and its number reused right after.
  void stop() {
    if (descriptor_.is_open()) descriptor_.release();
  }
  void wait() {
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                           [weak = weak_from_this()](boost::system::error_code error) {
                             const auto self = weak.lock();
                             if (error || !self) return;
                             self->work_();
                             if (self->descriptor_.is_open()) self->wait();
                           });
  }

 private:
  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> work_;
};

std::shared_ptr<EventLoop::Watch> EventLoop::on_readable(int fd, std::function<void()> work) {
  auto watch = std::make_shared<Watch>(impl_->io, fd, std::move(work));
  watch->wait();
  return std::shared_ptr<Watch>(watch.get(), [watch](Watch*) { watch->stop(); });
}

}  // namespace sl::net
