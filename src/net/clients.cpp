// The clients: one blocking HTTP call, and a WebSocket that connects in the background.
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <thread>

#include "net/event_loop_impl.h"
#include "net/http_client.h"
#include "net/url.h"
#include "net/websocket_impl.h"

namespace sl::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

// Names the address only: what was asked there says nothing to a user.
Error unreachable(const std::string& url, const std::string& why) {
  const std::size_t host = url.find("://");
  const std::string address = host == std::string::npos ? url : url.substr(0, url.find('/', host + 3));
  return unavailable("controller-unreachable", "no controller answers at " + address + ": " + why)
      .hint("start one: schedulearn up")
      .hint("or name its address: --url http://HOST:PORT");
}

// The form used in a Host header.
std::string host_of(const Url& url) {
  return (url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]") + ":" + url.port;
}

// One call on a private loop: each step is asynchronous so that the timeout covers it.
class Call {
 public:
  Call(const ClientRequest& request, Url url) : request_(request), url_(std::move(url)), stream_(io_) {}

  Status connect() { return request_.socket.empty() ? connect_tcp() : connect_unix(); }

  Status connect_tcp() {
    beast::error_code error;
    tcp::resolver resolver(io_);
    const auto addresses = resolver.resolve(url_.host, url_.port, error);
    if (error) return unreachable(request_.url, error.message());
    beast::tcp_stream dialling(io_);
    dialling.expires_after(std::chrono::microseconds(request_.timeout.us));
    if (Status done = step([&](auto handler) {
          dialling.async_connect(addresses, [handler](beast::error_code e, const tcp::endpoint&) { handler(e); });
        });
        !done.ok())
      return done;
    dialling.socket().set_option(tcp::no_delay(true), error);
    stream_.socket() = dialling.release_socket();
    return {};
  }
  Status connect_unix() {
    beast::error_code error;
    asio::local::stream_protocol::socket socket(io_);
    socket.connect(request_.socket, error);
    if (error) return unreachable(request_.socket, error.message());
    stream_.socket() = std::move(socket);
    return {};
  }

  Status send() {
    http::request<http::string_body> message(http::string_to_verb(request_.method), url_.target, 11);
    message.method_string(request_.method);
    message.set(http::field::host, host_of(url_));
    for (const auto& [name, value] : request_.headers) message.set(name, value);
    message.body() = request_.body;
    if (!request_.body.empty() || request_.method != "GET") message.prepare_payload();
    return step([&](auto handler) {
      http::async_write(stream_, message, [handler](beast::error_code e, std::size_t) { handler(e); });
    });
  }

  Result<ClientResponse> receive_header() {
    parser_.body_limit(boost::none);
    if (Status done = step([&](auto handler) {
          http::async_read_header(stream_, buffer_, parser_,
                                  [handler](beast::error_code e, std::size_t) { handler(e); });
        });
        !done.ok())
      return done.error();
    ClientResponse response;
    response.status = static_cast<int>(parser_.get().result_int());
    for (const auto& field : parser_.get())
      response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    return response;
  }

  Status receive_body(const std::function<bool(std::string_view)>& on_data) {
    // Without room for more, Beast asks the socket for 512 bytes at a time.
    constexpr std::size_t piece_bytes = 64 << 10;
    buffer_.reserve(piece_bytes);
    std::vector<char> piece(piece_bytes);
    while (!parser_.is_done()) {
      parser_.get().body().data = piece.data();
      parser_.get().body().size = piece.size();
      bool need_buffer = false;
      Status done = step([&](auto handler) {
        http::async_read_some(stream_, buffer_, parser_, [handler, &need_buffer](beast::error_code e, std::size_t) {
          need_buffer = e == http::error::need_buffer;
          handler(need_buffer ? beast::error_code() : e);
        });
      });
      if (!done.ok()) return done;
      const std::size_t n = piece.size() - parser_.get().body().size;
      if (n > 0 && !on_data(std::string_view(piece.data(), n))) return {};
    }
    return {};
  }

 private:
  template <typename Start>
  Status step(Start start) {
    std::optional<beast::error_code> result;
    stream_.expires_after(std::chrono::microseconds(request_.timeout.us));
    start([&result](beast::error_code e) { result = e; });
    io_.restart();
    while (!result && !io_.stopped()) {
      if (request_.is_given_up && request_.is_given_up())
        return unavailable("given-up", "gave up waiting for " + request_.url);
      io_.run_one_for(std::chrono::milliseconds(20));
    }
    if (!result || !*result) return {};
    if (*result == beast::error::timeout)
      return unavailable("timeout", "no answer from " + request_.url + " in time").hint("wait longer: --timeout 60s");
    return unreachable(request_.url, result->message());
  }

  const ClientRequest& request_;
  Url url_;
  asio::io_context io_;
  SocketStream stream_;
  beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
};

}  // namespace

bool is_listening(const std::string& socket) {
  try {
    asio::io_context io;
    beast::error_code error;
    asio::local::stream_protocol::socket probe(io);
    probe.connect(socket, error);
    return !error;
  } catch (const std::exception&) {
    return false;  // the path is too long for a socket
  }
}

namespace {

// `was_connected` becomes true with the connection.
Result<ClientResponse> ask(const ClientRequest& request, const std::function<bool(std::string_view)>& on_data,
                           bool& was_connected) {
  Result<Url> url = parse_url(request.url);
  if (!url.ok()) return url.error();
  Call call(request, *url);
  if (Status connected = call.connect(); !connected.ok()) return connected.error();
  was_connected = true;
  if (Status sent = call.send(); !sent.ok()) return sent.error();
  Result<ClientResponse> response = call.receive_header();
  if (!response.ok()) return response;
  const bool good = response->status >= 200 && response->status < 300;
  const auto keep = [&](std::string_view data) {
    response->body += data;
    return true;
  };
  Status received = good ? call.receive_body(on_data) : call.receive_body(keep);
  if (!received.ok()) return received.error();
  return response;
}

Result<ClientResponse> fetch_once(const ClientRequest& request, bool& was_connected) {
  std::string body;
  const auto keep = [&](std::string_view data) {
    body += data;
    return true;
  };
  Result<ClientResponse> response = ask(request, keep, was_connected);
  if (response.ok() && response->body.empty()) response->body = std::move(body);
  return response;
}

bool has_key(const ClientRequest& request) {
  return std::ranges::any_of(request.headers, [](const auto& header) { return header.first == "Idempotency-Key"; });
}

}  // namespace

Result<ClientResponse> fetch_stream(const ClientRequest& request,
                                    const std::function<bool(std::string_view)>& on_data) {
  bool was_connected = false;
  return ask(request, on_data, was_connected);
}

Result<ClientResponse> fetch(const ClientRequest& request) {
  using std::chrono::milliseconds;
  constexpr std::array pauses = {milliseconds(100), milliseconds(700), milliseconds(2200)};
  bool was_connected = false;
  const auto is_lost = [&](const Result<ClientResponse>& response) {
    return was_connected && !response.ok() && response.error().code == "controller-unreachable";
  };
  Result<ClientResponse> response = fetch_once(request, was_connected);
  // When it is sent again, 409 may mean that what was sent before is still being done.
  const auto is_open = [&] { return response.ok() ? response->status == 409 : is_lost(response); };
  if (is_lost(response) && has_key(request)) {
    for (auto pause = pauses.begin(); pause != pauses.end() && is_open(); ++pause) {
      std::this_thread::sleep_for(*pause);
      response = fetch_once(request, was_connected);
    }
  }
  const bool has_no_answer = is_lost(response) || (!response.ok() && response.error().code == "timeout");
  if (!has_no_answer || request.method == "GET") return response;
  return Error(response.error()).note("the request had been sent: it may have been done all the same");
}

namespace {

class Connecting : public std::enable_shared_from_this<Connecting> {
 public:
  Connecting(EventLoop& loop, Headers headers, ConnectResult result)
      : resolver_(loop.impl().io), stream_(loop.impl().io), headers_(std::move(headers)), result_(std::move(result)) {}

  void start(const Url& url) {
    url_ = url;
    resolver_.async_resolve(
        url.host, url.port,
        [self = shared_from_this()](beast::error_code error, const tcp::resolver::results_type& addresses) {
          if (error) return self->fail(error.message());
          self->stream_.expires_after(std::chrono::seconds(10));
          self->stream_.async_connect(addresses, [self](beast::error_code e, const tcp::endpoint&) {
            e ? self->fail(e.message()) : self->shake();
          });
        });
  }
  // The name in `url` is only told to the server.
  void start(const Url& url, const std::string& socket) {
    url_ = url;
    beast::error_code error;
    asio::local::stream_protocol::socket local(stream_.get_executor());
    if (socket.size() < sizeof(sockaddr_un::sun_path)) local.connect(socket, error);
    if (error || !local.is_open())
      return asio::post(stream_.get_executor(), [self = shared_from_this(), error] { self->fail(error.message()); });
    shake(SocketStream(std::move(local)));
  }
  void give_up() { result_ = {}; }

 private:
  void shake() {
    beast::error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    stream_.expires_never();
    shake(SocketStream(stream_.release_socket()));
  }
  void shake(SocketStream stream) {
    socket_ = std::make_shared<BeastWebSocket>(std::move(stream));
    BeastWebSocket::set_timeouts(socket_->inner(), beast::role_type::client);
    socket_->inner().set_option(
        beast::websocket::stream_base::decorator([headers = headers_](beast::websocket::request_type& request) {
          for (const auto& [name, value] : headers) request.set(name, value);
        }));
    socket_->inner().async_handshake(
        answer_, host_of(url_), url_.target, [self = shared_from_this()](beast::error_code error) {
          if (error == beast::websocket::error::upgrade_declined && self->result_.on_refused)
            return std::exchange(self->result_, {})
                .on_refused(static_cast<int>(self->answer_.result_int()), self->answer_.body());
          if (error) return self->fail(error.message());
          if (!self->result_.on_open) return;  // given up in the meantime
          auto open = std::exchange(self->result_, {}).on_open;
          open(self->socket_);
          self->socket_->begin();
        });
  }
  void fail(const std::string& why) {
    if (result_.on_error)
      std::exchange(result_, {})
          .on_error(unavailable("controller-unreachable", "cannot connect to the controller: " + why));
  }

  tcp::resolver resolver_;
  beast::tcp_stream stream_;
  Headers headers_;
  ConnectResult result_;
  Url url_;
  std::shared_ptr<BeastWebSocket> socket_;
  beast::websocket::response_type answer_;
};

}  // namespace

std::shared_ptr<void> connect_websocket(EventLoop& loop, const std::string& url, const Headers& headers,
                                        ConnectResult result, const std::string& socket) {
  Result<Url> parsed = parse_url(url);
  if (!parsed.ok()) {
    loop.post([result = std::move(result), error = parsed.error()] { result.on_error(error); });
    return nullptr;
  }
  auto connecting = std::make_shared<Connecting>(loop, headers, std::move(result));
  socket.empty() ? connecting->start(*parsed) : connecting->start(*parsed, socket);
  return std::shared_ptr<void>(connecting.get(), [connecting](void*) { connecting->give_up(); });
}

}  // namespace sl::net
