// A request whose connection somebody has taken over (Handler::on_head): its body has not been read, and nothing else
// comes over that connection. Exactly one of refuse, switch_to and forward; then it ends by itself, or is closed.
// Belongs to the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/byte_stream.h"
#include "net/http.h"

namespace sl::net {

// How a request goes to another server.
struct Forwarding {
  std::string target;  // path and query
  Headers headers;     // what Connection, Upgrade, Content-Length and Transfer-Encoding have to be, is added
  // What the requester sees of the answer's headers; they have no Connection, Content-Length and the like.
  std::function<void(Headers& headers)> edit_answer;
  // What it sees if that server says nothing that is HTTP.
  std::function<Response()> no_answer;
};

class TakenRequest {
 public:
  virtual ~TakenRequest() = default;
  virtual void refuse(Response response) = 0;
  // Answers that another protocol follows. Null: the requester has gone.
  virtual void switch_to(const std::string& protocol, OnConnected then) = 0;
  // Sends it on and the answer back, both as they come, at the pace of the slower side; both may change over to another
  // protocol (WebSocket). `to` comes from one of the connect_ functions, or from switch_to.
  virtual void forward(std::shared_ptr<ByteStream> to, Forwarding forwarding, std::function<void()> ended) = 0;
  virtual void close() = 0;
};

}  // namespace sl::net
