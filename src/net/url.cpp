#include "net/url.h"

namespace sl::net {

Result<Url> parse_url(const std::string& text) {
  const std::size_t colon = text.find("://");
  const std::string scheme = colon == std::string::npos ? "" : text.substr(0, colon);
  if (scheme == "https" || scheme == "wss")
    return invalid("https-unsupported", "encrypted connections are not supported yet: " + text)
        .hint("use http:// through a local tunnel or proxy");
  if (scheme != "http" && scheme != "ws")
    return invalid("bad-url", "not a controller's address: " + text).hint("it looks like http://127.0.0.1:5000");
  const std::size_t begin = colon + 3;
  const std::size_t slash = text.find_first_of("/?", begin);
  const std::string authority = text.substr(begin, slash == std::string::npos ? std::string::npos : slash - begin);
  Url url;
  url.target = slash == std::string::npos ? "/" : (text[slash] == '?' ? "/" : "") + text.substr(slash);
  const std::size_t bracket = authority.rfind(']');
  const std::size_t port = authority.find(':', bracket == std::string::npos ? 0 : bracket);
  url.host = authority.substr(0, port);
  if (bracket != std::string::npos && url.host.size() >= 2) url.host = url.host.substr(1, url.host.size() - 2);
  url.port = port == std::string::npos ? "80" : authority.substr(port + 1);
  if (url.host.empty() || url.port.empty() || url.port.find_first_not_of("0123456789") != std::string::npos)
    return invalid("bad-url", "not a controller's address: " + text);
  return url;
}

}  // namespace sl::net
