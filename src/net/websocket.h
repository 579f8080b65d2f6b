// One WebSocket, either end. Text and binary frames, whole messages, in order. Any thread may call send and close; callbacks run
// on the loop's thread. A ping every few seconds detects dead peers; on_close is called exactly once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"
#include "net/http.h"

namespace sl::net {

class WebSocket {
 public:
  virtual ~WebSocket() = default;
  virtual void send(std::string text) = 0;
  virtual void send_binary(std::string bytes) = 0;
  virtual void close(std::string reason) = 0;
  virtual std::size_t unsent_bytes() const = 0;
  struct Callbacks {
    std::function<void(std::string text)> on_message;
    std::function<void(std::string reason)> on_close;
    std::function<void(std::string bytes)> on_binary = {};  // without it, on_message gets them
    std::function<void()> on_drain = {};                    // everything has been sent
  };
  // Must be set before the loop's next turn (in on_websocket, or in on_open of the client).
  virtual void set_callbacks(Callbacks callbacks) = 0;
  // On the loop's thread: no further message is read until it is resumed; what comes stays with the sender.
  virtual void pause(bool paused) = 0;
};

// Client: connects to "ws://host:port/path", over the Unix socket if one is named, and calls exactly one of these. Destroy the returned handle to give up.
struct ConnectResult {
  std::function<void(std::shared_ptr<WebSocket>)> on_open;
  std::function<void(Error)> on_error;
  std::function<void(int status, const std::string& body)> on_refused =
      {};  // instead of on_error, if there is an answer
};
std::shared_ptr<void> connect_websocket(EventLoop& loop, const std::string& url, const Headers& headers,
                                        ConnectResult result, const std::string& socket = "");

}  // namespace sl::net
