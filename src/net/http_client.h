// A blocking HTTP client for the command line and for tests. One connection per call unless a Connection is kept.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace sl::net {

struct ClientRequest {
  std::string method = "GET";
  std::string url;  // "http://127.0.0.1:5000/api/v1/jobs?state=pending"
  Headers headers;
  std::string body;
  std::string socket = {};                         // a Unix socket to use instead of the address in `url`
  Duration timeout = Duration::whole_seconds(30);  // for the whole call; for a stream, between two pieces
  std::function<bool()> is_given_up = {};          // asked every 20 ms while the call waits
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

// Whether a process listens on this Unix socket.
bool is_listening(const std::string& socket);

// A request with an Idempotency-Key is sent again, up to three times within three seconds, if its connection breaks before
// it is answered. Errors: "controller-unreachable" (unavailable) if no connection can be made or it breaks, "timeout"
// (unavailable), "given-up" (unavailable).
Result<ClientResponse> fetch(const ClientRequest& request);

// Passes the body to `on_data` as it arrives; `on_data` returns false to stop. The body in the answer is empty unless
// the status is not 2xx; then it holds the error document.
Result<ClientResponse> fetch_stream(const ClientRequest& request, const std::function<bool(std::string_view)>& on_data);

}  // namespace sl::net
