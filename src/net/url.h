// "http://host:port/path?query" in its parts. Only http and ws: TLS belongs to a proxy for now.
#pragma once

#include <string>

#include "base/result.h"

namespace sl::net {

struct Url {
  std::string host;
  std::string port;    // "80" when none is given
  std::string target;  // path and query, at least "/"
};

// Errors: "bad-url", "https-unsupported".
Result<Url> parse_url(const std::string& text);

}  // namespace sl::net
