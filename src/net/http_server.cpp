// Listens, and knows all connections.
#include "net/http_server.h"

#include <sys/resource.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <filesystem>
#include <type_traits>

#include "net/event_loop_impl.h"
#include "net/http_connection.h"

namespace sl::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;
using local = asio::local::stream_protocol;

std::string name_of(const tcp::endpoint& peer) {
  return peer.address().to_string() + ":" + std::to_string(peer.port());
}
std::string name_of(const local::endpoint&) { return "unix"; }
void tune(tcp::socket& socket) {
  beast::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}
void tune(local::socket&) {}

// Of the Unix socket beyond all others: the controller's own user gets in, whatever comes over the network.
constexpr std::size_t local_connections_spare = 100;

// A quarter of the files that the process may have open stays free for everything else.
std::size_t connections_possible() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::size_t>(files.rlim_cur / 4 * 3) : SIZE_MAX;
}

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
    constexpr std::size_t spare = std::is_same_v<Protocol, local> ? local_connections_spare : 0;
    if (roster_->connections.size() >= roster_->settings.connections_max + spare) return;  // closes the new connection
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
    roster_->settings.connections_max = std::min(settings.connections_max, connections_possible());
    roster_->settings.user_connections_max =
        std::min(settings.user_connections_max, roster_->settings.connections_max / 4);
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
