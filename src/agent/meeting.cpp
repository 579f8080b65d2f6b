#include "agent/meeting.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "net/url.h"

namespace sl::agent {

Result<ReservedPort> ReservedPort::take() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (descriptor < 0 || ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    return unavailable("server_setup", std::string("no port for its processes to meet on: ") + std::strerror(error));
  }
  return ReservedPort(descriptor, ntohs(address.sin_port));
}

ReservedPort::~ReservedPort() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<wire::AttemptPart> as_seen_here(std::vector<wire::AttemptPart> parts, int rank,
                                            const std::string& controller_host) {
  const bool is_beside_controller = net::is_loopback(parts[static_cast<std::size_t>(rank)].address);
  for (wire::AttemptPart& part : parts) {
    if (!is_beside_controller && net::is_loopback(part.address)) part.address = controller_host;
  }
  return parts;
}

namespace {

// The address from which this server would send to another, which nothing is sent to.
bool find_own_address(const std::string& other, sockaddr_storage& own) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(other.c_str(), "9", &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const int descriptor = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  socklen_t size = sizeof own;
  const bool is_found = descriptor >= 0 && ::connect(descriptor, found->ai_addr, found->ai_addrlen) == 0 &&
                        ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  if (descriptor >= 0) ::close(descriptor);
  return is_found;
}

bool are_equal(const sockaddr& a, const sockaddr_storage& b) {
  if (a.sa_family != b.ss_family) return false;
  if (a.sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  return a.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

std::string in_numbers(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET, hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return host;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::array<char, NI_MAXHOST> text{};
  const bool is_told =
      ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  return is_told ? text.data() : host;
}

std::string interface_towards_others(const std::vector<wire::AttemptPart>& parts, int rank) {
  sockaddr_storage own{};
  const wire::AttemptPart& other = parts[rank == 0 && parts.size() > 1 ? 1 : 0];
  ifaddrs* all = nullptr;
  if (!find_own_address(other.address, own) || ::getifaddrs(&all) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  for (const ifaddrs* at = all; at; at = at->ifa_next) {
    if (at->ifa_addr && are_equal(*at->ifa_addr, own)) return at->ifa_name;
  }
  return "";
}

}  // namespace sl::agent
