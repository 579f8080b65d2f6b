// An HTTP/1.1 server with keep-alive, streamed answers and WebSockets. It knows no routes: every request goes to one
// Handler, on the loop's thread. The server itself answers violations of limits (body, header): 413, 431. Slow clients are
// cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/event_loop.h"
#include "net/http.h"
#include "net/taken_request.h"
#include "net/websocket.h"

namespace sl::net {

// A streamed answer body (chunked). Every function may be called from any thread.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void write(std::string chunk) = 0;
  virtual void close() = 0;                      // ends the answer properly
  virtual bool closed() const = 0;               // by either side
  virtual std::size_t unsent_bytes() const = 0;  // queued here; writers have limits of their own
  // `work` runs on the loop thread when everything written has been sent (for back-pressure), and when the peer has
  // gone.
  virtual void on_drain(std::function<void()> work) = 0;
};

// The slot for one answer. Any thread may fill it; dropping it unanswered sends status 500.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void send(Response response) = 0;
  virtual std::shared_ptr<Stream> stream(Response head) = 0;  // head.body is sent first
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Called when the head of a request has arrived, before its body is read. A refusal is sent and ends the connection.
  // Until one of its requests is `trusted`, a connection is a stranger's and bounded like one (ServerSettings). Then it is
  // its user's, and bounded like those of one user.
  struct Verdict {
    std::optional<Response> refusal = {};
    bool trusted = false;
    std::string user = {};  // trusted: whose connection it is from now on; empty: nobody's in particular
    bool takes = false;     // on_taken gets the request, with its connection
    Duration delay = {};    // until the refusal is sent
  };
  virtual Verdict on_head(const Request& head) = 0;
  // A request that on_head takes, before its body is read.
  virtual void on_taken(Request, std::shared_ptr<TakenRequest> taken) { taken->close(); }
  virtual void on_request(Request request, std::shared_ptr<Reply> reply) = 0;
  // An upgrade request. Return false to have it answered by on_request; true after keeping `socket` and setting its
  // callbacks.
  virtual bool on_websocket(const Request& request, std::shared_ptr<WebSocket> socket) = 0;
  // Renders the answer to a request that was refused before it reached on_request (body too large, malformed). `status`
  // is the HTTP status, `detail` a sentence.
  virtual Response on_protocol_error(int status, const std::string& detail) = 0;
};

struct ServerSettings {
  std::string address = "127.0.0.1";  // empty: only on the Unix socket
  std::uint16_t port = 5000;          // 0: any free port
  std::size_t body_bytes_max = 1 << 20;
  std::size_t header_bytes_max = 16 << 10;
  std::size_t connections_max = 20'000;                    // fewer, where the process may not have so many files open
  Duration request_timeout = Duration::whole_seconds(30);  // from the beginning of a request to its end
  Duration idle_timeout = Duration::whole_seconds(120);    // keep-alive connection without a request
  // Connections without a trusted request so far: if there are more, the oldest of them is closed.
  std::size_t strangers_max = 2'000;
  Duration stranger_timeout = Duration::whole_seconds(10);  // from waiting for the first byte to the whole head
  std::size_t stranger_body_bytes_max = 4 << 10;
  // Trusted connections of one user: if there are more, the one that has waited longest for a request is closed, or if all
  // are busy the one whose request is oldest.
  std::size_t user_connections_max = 1'000;
  std::string socket_path = {};  // a Unix socket to listen on as well; empty: none
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;  // closes the listener and all connections
  virtual std::uint16_t port() const = 0;
  virtual void stop_accepting() = 0;
  // Errors: "port-in-use" (conflict), "address-unavailable", each with a hint.
  static Result<std::unique_ptr<HttpServer>> listen(EventLoop& loop, const ServerSettings& settings, Handler& handler);
};

}  // namespace sl::net
