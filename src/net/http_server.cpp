// HTTP/1.1 over Beast with callbacks. One Connection a socket; requests of one connection are answered one after
// another.
#include "net/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <mutex>
#include <set>

#include "net/event_loop_impl.h"
#include "net/websocket_impl.h"

namespace sl::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

class Connection;

// Connections of one server, so that its end is theirs. Shared with them: whoever goes first leaves no dangling
// pointer.
struct Roster {
  std::set<Connection*> connections;
  Handler* handler = nullptr;  // null once the server has gone
  ServerSettings settings;
};

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<Roster> roster)
      : stream_(std::move(socket)), roster_(std::move(roster)) {
    beast::error_code ignored;
    const auto peer = stream_.socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string() + ":" + std::to_string(peer.port());
    roster_->connections.insert(this);
  }
  ~Connection() { roster_->connections.erase(this); }

  void read();
  void respond(Response response);
  void begin_stream(const Response& head);
  void stream_write(std::string chunk);
  void stream_close();
  void shut() {
    beast::error_code ignored;
    stream_.socket().close(ignored);
    gone();
  }
  auto executor() { return stream_.get_executor(); }

  // Any thread may read these two; the rest belongs to the loop.
  std::atomic<std::size_t> unsent{0};
  std::atomic<bool> closed{false};
  std::function<void()> on_drain;

 private:
  void on_header(beast::error_code error);
  void on_body(beast::error_code error);
  void dispatch();
  bool upgrade(const Request& request);
  void refuse(int status, const std::string& detail);
  void refuse_body() {
    refuse(413, "the body is over the limit of " + std::to_string(roster_->settings.body_bytes_max) + " bytes");
  }
  void linger();
  void flush();
  void gone();
  void finish_stream();

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<Roster> roster_;
  std::string peer_;
  http::response<http::string_body> response_;
  std::deque<std::string> chunks_;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool streaming_ = false;
  bool closing_stream_ = false;
  bool writing_ = false;
  unsigned version_ = 11;
};

// Connections end on the loop's thread, wherever the last of their users lets go.
void let_go(std::shared_ptr<Connection> connection) {
  auto executor = connection->executor();
  asio::post(executor, [c = std::move(connection)] {});
}

class LiveStream : public Stream {
 public:
  explicit LiveStream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~LiveStream() override {
    close();
    let_go(std::move(connection_));
  }
  void write(std::string chunk) override {
    if (chunk.empty() || connection_->closed) return;
    connection_->unsent += chunk.size();
    asio::post(connection_->executor(),
               [c = connection_, chunk = std::move(chunk)]() mutable { c->stream_write(std::move(chunk)); });
  }
  void close() override {
    if (closed_.exchange(true)) return;
    asio::post(connection_->executor(), [c = connection_] { c->stream_close(); });
  }
  bool closed() const override { return closed_ || connection_->closed; }
  std::size_t unsent_bytes() const override { return connection_->unsent; }
  void on_drain(std::function<void()> work) override {
    asio::post(connection_->executor(), [c = connection_, work = std::move(work)]() mutable {
      if (c->closed || c->unsent == 0) return work();
      c->on_drain = std::move(work);
    });
  }

 private:
  std::shared_ptr<Connection> connection_;
  std::atomic<bool> closed_{false};
};

class LiveReply : public Reply {
 public:
  explicit LiveReply(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~LiveReply() override {
    if (!used_) send({500, "text/plain", {}, "the request was dropped without an answer\n"});
    let_go(std::move(connection_));
  }
  void send(Response response) override {
    if (std::exchange(used_, true)) return;
    asio::post(connection_->executor(),
               [c = connection_, response = std::move(response)]() mutable { c->respond(std::move(response)); });
  }
  std::shared_ptr<Stream> stream(Response head) override {
    used_ = true;
    asio::post(connection_->executor(), [c = connection_, head = std::move(head)] { c->begin_stream(head); });
    return std::make_shared<LiveStream>(connection_);
  }

 private:
  std::shared_ptr<Connection> connection_;
  bool used_ = false;
};

std::chrono::microseconds chrono(Duration d) { return std::chrono::microseconds(d.us); }

void Connection::read() {
  if (!roster_->handler) return;
  parser_.emplace();
  parser_->body_limit(roster_->settings.body_bytes_max);
  parser_->header_limit(static_cast<std::uint32_t>(roster_->settings.header_bytes_max));
  const bool begun = buffer_.size() > 0;
  stream_.expires_after(chrono(begun ? roster_->settings.request_timeout : roster_->settings.idle_timeout));
  if (begun)
    return http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code e, std::size_t) { self->on_header(e); });
  // The first byte may take as long as an idle connection may live, the rest only as long as a request may.
  stream_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](beast::error_code error, std::size_t n) {
    if (error) return self->gone();
    self->buffer_.commit(n);
    self->stream_.expires_after(chrono(self->roster_->settings.request_timeout));
    http::async_read_header(self->stream_, self->buffer_, *self->parser_,
                            [self](beast::error_code e, std::size_t) { self->on_header(e); });
  });
}

void Connection::on_header(beast::error_code error) {
  if (error == http::error::body_limit) return refuse_body();
  if (error == http::error::header_limit) return refuse(431, "the request's header is too large");
  if (error == http::error::end_of_stream) return gone();
  if (error == beast::error::timeout) return gone();
  if (error && error.category() == http::make_error_code(http::error::bad_method).category())
    return refuse(400, "this is not an HTTP request: " + error.message());
  if (error) return gone();
  const auto length = parser_->content_length();
  if (length && *length > roster_->settings.body_bytes_max) return refuse_body();
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(go_on), [self = shared_from_this()](beast::error_code e, std::size_t) {
      if (e) return self->gone();
      http::async_read(self->stream_, self->buffer_, *self->parser_,
                       [self](beast::error_code e2, std::size_t) { self->on_body(e2); });
    });
    return;
  }
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](beast::error_code e, std::size_t) { self->on_body(e); });
}

void Connection::on_body(beast::error_code error) {
  if (error == http::error::body_limit) return refuse_body();
  if (error == beast::error::timeout) return refuse(408, "the request took too long to arrive");
  if (error && error.category() == http::make_error_code(http::error::bad_method).category())
    return refuse(400, "this is not an HTTP request: " + error.message());
  if (error) return gone();
  dispatch();
}

void Connection::dispatch() {
  if (!roster_->handler) return gone();
  stream_.expires_never();
  auto& message = parser_->get();
  keep_alive_ = message.keep_alive();
  version_ = message.version();
  head_only_ = message.method() == http::verb::head;
  Request request;
  request.method = head_only_ ? "GET" : std::string(message.method_string());
  request.peer = peer_;
  parse_target(std::string_view(message.target().data(), message.target().size()), request);
  for (const auto& field : message)
    request.headers.emplace_back(to_lower(std::string_view(field.name_string().data(), field.name_string().size())),
                                 std::string(field.value()));
  if (beast::websocket::is_upgrade(message) && upgrade(request)) return;
  request.body = std::move(message.body());
  roster_->handler->on_request(std::move(request), std::make_shared<LiveReply>(shared_from_this()));
}

bool Connection::upgrade(const Request& request) {
  auto message = std::make_shared<http::request<http::string_body>>(parser_->get());
  // The socket moves only once the handler has said yes; until then this connection must still be able to answer.
  auto socket = std::make_shared<BeastWebSocket>(beast::tcp_stream(stream_.get_executor()));
  if (!roster_->handler->on_websocket(request, socket)) return false;
  beast::get_lowest_layer(socket->inner()).socket() = stream_.release_socket();
  BeastWebSocket::set_timeouts(socket->inner(), beast::role_type::server);
  socket->inner().async_accept(*message, [socket, message](beast::error_code error) {
    error ? socket->fail(error.message()) : socket->begin();
  });
  closed = true;
  return true;
}

void Connection::refuse(int status, const std::string& detail) {
  if (!roster_->handler) return gone();
  keep_alive_ = false;
  version_ = 11;
  respond(roster_->handler->on_protocol_error(status, detail));
}

void Connection::respond(Response response) {
  response_ = {http::status::ok, version_};
  response_.result(static_cast<unsigned>(response.status));
  response_.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) response_.set(name, value);
  response_.keep_alive(keep_alive_);
  response_.body() = std::move(response.body);
  response_.prepare_payload();
  if (head_only_) response_.body().clear();
  stream_.expires_after(chrono(roster_->settings.request_timeout));
  http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
    if (error) return self->gone();
    if (self->keep_alive_) return self->read();
    beast::error_code ignored;
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    self->stream_.expires_after(std::chrono::seconds(2));
    self->linger();
  });
}

// Closing with bytes unread would reset the connection and take the answer with it: read on for a moment.
void Connection::linger() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(64 << 10), [self = shared_from_this()](beast::error_code error, std::size_t) {
    error ? self->gone() : self->linger();
  });
}

// A streamed answer is written by hand: head, then chunks as they come.
void Connection::begin_stream(const Response& head) {
  streaming_ = true;
  std::string text = "HTTP/1.1 " + std::to_string(head.status) + " " +
                     std::string(http::obsolete_reason(static_cast<http::status>(head.status))) +
                     "\r\nContent-Type: " + head.content_type + "\r\nTransfer-Encoding: chunked\r\n" +
                     (keep_alive_ ? "" : "Connection: close\r\n");
  for (const auto& [name, value] : head.headers) text += name + ": " + value + "\r\n";
  text += "\r\n";
  unsent += text.size();
  chunks_.push_back(std::move(text));
  if (!head.body.empty()) {
    unsent += head.body.size();
    stream_write(head.body);
  }
  flush();
  if (buffer_.size() > 0) return;
  // A peer that leaves is seen by a read that can only fail (nobody pipelines behind a stream).
  stream_.socket().async_wait(tcp::socket::wait_read, [weak = weak_from_this()](beast::error_code) {
    const auto self = weak.lock();
    if (!self || !self->streaming_ || self->closed) return;
    char byte = 0;
    beast::error_code error;
    self->stream_.socket().non_blocking(true, error);
    const std::size_t n = self->stream_.socket().receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
    if (n == 0 && error != asio::error::would_block) self->shut();
  });
}

void Connection::stream_write(std::string chunk) {
  if (closed) return;
  if (head_only_) {
    unsent -= chunk.size();
    return;
  }
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
  std::string framed = size + chunk + "\r\n";
  unsent += framed.size() - chunk.size();
  chunks_.push_back(std::move(framed));
  flush();
}

void Connection::stream_close() {
  if (closed || closing_stream_ || !streaming_) return;
  closing_stream_ = true;
  if (!head_only_) {
    chunks_.emplace_back("0\r\n\r\n");
    unsent += chunks_.back().size();
  }
  writing_ ? void() : chunks_.empty() ? finish_stream() : flush();
}

void Connection::flush() {
  if (writing_ || chunks_.empty() || closed) return;
  writing_ = true;
  stream_.expires_after(chrono(roster_->settings.idle_timeout));
  asio::async_write(stream_, asio::buffer(chunks_.front()),
                    [self = shared_from_this()](beast::error_code error, std::size_t) {
                      self->writing_ = false;
                      if (error || self->closed) {
                        self->chunks_.clear();
                        return self->gone();
                      }
                      self->unsent -= self->chunks_.front().size();
                      self->chunks_.pop_front();
                      if (!self->chunks_.empty()) return self->flush();
                      self->stream_.expires_never();
                      if (self->on_drain) std::exchange(self->on_drain, nullptr)();
                      if (self->closing_stream_) self->finish_stream();
                    });
}

void Connection::finish_stream() {
  streaming_ = closing_stream_ = false;
  if (!keep_alive_) return shut();
  read();
}

void Connection::gone() {
  if (closed.exchange(true)) return;
  if (!writing_) chunks_.clear();  // a write under way still reads the first one
  unsent = 0;
  if (on_drain) std::exchange(on_drain, nullptr)();
}

class BeastServer : public HttpServer {
 public:
  BeastServer(EventLoop& loop, const ServerSettings& settings, Handler& handler)
      : acceptor_(loop.impl().io), roster_(std::make_shared<Roster>()) {
    roster_->handler = &handler;
    roster_->settings = settings;
  }
  ~BeastServer() override {
    roster_->handler = nullptr;
    beast::error_code ignored;
    acceptor_.close(ignored);
    const auto connections = roster_->connections;
    for (Connection* connection : connections) connection->shut();
  }

  Status open() {
    beast::error_code error;
    const auto address = asio::ip::make_address(roster_->settings.address, error);
    if (error)
      return invalid("address-unavailable", "not an address to listen on: " + roster_->settings.address)
          .hint("--listen 127.0.0.1:5000");
    const tcp::endpoint endpoint(address, roster_->settings.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    const std::string where = roster_->settings.address + ":" + std::to_string(roster_->settings.port);
    if (error == asio::error::address_in_use) {
      return conflict("port-in-use", "another program listens on " + where)
          .hint("stop it, or choose another port: --listen 127.0.0.1:0 takes any free one");
    }
    if (error)
      return unavailable("address-unavailable", "cannot listen on " + where + ": " + error.message())
          .hint("--listen 127.0.0.1:5000");
    accept();
    return {};
  }

  std::uint16_t port() const override {
    beast::error_code ignored;
    return acceptor_.local_endpoint(ignored).port();
  }
  void stop_accepting() override {
    beast::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  void accept() {
    acceptor_.async_accept([this, roster = roster_](beast::error_code error, tcp::socket socket) {
      if (!roster->handler || error == asio::error::operation_aborted) return;
      if (!error) admit(std::move(socket));
      if (!error || error == asio::error::connection_aborted) return accept();
      // Out of descriptors: wait for some to come back instead of spinning.
      retry_.emplace(acceptor_.get_executor(), std::chrono::milliseconds(100));
      retry_->async_wait([this, roster](beast::error_code e) {
        if (!e && roster->handler) accept();
      });
    });
  }
  void admit(tcp::socket socket) {
    if (roster_->connections.size() >= roster_->settings.connections_max) return;  // closes it
    beast::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::make_shared<Connection>(std::move(socket), roster_)->read();
  }

  tcp::acceptor acceptor_;
  std::shared_ptr<Roster> roster_;
  std::optional<asio::steady_timer> retry_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(EventLoop& loop, const ServerSettings& settings,
                                                       Handler& handler) {
  auto server = std::make_unique<BeastServer>(loop, settings, handler);
  if (Status opened = server->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace sl::net
