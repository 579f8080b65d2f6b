#include "net/byte_stream.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/http.hpp>
#include <vector>

#include "net/byte_stream_impl.h"
#include "net/event_loop_impl.h"
#include "net/url.h"

namespace sl::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

constexpr std::chrono::seconds time_to_connect{10};  // for a connection, and for what is said first

// A peer whose machine is gone says nothing: the kernel asks.
void keep_alive(int socket) {
  const int on = 1, idle_s = 60, interval_s = 10, tries = 3;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

class Pump : public std::enable_shared_from_this<Pump> {
 public:
  Pump(std::shared_ptr<ByteStream> one, std::shared_ptr<ByteStream> other, std::function<void()> ended)
      : one_(std::move(one)), other_(std::move(other)), ended_(std::move(ended)) {}

  void start() {
    pass(one_, other_);
    pass(other_, one_);
  }

 private:
  void pass(const std::shared_ptr<ByteStream>& from, const std::shared_ptr<ByteStream>& to) {
    from->read([self = shared_from_this(), from, to](std::string bytes) {
      if (bytes.empty()) {
        to->finish();
        return self->end_one();
      }
      to->write(std::move(bytes), [self, from, to](bool written) { written ? self->pass(from, to) : self->end(); });
    });
  }
  void end_one() {
    if (++finished_ == 2) end();
  }
  void end() {
    one_->close();
    other_->close();
    if (ended_) std::exchange(ended_, nullptr)();
  }

  std::shared_ptr<ByteStream> one_, other_;
  std::function<void()> ended_;
  int finished_ = 0;
};

// Connects to the first of some places at which something answers, and perhaps has it change over to another protocol.
class Dialling : public std::enable_shared_from_this<Dialling> {
 public:
  Dialling(EventLoop& loop, OnConnected then)
      : resolver_(loop.impl().io), socket_(loop.impl().io), then_(std::move(then)) {}

  void resolve(const Url& url, Headers headers, std::string protocol) {
    url_ = url, headers_ = std::move(headers), protocol_ = std::move(protocol);
    resolver_.async_resolve(
        url.host, url.port,
        [self = shared_from_this()](beast::error_code error, const tcp::resolver::results_type& all) {
          if (error) return self->fail();
          for (const auto& one : all) self->places_.emplace_back(one.endpoint());
          self->connect();
        });
  }
  void connect(std::vector<asio::generic::stream_protocol::endpoint> places) {
    places_ = std::move(places);
    connect();
  }

 private:
  void connect() {
    if (next_ == places_.size()) return fail();
    beast::error_code ignored;
    socket_.socket().close(ignored);
    socket_.expires_after(time_to_connect);
    socket_.async_connect(places_[next_++], [self = shared_from_this()](beast::error_code error) {
      if (error) return self->connect();
      keep_alive(self->socket_.socket().native_handle());
      self->protocol_.empty() ? self->succeed() : self->ask();
    });
  }
  void ask() {
    const bool is_v6 = url_.host.find(':') != std::string::npos;
    text_ = "GET " + url_.target + " HTTP/1.1\r\nHost: " + (is_v6 ? "[" + url_.host + "]" : url_.host) + ":" +
            url_.port + "\r\nConnection: Upgrade\r\nUpgrade: " + protocol_ + "\r\n";
    for (const auto& [name, value] : headers_) text_ += name + ": " + value + "\r\n";
    text_ += "\r\n";
    socket_.expires_after(time_to_connect);
    asio::async_write(socket_, asio::buffer(text_), [self = shared_from_this()](beast::error_code error, std::size_t) {
      error ? self->fail() : self->hear();
    });
  }
  void hear() {
    http::async_read_header(
        socket_, read_ahead_, answer_, [self = shared_from_this()](beast::error_code error, std::size_t) {
          const bool is_switched = !error && self->answer_.get().result() == http::status::switching_protocols;
          is_switched ? self->succeed() : self->fail();
        });
  }
  void succeed() {
    socket_.expires_never();
    std::exchange(then_, nullptr)(std::make_shared<SocketByteStream>(std::move(socket_), std::move(read_ahead_)));
  }
  void fail() { std::exchange(then_, nullptr)(nullptr); }

  tcp::resolver resolver_;
  SocketStream socket_;
  OnConnected then_;
  Url url_;
  Headers headers_;
  std::string protocol_, text_;
  std::vector<asio::generic::stream_protocol::endpoint> places_;
  std::size_t next_ = 0;
  beast::flat_buffer read_ahead_;
  http::response_parser<http::empty_body> answer_;
};

}  // namespace

SocketByteStream::SocketByteStream(SocketStream&& socket, beast::flat_buffer read_ahead)
    : socket_(std::move(socket)), read_ahead_(std::move(read_ahead)) {
  socket_.expires_never();
}

std::string SocketByteStream::take_read_ahead() {
  std::string bytes = beast::buffers_to_string(read_ahead_.data());
  read_ahead_.consume(read_ahead_.size());
  return bytes;
}

void SocketByteStream::read(std::function<void(std::string)> then) {
  if (read_ahead_.size() > 0)
    return asio::post(socket_.get_executor(),
                      [self = shared_from_this(), then = std::move(then)] { then(self->take_read_ahead()); });
  socket_.async_read_some(read_ahead_.prepare(stream_piece_bytes), [self = shared_from_this(), then = std::move(then)](
                                                                       beast::error_code error, std::size_t count) {
    self->read_ahead_.commit(error ? 0 : count);
    then(self->take_read_ahead());
  });
}

void SocketByteStream::write(std::string bytes, std::function<void(bool)> then) {
  unwritten_ = std::move(bytes);
  asio::async_write(
      socket_, asio::buffer(unwritten_),
      [self = shared_from_this(), then = std::move(then)](beast::error_code error, std::size_t) { then(!error); });
}

void SocketByteStream::finish() {
  beast::error_code ignored;
  socket_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
}

void SocketByteStream::close() {
  beast::error_code ignored;
  socket_.socket().close(ignored);
}

void connect_to_port(EventLoop& loop, int port, OnConnected then) {
  const auto number = static_cast<std::uint16_t>(port);
  std::make_shared<Dialling>(loop, std::move(then))
      ->connect({tcp::endpoint(asio::ip::address_v4::loopback(), number),
                 tcp::endpoint(asio::ip::address_v6::loopback(), number)});
}

void connect_to_socket(EventLoop& loop, const std::string& folder, const std::string& name, OnConnected then) {
  const int opened = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return loop.post([then = std::move(then)] { then(nullptr); });
  const std::string path = "/proc/self/fd/" + std::to_string(opened) + "/" + name;
  std::make_shared<Dialling>(loop, [opened, then = std::move(then)](std::shared_ptr<ByteStream> stream) {
    ::close(opened);
    then(std::move(stream));
  })->connect({asio::local::stream_protocol::endpoint(path)});
}

void connect_switched(EventLoop& loop, const std::string& url, const Headers& headers, const std::string& protocol,
                      OnConnected then) {
  const Result<Url> parsed = parse_url(url);
  if (!parsed.ok()) return loop.post([then = std::move(then)] { then(nullptr); });
  std::make_shared<Dialling>(loop, std::move(then))->resolve(*parsed, headers, protocol);
}

void join(std::shared_ptr<ByteStream> one, std::shared_ptr<ByteStream> other, std::function<void()> ended) {
  std::make_shared<Pump>(std::move(one), std::move(other), std::move(ended))->start();
}

}  // namespace sl::net
