// An answer that goes over a WebSocket, as text frames: what the rest of the controller writes as a streamed body.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "net/http_server.h"
#include "net/websocket.h"

namespace sl::controller {

class SocketStream : public net::Reply, public net::Stream, public std::enable_shared_from_this<SocketStream> {
 public:
  // On the loop's thread, before its next turn. It keeps `place` until it has gone.
  static std::shared_ptr<SocketStream> over(net::EventLoop& loop, std::shared_ptr<net::WebSocket> socket,
                                            std::shared_ptr<void> place);

  // A refusal: its reason is all that can be said.
  void send(net::Response response) override;
  std::shared_ptr<net::Stream> stream(net::Response head) override;
  void write(std::string chunk) override;
  void close() override;
  bool closed() const override { return is_closed_; }
  std::size_t unsent_bytes() const override { return socket_->unsent_bytes(); }
  void on_drain(std::function<void()> work) override;

 private:
  SocketStream(net::EventLoop& loop, std::shared_ptr<net::WebSocket> socket, std::shared_ptr<void> place)
      : loop_(loop), socket_(std::move(socket)), place_(std::move(place)) {}
  void look_again(std::function<void()> work);

  net::EventLoop& loop_;
  std::shared_ptr<net::WebSocket> socket_;
  std::shared_ptr<void> place_;
  std::atomic<bool> is_closed_ = false;
};

}  // namespace sl::controller
