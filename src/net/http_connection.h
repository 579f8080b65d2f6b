// One connection of an HTTP server (http_server.h): its requests are answered one after another. Included by its sources
// only.
#pragma once

#include <atomic>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "net/event_loop_impl.h"
#include "net/http_server.h"
#include "net/websocket_impl.h"

namespace sl::net {

class Connection;

// The connections of one server, so that they end with it. Shared with them, so that no pointer dangles whichever goes
// first.
struct Roster {
  std::set<Connection*> connections;
  std::list<Connection*> strangers;                        // of these, the oldest first
  std::map<std::string, std::list<Connection*>> of_users;  // likewise, by their latest requests
  Handler* handler = nullptr;                              // null once the server has gone
  ServerSettings settings;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(SocketStream::socket_type socket, std::string peer, std::shared_ptr<Roster> roster)
      : stream_(std::move(socket)), roster_(std::move(roster)), peer_(std::move(peer)) {
    roster_->connections.insert(this);
    stranger_ = roster_->strangers.insert(roster_->strangers.end(), this);
  }
  ~Connection() {
    leave_strangers();
    leave_user();
    roster_->connections.erase(this);
  }

  void read();
  void respond(Response response);
  void respond_after(Duration delay, Response response);
  void begin_stream(const Response& head);
  void stream_write(std::string chunk);
  void stream_close();
  void shut() {
    boost::beast::error_code ignored;
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
  void on_header(boost::beast::error_code error);
  Request head() const;
  bool admit();
  bool hand_over();
  void leave_strangers();
  void belong_to(const std::string& user);
  void leave_user();
  std::chrono::microseconds head_timeout() const;
  void continued(boost::beast::error_code error);
  void read_body();
  void on_body(boost::beast::error_code error);
  void dispatch();
  bool upgrade(const Request& request);
  void refuse(int status, const std::string& detail);
  void refuse_body() { refuse(413, "the body is over the limit of " + std::to_string(body_bytes_max()) + " bytes"); }
  std::size_t body_bytes_max() const {
    return stranger_ ? roster_->settings.stranger_body_bytes_max : roster_->settings.body_bytes_max;
  }
  void write(const std::string& text, void (Connection::*then)(boost::beast::error_code));
  void responded(boost::beast::error_code error);
  void linger();
  void flush();
  void flushed(boost::beast::error_code error);
  void gone();
  void finish_stream();

  SocketStream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::shared_ptr<Roster> roster_;
  Request request_;  // the head, while the body is read
  bool is_taken_ = false;
  std::string peer_;
  std::optional<std::optional<std::uint32_t>> peer_uid_;      // asked of the kernel once
  std::optional<std::list<Connection*>::iterator> stranger_;  // empty once a request was trusted
  std::string user_;                                          // whose it is; empty: nobody's
  std::list<Connection*>::iterator among_theirs_;             // if it is somebody's
  bool is_idle_ = false;                                      // waits for a request
  std::string response_;
  std::deque<std::string> chunks_;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool streaming_ = false;
  bool closing_stream_ = false;
  bool writing_ = false;
  unsigned version_ = 11;
};

}  // namespace sl::net
