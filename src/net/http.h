// HTTP requests and answers, for servers and clients alike. Header names are lower case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sl::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;                                      // "GET"
  std::string target;                                      // as it was sent: "/api/v1/jobs/5?a=b"
  std::string path;                                        // percent-decoded, without the query: "/api/v1/jobs/5"
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Headers headers;
  std::string body;
  std::string peer;                       // "127.0.0.1:40512"; "unix" over a Unix socket
  std::optional<std::uint32_t> peer_uid;  // the user who sent it, if the kernel knows (peer.h)

  std::optional<std::string> header(std::string_view lower_case_name) const;
  // Whether this is what its body is said to be, whatever the case and the parameters: "application/json".
  bool has_media_type(std::string_view lower_case_type) const;
  std::optional<std::string> parameter(std::string_view name) const;  // first value in the query
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;
  std::string body;
};

std::string percent_decode(std::string_view text, bool plus_is_space);
std::string percent_encode(std::string_view text);  // everything but letters, digits and -_.~
// How a request can be read in two ways, by us and by a proxy before us, of which one would see another request in its body
// (RFC 9112, 3.2, 6.1 and 6.3); null: it cannot.
const char* what_is_ambiguous(const Request& head);
// Fills target, path and query from the request line's target.
void parse_target(std::string_view target, Request& request);

}  // namespace sl::net
