// A blocking HTTP client for the command line and for tests. One connection a call unless a Connection is kept.
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
  Duration timeout = Duration::whole_seconds(30);  // for the whole call; for a stream, between two pieces
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

// Errors: "controller-unreachable" (unavailable) when no connection can be made or it breaks, "timeout" (unavailable).
Result<ClientResponse> fetch(const ClientRequest& request);

// Hands the body to `on_data` as it arrives; return false from it to stop. The answer's body is empty unless the status
// is not 2xx, when it holds the error document.
Result<ClientResponse> fetch_stream(const ClientRequest& request, const std::function<bool(std::string_view)>& on_data);

}  // namespace sl::net
