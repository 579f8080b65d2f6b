#include "controller/socket_stream.h"

#include <utility>

namespace sl::controller {
namespace {

constexpr Duration look_for_drain_every = Duration::milliseconds(50);

}  // namespace

std::shared_ptr<SocketStream> SocketStream::over(net::EventLoop& loop, std::shared_ptr<net::WebSocket> socket,
                                                 std::shared_ptr<void> place) {
  std::shared_ptr<SocketStream> made(new SocketStream(loop, std::move(socket), std::move(place)));
  made->socket_->set_callbacks({.on_message = [](const std::string&) {},  // nothing is expected
                                .on_close = [made](const std::string&) { made->is_closed_ = true; }});
  return made;
}

void SocketStream::send(net::Response response) {
  is_closed_ = true;
  socket_->close(response.status == 404 ? "not-found" : "refused");
}

std::shared_ptr<net::Stream> SocketStream::stream(net::Response head) {
  if (!head.body.empty()) write(std::move(head.body));
  return shared_from_this();
}

void SocketStream::write(std::string chunk) {
  if (!is_closed_) socket_->send(std::move(chunk));
}

void SocketStream::close() {
  if (!is_closed_.exchange(true)) socket_->close("end");
}

void SocketStream::on_drain(std::function<void()> work) {
  loop_.post([self = shared_from_this(), work = std::move(work)]() mutable { self->look_again(std::move(work)); });
}

// A WebSocket does not say when it has sent everything.
void SocketStream::look_again(std::function<void()> work) {
  if (is_closed_ || socket_->unsent_bytes() == 0) return work();
  auto timer = std::make_shared<std::shared_ptr<net::EventLoop::Timer>>();
  *timer = loop_.after(look_for_drain_every, [self = shared_from_this(), timer, work = std::move(work)]() mutable {
    const auto keep = std::exchange(*timer, nullptr);  // ends the circle
    self->look_again(std::move(work));
  });
}

}  // namespace sl::controller
