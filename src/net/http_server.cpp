// HTTP/1.1 over Beast with callbacks. One Connection per socket; requests of one connection are answered one after
// another.
#include "net/http_server.h"

#include <sys/un.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>

#include <boost/beast/http.hpp>

#include <cstring>
#include <filesystem>
#include <list>
#include <mutex>
#include <set>

#include "net/event_loop_impl.h"
#include "net/peer.h"
#include "net/taken_request_impl.h"
#include "net/websocket_impl.h"

namespace sl::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using local = asio::local::stream_protocol;

class Connection;

// The connections of one server, so that they end with it. Shared with them, so that no pointer dangles whichever goes
// first.
struct Roster {
  std::set<Connection*> connections;
  std::list<Connection*> strangers;  // of these, the oldest first
  Handler* handler = nullptr;        // null once the server has gone
  ServerSettings settings;
};

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(SocketStream::socket_type socket, std::string peer, std::shared_ptr<Roster> roster)
      : stream_(std::move(socket)), roster_(std::move(roster)), peer_(std::move(peer)) {
    roster_->connections.insert(this);
    stranger_ = roster_->strangers.insert(roster_->strangers.end(), this);
  }
  ~Connection() {
    leave_strangers();
    roster_->connections.erase(this);
  }

  void read();
  void respond(Response response);
  void respond_after(Duration delay, Response response);
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
  void read_head();
  void on_header(beast::error_code error);
  Request head() const;
  bool admit();
  bool hand_over();
  void leave_strangers();
  std::chrono::microseconds head_timeout() const;
  void continued(beast::error_code error);
  void read_body();
  void on_body(beast::error_code error);
  void dispatch();
  bool upgrade(const Request& request);
  void refuse(int status, const std::string& detail);
  void refuse_body() { refuse(413, "the body is over the limit of " + std::to_string(body_bytes_max()) + " bytes"); }
  std::size_t body_bytes_max() const {
    return stranger_ ? roster_->settings.stranger_body_bytes_max : roster_->settings.body_bytes_max;
  }
  void write(const std::string& text, void (Connection::*then)(beast::error_code));
  void responded(beast::error_code error);
  void linger();
  void flush();
  void flushed(beast::error_code error);
  void gone();
  void finish_stream();

  SocketStream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<Roster> roster_;
  Request request_;  // the head, while the body is read
  bool is_taken_ = false;
  std::string peer_;
  std::optional<std::optional<std::uint32_t>> peer_uid_;      // asked of the kernel once
  std::optional<std::list<Connection*>::iterator> stranger_;  // empty once a request was trusted
  std::string response_;
  std::deque<std::string> chunks_;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool streaming_ = false;
  bool closing_stream_ = false;
  bool writing_ = false;
  unsigned version_ = 11;
};

// Connections are destroyed on the loop's thread, wherever their last user releases them.
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
  parser_->body_limit(boost::none);  // until it is known who sends it
  parser_->header_limit(static_cast<std::uint32_t>(roster_->settings.header_bytes_max));
  const bool begun = buffer_.size() > 0;
  stream_.expires_after(begun || stranger_ ? head_timeout() : chrono(roster_->settings.idle_timeout));
  if (begun) return read_head();
  // The first byte may take as long as an idle connection may live, the rest only as long as a request may.
  stream_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](beast::error_code error, std::size_t n) {
    if (error) return self->gone();
    self->buffer_.commit(n);
    if (!self->stranger_) self->stream_.expires_after(self->head_timeout());
    self->read_head();
  });
}

// Every call of these functions is compiled into much code: each is called in one place only.
void Connection::read_head() {
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](beast::error_code e, std::size_t) { self->on_header(e); });
}

void Connection::read_body() {
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](beast::error_code e, std::size_t) { self->on_body(e); });
}

// `text` must live until `then` is called.
void Connection::write(const std::string& text, void (Connection::*then)(beast::error_code)) {
  asio::async_write(stream_, asio::buffer(text),
                    [self = shared_from_this(), then](beast::error_code e, std::size_t) { (self.get()->*then)(e); });
}

void Connection::on_header(beast::error_code error) {
  if (error == http::error::header_limit) return refuse(431, "the request's header is too large");
  if (error == http::error::end_of_stream) return gone();
  if (error == beast::error::timeout) return gone();
  if (error && error.category() == http::make_error_code(http::error::bad_method).category())
    return refuse(400, "this is not an HTTP request: " + error.message());
  if (error) return gone();
  if (!admit() || hand_over()) return;
  const auto length = parser_->content_length();
  if (length && *length > body_bytes_max()) return refuse_body();
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    return write(go_on, &Connection::continued);
  }
  read_body();
}

void Connection::continued(beast::error_code error) { error ? gone() : read_body(); }

std::chrono::microseconds Connection::head_timeout() const {
  return chrono(stranger_ ? roster_->settings.stranger_timeout : roster_->settings.request_timeout);
}

Request Connection::head() const {
  const auto& message = parser_->get();
  Request request;
  request.method = message.method() == http::verb::head ? "GET" : std::string(message.method_string());
  request.peer = peer_;
  request.peer_uid = *peer_uid_;
  parse_target(std::string_view(message.target().data(), message.target().size()), request);
  for (const auto& field : message)
    request.headers.emplace_back(to_lower(std::string_view(field.name_string().data(), field.name_string().size())),
                                 std::string(field.value()));
  return request;
}

// No body is read before it is known who sends it.
bool Connection::admit() {
  if (!roster_->handler) return gone(), false;
  if (!peer_uid_) peer_uid_ = user_at_other_end(stream_.socket().native_handle());
  request_ = head();
  if (const char* const how = what_is_ambiguous(request_)) return refuse(400, how), false;
  Handler::Verdict verdict = roster_->handler->on_head(request_);
  if (verdict.refusal) {
    keep_alive_ = false, version_ = 11;
    respond_after(verdict.delay, std::move(*verdict.refusal));
    return false;
  }
  if (verdict.trusted) leave_strangers();
  is_taken_ = verdict.takes;
  parser_->body_limit(body_bytes_max());
  stream_.expires_after(chrono(roster_->settings.request_timeout));
  return true;
}

bool Connection::hand_over() {
  if (!is_taken_) return false;
  stream_.expires_never();
  auto taken = take_request(SocketStream(stream_.release_socket()), std::move(buffer_), std::move(*parser_));
  roster_->handler->on_taken(std::move(request_), std::move(taken));
  closed = true;
  return true;
}

void Connection::leave_strangers() {
  if (stranger_) roster_->strangers.erase(*stranger_);
  stranger_.reset();
}

void Connection::on_body(beast::error_code error) {
  if (error == http::error::body_limit) return refuse_body();
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
  Request request = std::move(request_);
  if (beast::websocket::is_upgrade(message) && upgrade(request)) return;
  request.body = std::move(message.body());
  roster_->handler->on_request(std::move(request), std::make_shared<LiveReply>(shared_from_this()));
}

bool Connection::upgrade(const Request& request) {
  auto message = std::make_shared<http::request<http::string_body>>(parser_->get());
  // The socket moves only after the handler has accepted; until then this connection must still be able to answer.
  auto socket = std::make_shared<BeastWebSocket>(SocketStream(stream_.get_executor()));
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

void Connection::respond_after(Duration delay, Response response) {
  if (delay <= Duration()) return respond(std::move(response));
  const auto timer = std::make_shared<asio::steady_timer>(stream_.get_executor(), chrono(delay));
  timer->async_wait([self = shared_from_this(), timer, response = std::move(response)](beast::error_code) mutable {
    if (!self->closed) self->respond(std::move(response));
  });
}

void Connection::respond(Response response) {
  http::response<http::string_body> message{http::status::ok, version_};
  message.result(static_cast<unsigned>(response.status));
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(keep_alive_);
  message.body() = std::move(response.body);
  message.prepare_payload();
  const http::fields::writer head(message, message.version(), message.result_int());
  response_ = beast::buffers_to_string(head.get());
  if (!head_only_) response_ += message.body();
  stream_.expires_after(chrono(roster_->settings.request_timeout));
  write(response_, &Connection::responded);
}

void Connection::responded(beast::error_code error) {
  if (error) return gone();
  if (keep_alive_) return read();
  beast::error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(2));
  linger();
}

// Closing with unread bytes would reset the connection and lose the answer: continue reading for a moment.
void Connection::linger() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(64 << 10), [self = shared_from_this()](beast::error_code error, std::size_t) {
    error ? self->gone() : self->linger();
  });
}

// A streamed answer is written by hand: the head, then chunks as they come.
void Connection::begin_stream(const Response& head) {
  streaming_ = true, closing_stream_ = head_only_;
  if (head_only_) keep_alive_ = false;  // nobody may know when this stream ends
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
  // A read that can only fail detects a peer that leaves (nothing is pipelined behind a stream).
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
  constexpr std::size_t large = 64 << 10;  // costs more to copy than to send its frame separately
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
  unsent += std::strlen(size) + 2;
  if (chunk.size() < large) {
    chunks_.push_back(size + chunk + "\r\n");
  } else {
    chunks_.emplace_back(size);
    chunks_.push_back(std::move(chunk));
    chunks_.emplace_back("\r\n");
  }
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
  write(chunks_.front(), &Connection::flushed);
}

void Connection::flushed(beast::error_code error) {
  writing_ = false;
  if (error || closed) {
    chunks_.clear();
    return gone();
  }
  unsent -= chunks_.front().size();
  chunks_.pop_front();
  if (!chunks_.empty()) return flush();
  stream_.expires_never();
  if (on_drain) std::exchange(on_drain, nullptr)();
  if (closing_stream_) finish_stream();
}

void Connection::finish_stream() {
  streaming_ = closing_stream_ = false;
  if (!keep_alive_) return shut();
  read();
}

void Connection::gone() {
  leave_strangers();
  if (closed.exchange(true)) return;
  if (!writing_) chunks_.clear();  // a write in progress still reads the first chunk
  unsent = 0;
  if (on_drain) std::exchange(on_drain, nullptr)();
}

std::string name_of(const tcp::endpoint& peer) {
  return peer.address().to_string() + ":" + std::to_string(peer.port());
}
std::string name_of(const local::endpoint&) { return "unix"; }
void tune(tcp::socket& socket) {
  beast::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}
void tune(local::socket&) {}

// Accepts connections of one kind until it or the server ends.
template <typename Protocol>
class Listener : public std::enable_shared_from_this<Listener<Protocol>> {
 public:
  using Endpoint = typename Protocol::endpoint;
  Listener(asio::io_context& io, std::shared_ptr<Roster> roster) : acceptor_(io), roster_(std::move(roster)) {}

  beast::error_code open(const Endpoint& endpoint) {
    beast::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    if (!error) accept();
    return error;
  }
  Endpoint endpoint() const {
    beast::error_code ignored;
    return acceptor_.local_endpoint(ignored);
  }
  void close() {
    beast::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  void accept() {
    acceptor_.async_accept([self = this->shared_from_this()](beast::error_code error, auto socket) {
      if (!self->roster_->handler || error == asio::error::operation_aborted) return;
      if (!error) self->admit(std::move(socket));
      if (!error || error == asio::error::connection_aborted) return self->accept();
      // Out of descriptors: wait until some are free instead of spinning.
      self->retry_.emplace(self->acceptor_.get_executor(), std::chrono::milliseconds(100));
      self->retry_->async_wait([self](beast::error_code e) {
        if (!e && self->roster_->handler) self->accept();
      });
    });
  }
  void admit(typename Protocol::socket socket) {
    if (roster_->connections.size() >= roster_->settings.connections_max) return;  // closes the new connection
    // A stranger who says nothing must not keep out one who does: the oldest stranger makes room.
    if (roster_->strangers.size() >= roster_->settings.strangers_max) roster_->strangers.front()->shut();
    beast::error_code gone;
    const auto peer = socket.remote_endpoint(gone);
    tune(socket);
    std::make_shared<Connection>(std::move(socket), gone ? std::string() : name_of(peer), roster_)->read();
  }

  typename Protocol::acceptor acceptor_;
  std::shared_ptr<Roster> roster_;
  std::optional<asio::steady_timer> retry_;
};

class BeastServer : public HttpServer {
 public:
  BeastServer(EventLoop& loop, const ServerSettings& settings, Handler& handler)
      : roster_(std::make_shared<Roster>()),
        tcp_(std::make_shared<Listener<tcp>>(loop.impl().io, roster_)),
        unix_(std::make_shared<Listener<local>>(loop.impl().io, roster_)) {
    roster_->handler = &handler;
    roster_->settings = settings;
  }
  ~BeastServer() override {
    roster_->handler = nullptr;
    stop_accepting();
    const auto connections = roster_->connections;
    for (Connection* connection : connections) connection->shut();
  }

  Status open() {
    const ServerSettings& settings = roster_->settings;
    if (settings.address.empty()) return open_unix();
    beast::error_code error;
    const auto address = asio::ip::make_address(settings.address, error);
    if (error)
      return invalid("address-unavailable", "not an address to listen on: " + settings.address)
          .hint("--listen 127.0.0.1:5000");
    error = tcp_->open(tcp::endpoint(address, settings.port));
    const std::string where = settings.address + ":" + std::to_string(settings.port);
    if (error == asio::error::address_in_use) {
      return conflict("port-in-use", "another program listens on " + where)
          .hint("stop it, or choose another port: --listen 127.0.0.1:0 takes any free one");
    }
    if (error)
      return unavailable("address-unavailable", "cannot listen on " + where + ": " + error.message())
          .hint("--listen 127.0.0.1:5000");
    return open_unix();
  }

  std::uint16_t port() const override { return tcp_->endpoint().port(); }
  void stop_accepting() override {
    tcp_->close();
    unix_->close();
  }

 private:
  // Only the caller writes to the socket's folder, so a socket that exists there is a leftover.
  Status open_unix() {
    const std::string& path = roster_->settings.socket_path;
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) return {};  // the path is too long: TCP only
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    beast::error_code error;
    error = unix_->open(local::endpoint(path));
    if (error) return unavailable("address-unavailable", "cannot listen on " + path + ": " + error.message());
    std::filesystem::permissions(path, std::filesystem::perms(0600), ignored);
    return {};
  }

  std::shared_ptr<Roster> roster_;
  std::shared_ptr<Listener<tcp>> tcp_;
  std::shared_ptr<Listener<local>> unix_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(EventLoop& loop, const ServerSettings& settings,
                                                       Handler& handler) {
  auto server = std::make_unique<BeastServer>(loop, settings, handler);
  if (Status opened = server->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace sl::net
