// A connected socket as two rows of bytes. All of this belongs to the loop's thread. Whoever reads sets the pace: what has
// not been read stays with the kernel, and so with the sender.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"
#include "net/http.h"

namespace sl::net {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next bytes that come; none: the other end has finished, or is gone. One read at a time.
  virtual void read(std::function<void(std::string bytes)> then) = 0;
  // `then` is called when all bytes are with the kernel, or cannot get there. One write at a time.
  virtual void write(std::string bytes, std::function<void(bool written)> then) = 0;
  virtual void finish() = 0;  // nothing more will be written
  virtual void close() = 0;
};

// Null: nothing answers there, or not in time.
using OnConnected = std::function<void(std::shared_ptr<ByteStream>)>;
// A port of this machine.
void connect_to_port(EventLoop& loop, int port, OnConnected then);
// A Unix socket; the path of its folder may be longer than a socket's can be.
void connect_to_socket(EventLoop& loop, const std::string& folder, const std::string& name, OnConnected then);
// An HTTP server that changes over to `protocol` for a GET of "ws://host:port/path".
void connect_switched(EventLoop& loop, const std::string& url, const Headers& headers, const std::string& protocol,
                      OnConnected then);

// Passes on the bytes of each to the other, as fast as that takes them, until both have finished or one is gone; then both
// are closed.
void join(std::shared_ptr<ByteStream> one, std::shared_ptr<ByteStream> other, std::function<void()> ended);

}  // namespace sl::net
