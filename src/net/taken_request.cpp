#include "net/taken_request.h"

#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "net/byte_stream_impl.h"
#include "net/taken_request_impl.h"

namespace sl::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using BodyParser = http::request_parser<http::buffer_body>;

constexpr std::chrono::minutes silence_max{10};  // of either side, while it is its turn
constexpr std::uint32_t answer_header_bytes_max = 64 << 10;

// They mean something for one connection only.
bool is_of_connection(const http::fields::value_type& field) {
  switch (field.name()) {
    case http::field::connection:
    case http::field::keep_alive:
    case http::field::proxy_connection:
    case http::field::te:
    case http::field::trailer:
    case http::field::transfer_encoding:
    case http::field::content_length:
    case http::field::upgrade:
      return true;
    default:
      return false;
  }
}

std::string chunk(std::string_view bytes) {
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + std::string(bytes) + "\r\n";
}

class Forward;

class TakenConnection : public TakenRequest, public std::enable_shared_from_this<TakenConnection> {
 public:
  TakenConnection(SocketStream&& socket, beast::flat_buffer read_ahead, HeadParser&& head)
      : stream_(std::make_shared<SocketByteStream>(std::move(socket), std::move(read_ahead))),
        head_(std::make_unique<BodyParser>(std::move(head))) {}
  void refuse(Response response) override;
  void switch_to(const std::string& protocol, OnConnected then) override;
  void forward(std::shared_ptr<ByteStream> to, Forwarding forwarding, std::function<void()> ended) override;
  void close() override { stream_->close(); }

 private:
  std::shared_ptr<SocketByteStream> stream_;
  std::unique_ptr<BodyParser> head_;
};

// Ends a connection on which bytes may still come: closing at once would take the answer with it.
void linger(const std::shared_ptr<SocketByteStream>& stream) {
  stream->finish();
  stream->socket().expires_after(std::chrono::seconds(2));
  stream->read([stream](const std::string& bytes) { bytes.empty() ? stream->close() : linger(stream); });
}

std::string text_of(const Response& response) {
  http::response<http::string_body> message{static_cast<http::status>(response.status), 11};
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(false);
  message.body() = response.body;
  message.prepare_payload();
  const http::fields::writer head(message, message.version(), message.result_int());
  return beast::buffers_to_string(head.get()) + message.body();
}

// `is_read`: somebody else is reading from it, and finds out that it ends.
void answer(const std::shared_ptr<SocketByteStream>& stream, const Response& response, bool is_read) {
  stream->socket().expires_after(std::chrono::seconds(30));
  stream->write(text_of(response), [stream, is_read](bool written) {
    if (!written) return stream->close();
    is_read ? stream->finish() : linger(stream);
  });
}

// One request and its answer. Two rows of steps that run side by side: the body goes one way, the answer the other.
class Forward : public std::enable_shared_from_this<Forward> {
 public:
  Forward(std::shared_ptr<SocketByteStream> client, std::unique_ptr<BodyParser> head,
          std::shared_ptr<SocketByteStream> server, Forwarding forwarding, std::function<void()> ended)
      : client_(std::move(client)),
        server_(std::move(server)),
        parser_(std::move(head)),
        request_(*parser_),
        forwarding_(std::move(forwarding)),
        ended_(std::move(ended)),
        is_head_(request_.get().method() == http::verb::head),
        speaks_chunks_(request_.get().version() >= 11) {
    request_.body_limit(boost::none);
    upgrade_ = request_.get()[http::field::upgrade];
    if (!beast::iequals(upgrade_, "websocket")) upgrade_.clear();
  }

  void start() {
    server_->socket().expires_after(silence_max);
    server_->write(request_head(), [self = shared_from_this()](bool written) {
      if (!written) return self->fail();
      self->hear();
      if (!self->upgrade_.empty()) return;  // such a request has no body
      self->welcome_body();
    });
  }

 private:
  std::string request_head() const {
    const auto& message = request_.get();
    std::string text = std::string(message.method_string()) + " " + forwarding_.target + " HTTP/1.1\r\n";
    for (const auto& [name, value] : forwarding_.headers) text += name + ": " + value + "\r\n";
    if (!upgrade_.empty()) return text + "Connection: Upgrade\r\nUpgrade: " + upgrade_ + "\r\n\r\n";
    if (request_.chunked()) text += "Transfer-Encoding: chunked\r\n";
    if (const auto length = request_.content_length()) text += "Content-Length: " + std::to_string(*length) + "\r\n";
    return text + "Connection: close\r\n\r\n";
  }

  // ---- the body ----
  void welcome_body() {
    if (!beast::iequals(request_.get()[http::field::expect], "100-continue") || request_.is_done()) return read_body();
    client_->write("HTTP/1.1 100 Continue\r\n\r\n",
                   [self = shared_from_this()](bool written) { written ? self->read_body() : self->end(); });
  }
  void read_body() {
    if (request_.is_done()) return end_body();
    request_.get().body().data = body_piece_.data();
    request_.get().body().size = body_piece_.size();
    request_.get().body().more = true;
    client_->socket().expires_after(silence_max);
    http::async_read_some(client_->socket(), client_->read_ahead(), request_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                            if (error && error != http::error::need_buffer) return self->end();
                            self->pass_body();
                          });
  }
  void pass_body() {
    const std::size_t count = body_piece_.size() - request_.get().body().size;
    if (count == 0) return read_body();
    const std::string_view bytes(body_piece_.data(), count);
    server_->socket().expires_after(silence_max);
    server_->write(request_.chunked() ? chunk(bytes) : std::string(bytes), [self = shared_from_this()](bool written) {
      if (written) self->read_body();  // else it may have answered already
    });
  }
  void end_body() {
    if (request_.chunked())
      return server_->write("0\r\n\r\n", [self = shared_from_this()](bool) { self->watch_client(); });
    watch_client();
  }
  // Nothing is awaited from the client but that it leaves.
  void watch_client() {
    client_->socket().socket().async_wait(
        asio::socket_base::wait_read, [weak = weak_from_this()](beast::error_code error) {
          const auto self = weak.lock();
          if (!self || error || self->is_over_) return;
          char byte = 0;
          beast::error_code failed;
          self->client_->socket().socket().non_blocking(true, failed);
          const std::size_t count = self->client_->socket().socket().receive(asio::buffer(&byte, 1), MSG_PEEK, failed);
          if (count == 0 && failed != asio::error::would_block) self->end();
        });
  }

  // ---- the answer ----
  void hear() {
    answer_.emplace();
    answer_->header_limit(answer_header_bytes_max);
    answer_->body_limit(boost::none);
    if (is_head_) answer_->skip(true);
    server_->socket().expires_after(silence_max);
    http::async_read_header(server_->socket(), server_->read_ahead(), *answer_,
                            [self = shared_from_this()](beast::error_code error, std::size_t) {
                              error ? self->fail() : self->on_answer();
                            });
  }
  void on_answer() {
    const unsigned status = answer_->get().result_int();
    const bool switches = status == 101 && !upgrade_.empty();
    if (status < 200 && !switches) return status == 101 ? fail() : hear();  // 100 and the like: the answer follows
    has_answered_ = true;
    const bool has_body = !answer_->is_done();
    is_chunked_ = has_body && answer_->chunked() && speaks_chunks_;
    client_->socket().expires_after(silence_max);
    client_->write(answer_head(switches), [self = shared_from_this(), switches](bool written) {
      if (!written) return self->end();
      switches ? self->change_over() : self->read_answer();
    });
  }
  std::string answer_head(bool switches) const {
    const auto& message = answer_->get();
    std::string text =
        "HTTP/1.1 " + std::to_string(message.result_int()) + " " + std::string(message.reason()) + "\r\n";
    Headers headers;
    for (const auto& field : message) {
      if (!is_of_connection(field)) headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    forwarding_.edit_answer(headers);
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    if (switches) return text + "Connection: Upgrade\r\nUpgrade: " + upgrade_ + "\r\n\r\n";
    if (is_chunked_) {
      text += "Transfer-Encoding: chunked\r\n";
    } else if (message.count(http::field::content_length) > 0) {
      text += "Content-Length: " + std::string(message[http::field::content_length]) + "\r\n";
    }
    return text + "Connection: close\r\n\r\n";
  }
  void read_answer() {
    if (answer_->is_done()) return finish_answer();
    answer_->get().body().data = answer_piece_.data();
    answer_->get().body().size = answer_piece_.size();
    answer_->get().body().more = true;
    server_->socket().expires_after(silence_max);
    http::async_read_some(server_->socket(), server_->read_ahead(), *answer_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                            if (error && error != http::error::need_buffer) return self->end();  // cut, and seen to be
                            self->pass_answer();
                          });
  }
  void pass_answer() {
    const std::size_t count = answer_piece_.size() - answer_->get().body().size;
    if (count == 0) return read_answer();
    const std::string_view bytes(answer_piece_.data(), count);
    client_->socket().expires_after(silence_max);
    client_->write(is_chunked_ ? chunk(bytes) : std::string(bytes),
                   [self = shared_from_this()](bool written) { written ? self->read_answer() : self->end(); });
  }
  void finish_answer() {
    if (!is_chunked_) return leave();
    client_->write("0\r\n\r\n", [self = shared_from_this()](bool) { self->leave(); });
  }
  void change_over() {
    is_over_ = true;
    client_->socket().expires_never();
    server_->socket().expires_never();
    join(client_, server_, std::exchange(ended_, nullptr));
  }

  // ---- the end ----
  void fail() {
    if (has_answered_ || is_over_) return end();
    is_over_ = true;
    server_->close();
    answer(client_, forwarding_.no_answer(), is_body_read());
    std::exchange(ended_, nullptr)();
  }
  void leave() {
    if (std::exchange(is_over_, true)) return;
    server_->close();
    is_body_read() ? client_->finish() : linger(client_);
    std::exchange(ended_, nullptr)();
  }
  bool is_body_read() const { return upgrade_.empty() && !request_.is_done(); }
  void end() {
    if (std::exchange(is_over_, true)) return;
    client_->close();
    server_->close();
    std::exchange(ended_, nullptr)();
  }

  std::shared_ptr<SocketByteStream> client_, server_;
  std::unique_ptr<BodyParser> parser_;
  BodyParser& request_;
  std::optional<http::response_parser<http::buffer_body>> answer_;
  Forwarding forwarding_;
  std::function<void()> ended_;
  std::string upgrade_;
  std::string body_piece_ = std::string(stream_piece_bytes, '\0');
  std::string answer_piece_ = std::string(stream_piece_bytes, '\0');
  bool is_head_ = false, speaks_chunks_ = true, is_chunked_ = false;
  bool has_answered_ = false;
  bool is_over_ = false;
};

void TakenConnection::refuse(Response response) { answer(stream_, response, false); }

void TakenConnection::switch_to(const std::string& protocol, OnConnected then) {
  stream_->write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n",
      [self = shared_from_this(), then = std::move(then)](bool written) { then(written ? self->stream_ : nullptr); });
}

void TakenConnection::forward(std::shared_ptr<ByteStream> to, Forwarding forwarding, std::function<void()> ended) {
  auto server = std::dynamic_pointer_cast<SocketByteStream>(std::move(to));
  std::make_shared<Forward>(stream_, std::move(head_), std::move(server), std::move(forwarding), std::move(ended))
      ->start();
}

}  // namespace

std::shared_ptr<TakenRequest> take_request(SocketStream&& socket, beast::flat_buffer read_ahead, HeadParser&& head) {
  return std::make_shared<TakenConnection>(std::move(socket), std::move(read_ahead), std::move(head));
}

}  // namespace sl::net
