// The parts of "http://host:port/path?query". Only http and ws: TLS is left to a proxy for now.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::net {

struct Url {
  std::string host;
  std::string port;    // "80" if none is given
  std::string target;  // path and query, at least "/"
};

// Errors: "bad-url", "https-unsupported".
Result<Url> parse_url(const std::string& text);

// The contents of a Host header: "127.0.0.1:5000", "[::1]", "lab". The host is in lower case and without brackets.
struct Authority {
  std::string host;
  std::string port;  // "80" if none is given
  friend bool operator==(const Authority&, const Authority&) = default;
};
std::optional<Authority> parse_authority(std::string_view text);

// An address that only this machine can reach (127.0.0.0/8, ::1), or the name localhost. Names that merely look like
// such an address do not count.
bool is_loopback(const std::string& host);

}  // namespace sl::net
