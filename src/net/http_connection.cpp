// HTTP/1.1 over Beast with callbacks. One Connection per socket; requests of one connection are answered one after
// another.
#include "net/http_connection.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <utility>

#include "net/peer.h"
#include "net/taken_request_impl.h"
#include "net/websocket_impl.h"

namespace sl::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

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

}  // namespace

void Connection::read() {
  if (!roster_->handler) return;
  parser_.emplace();
  parser_->body_limit(boost::none);  // until it is known who sends it
  parser_->header_limit(static_cast<std::uint32_t>(roster_->settings.header_bytes_max));
  const bool begun = buffer_.size() > 0;
  is_idle_ = !begun;
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
  is_idle_ = false;
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
  if (verdict.trusted) leave_strangers(), belong_to(verdict.user);
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
  leave_user();
  closed = true;
  return true;
}

void Connection::leave_strangers() {
  if (stranger_) roster_->strangers.erase(*stranger_);
  stranger_.reset();
}

// Called with each request, so that those that have waited longest come first.
void Connection::belong_to(const std::string& user) {
  leave_user();
  if (user.empty()) return;
  std::list<Connection*>& others = roster_->of_users[user];
  if (others.size() >= roster_->settings.user_connections_max) {
    const auto idle = std::ranges::find_if(others, [](const Connection* other) { return other->is_idle_; });
    (idle == others.end() ? others.front() : *idle)->shut();
  }
  user_ = user;
  among_theirs_ = roster_->of_users[user].insert(roster_->of_users[user].end(), this);
}

void Connection::leave_user() {
  if (user_.empty()) return;
  const auto all = roster_->of_users.find(user_);
  all->second.erase(among_theirs_);
  if (all->second.empty()) roster_->of_users.erase(all);
  user_.clear();
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
  leave_user();
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
  leave_user();
  if (closed.exchange(true)) return;
  if (!writing_) chunks_.clear();  // a write in progress still reads the first chunk
  unsent = 0;
  if (on_drain) std::exchange(on_drain, nullptr)();
}

}  // namespace sl::net
