// One WebSocket over Beast, either end; included only by the two files that make them.
#pragma once

#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>

#include "net/websocket.h"

namespace sl::net {

// A connected socket with timeouts, over TCP or a Unix socket.
using SocketStream = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;

inline constexpr std::size_t websocket_message_bytes_max = 16 << 20;

class BeastWebSocket : public WebSocket, public std::enable_shared_from_this<BeastWebSocket> {
 public:
  using Inner = boost::beast::websocket::stream<SocketStream>;
  explicit BeastWebSocket(SocketStream&& stream) : socket_(std::move(stream)) {}

  void send(std::string text) override { post({std::move(text), false}); }
  void send_binary(std::string bytes) override { post({std::move(bytes), true}); }
  void close(std::string reason) override {
    boost::asio::post(socket_.get_executor(),
                      [self = shared_from_this(), reason = std::move(reason)] { self->start_close(reason); });
  }
  std::size_t unsent_bytes() const override { return unsent_; }
  void set_callbacks(Callbacks callbacks) override { callbacks_ = std::move(callbacks); }
  void pause(bool paused) override {
    is_paused_ = paused;
    if (!paused && open_ && !closed_ && !is_reading_) read();
  }

  // After the handshake, on the loop thread.
  void begin() {
    open_ = true;
    socket_.read_message_max(websocket_message_bytes_max);
    if (!is_paused_) read();
    if (!writing_ && !queue_.empty()) return write();
    if (closing_ && !writing_) finish_close();
  }
  // The handshake failed, or the peer has gone.
  void fail(const std::string& why) {
    if (closed_) return;
    closed_ = true;
    open_ = false;
    queue_.clear();
    boost::system::error_code ignored;
    boost::beast::get_lowest_layer(socket_).socket().close(ignored);
    if (callbacks_.on_close) std::exchange(callbacks_, {}).on_close(why);
  }
  Inner& inner() { return socket_; }

  static void set_timeouts(Inner& socket, boost::beast::role_type role) {
    auto timeouts = boost::beast::websocket::stream_base::timeout::suggested(role);
    timeouts.handshake_timeout = std::chrono::seconds(10);
    timeouts.idle_timeout = std::chrono::seconds(30);
    timeouts.keep_alive_pings = true;
    socket.set_option(timeouts);
  }

 private:
  struct Message {
    std::string bytes;
    bool is_binary = false;
  };
  void post(Message message) {
    unsent_ += message.bytes.size();
    boost::asio::post(socket_.get_executor(), [self = shared_from_this(), message = std::move(message)]() mutable {
      self->queue(std::move(message));
    });
  }
  void queue(Message message) {
    if (closed_) return;
    queue_.push_back(std::move(message));
    if (open_ && !writing_) write();
  }
  void write() {
    writing_ = true;
    socket_.binary(queue_.front().is_binary);
    socket_.async_write(
        boost::asio::buffer(queue_.front().bytes),
        [self = shared_from_this()](boost::system::error_code error, std::size_t) { self->written(error); });
  }
  void written(boost::system::error_code error) {
    writing_ = false;
    if (error || closed_) return fail(why_over(error));
    unsent_ -= queue_.front().bytes.size();
    queue_.pop_front();
    if (!queue_.empty()) return write();
    if (closing_) return finish_close();
    if (callbacks_.on_drain) callbacks_.on_drain();
  }
  // What the other end has said, else what has happened.
  std::string why_over(boost::system::error_code error) const {
    return socket_.reason() ? std::string(socket_.reason().reason.c_str()) : error.message();
  }
  void read() {
    is_reading_ = true;
    socket_.async_read(
        buffer_, [self = shared_from_this()](boost::system::error_code error, std::size_t) { self->received(error); });
  }
  void received(boost::system::error_code error) {
    is_reading_ = false;
    if (error) return fail(why_over(error));
    std::string text = boost::beast::buffers_to_string(buffer_.data());
    buffer_.consume(buffer_.size());
    const auto& on_message =
        socket_.got_binary() && callbacks_.on_binary ? callbacks_.on_binary : callbacks_.on_message;
    if (on_message) on_message(std::move(text));
    if (!closed_ && !is_paused_ && !is_reading_) read();
  }
  void start_close(const std::string& reason) {
    if (closed_ || closing_) return;
    closing_ = true;
    reason_ = reason.substr(0, 120);
    if (open_ && !writing_) finish_close();  // else once it is open and the queue is empty
  }
  void finish_close() {
    const boost::beast::websocket::close_reason reason(boost::beast::websocket::close_code::normal, reason_);
    socket_.async_close(reason, [self = shared_from_this()](boost::system::error_code) { self->fail(self->reason_); });
  }

  Inner socket_;
  Callbacks callbacks_;
  boost::beast::flat_buffer buffer_;
  std::deque<Message> queue_;
  std::atomic<std::size_t> unsent_{0};
  bool open_ = false;
  bool closed_ = false;
  bool closing_ = false;
  bool writing_ = false;
  bool is_paused_ = false, is_reading_ = false;
  std::string reason_;
};

}  // namespace sl::net
