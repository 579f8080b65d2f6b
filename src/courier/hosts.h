// Which receivers messages may be sent to. Users name them, the controller connects to them: so addresses that only the
// controller can reach (loopback, link-local) are refused unless the admin has allowed the host.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::courier {

// Whether the address leads to this machine itself or to its own link: loopback, link-local, unspecified, multicast,
// also when an IPv6 address stands for such an IPv4 address.
bool is_reserved(const sockaddr& address);
std::string address_text(const sockaddr& address);  // "127.0.0.1"

// The hosts that the admin has allowed, as they are written in a URL: "relay", "127.0.0.1", "127.0.0.1:8025", "[::1]".
class AllowedHosts {
 public:
  // Errors: "bad-host", "no-libcurl".
  static Result<AllowedHosts> parse(const std::vector<std::string>& hosts);
  // `host`: in lower case, without brackets.
  bool contain(std::string_view host, std::string_view port) const;

 private:
  struct Entry {
    std::string host, port;  // no port: any
  };
  std::vector<Entry> entries_;
};

// Where a URL leads. Another scheme than these, a name and password in it, or an address that is reserved and not
// allowed is refused. A name may still lead to such an address: that shows when it is resolved (courier.h).
// Errors: "bad-url", "host-not-allowed", "no-libcurl".
struct Destination {
  std::string scheme, host, port;
  bool is_allowed = false;  // by the admin: its addresses are not checked
};
Result<Destination> parse_destination(const std::string& url, const std::vector<std::string_view>& schemes,
                                      const AllowedHosts& allowed);

}  // namespace sl::courier
