#include "net/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/whole_number.h"

namespace sl::net {

Result<Url> parse_url(const std::string& text) {
  const std::size_t colon = text.find("://");
  const std::size_t begin = colon == std::string::npos ? 0 : colon + 3;
  const std::size_t slash = text.find_first_of("/?", begin);
  const auto refused = [&] {
    return invalid("bad-url", "not a controller's address: " + text.substr(0, slash))
        .hint("an address looks like http://127.0.0.1:5000");
  };
  const std::string scheme = colon == std::string::npos ? "" : text.substr(0, colon);
  if (scheme == "https" || scheme == "wss")
    return invalid("https-unsupported", "encrypted connections are not supported yet: " + text)
        .hint("use http:// through a local tunnel or proxy");
  if (scheme != "http" && scheme != "ws") return refused();
  const std::string authority = text.substr(begin, slash == std::string::npos ? std::string::npos : slash - begin);
  const auto parsed = parse_authority(authority);
  if (!parsed) return refused();
  Url url{parsed->host, parsed->port, "/"};
  if (slash != std::string::npos) url.target = (text[slash] == '?' ? "/" : "") + text.substr(slash);
  return url;
}

std::optional<Authority> parse_authority(std::string_view text) {
  const bool bracketed = text.starts_with('[');
  const std::size_t bracket = bracketed ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::size_t colon = text.find(':', bracket);
  const std::string_view host = bracketed ? text.substr(1, bracket - 1) : text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? "80" : text.substr(colon + 1);
  if (bracketed && bracket + 1 != std::min(colon, text.size())) return std::nullopt;
  if (host.empty() || host.find_first_of("@/\\ \t") != std::string_view::npos) return std::nullopt;
  const auto number = parse_whole_number(port);
  if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos || !number || *number > 65'535)
    return std::nullopt;
  Authority authority{std::string(host), std::string(port)};
  for (char& c : authority.host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return authority;
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return std::memcmp(&six, &in6addr_loopback, sizeof six) == 0;
  return host == "localhost";
}

}  // namespace sl::net
