#include "courier/hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <memory>

#include "courier/libcurl.h"

namespace sl::courier {
namespace {

// Whether a network interface of this machine has an address for which this is true.
template <typename IsIt>
bool has_interface(IsIt is_it) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(list, ::freeifaddrs);
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    if (each->ifa_addr && is_it(*each->ifa_addr)) return true;
  }
  return false;
}

bool is_reserved_v4(std::uint32_t address) {  // in host byte order
  const std::uint32_t first = address >> 24;
  if (first == 0 || first == 127 || (address >> 16) == 0xA9FE || first >= 224) return true;
  return has_interface([address](const sockaddr& own) {
    return own.sa_family == AF_INET && ntohl(reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr) == address;
  });
}

std::uint32_t v4_at(const unsigned char* bytes) {
  std::uint32_t address = 0;
  std::memcpy(&address, bytes, 4);
  return ntohl(address);
}

// The IPv4 address inside, if it stands for one: mapped, compatible, of a translator (64:ff9b::/96) or of 6to4.
bool stands_for_reserved_v4(const unsigned char* bytes) {
  constexpr unsigned char zeros[12] = {}, mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF},
                          translated[12] = {0, 0x64, 0xFF, 0x9B};
  for (const unsigned char* prefix : {zeros, mapped, translated}) {
    if (std::memcmp(bytes, prefix, 12) == 0) return is_reserved_v4(v4_at(bytes + 12));
  }
  return bytes[0] == 0x20 && bytes[1] == 0x02 && is_reserved_v4(v4_at(bytes + 2));
}

bool is_reserved_v6(const in6_addr& address) {
  const unsigned char* bytes = address.s6_addr;
  if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_MULTICAST(&address) ||
      IN6_IS_ADDR_LINKLOCAL(&address) || stands_for_reserved_v4(bytes))
    return true;
  return has_interface([&address](const sockaddr& own) {
    return own.sa_family == AF_INET6 &&
           IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr, &address);
  });
}

// A host that is an address, not a name.
bool is_reserved_literal(const std::string& host) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  const std::string plain = host.substr(0, host.find('%'));  // fe80::1%eth0
  if (::inet_pton(AF_INET, plain.c_str(), &v4.sin_addr) == 1) return is_reserved_v4(ntohl(v4.sin_addr.s_addr));
  return ::inet_pton(AF_INET6, plain.c_str(), &v6.sin6_addr) == 1 && is_reserved_v6(v6.sin6_addr);
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_local_name(const std::string& host) { return host == "localhost" || host.ends_with(".localhost"); }

struct UrlDeleter {
  void operator()(CURLU* url) const { libcurl()->url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, UrlDeleter>;

// Empty: the URL has none.
std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (libcurl()->url_get(url, which, &text, flags) != CURLUE_OK) return "";
  std::string copy(text);
  libcurl()->free(text);
  return copy;
}

std::string host_of(CURLU* url) {
  std::string host = lower(part(url, CURLUPART_HOST));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  while (host.ends_with('.')) host.pop_back();  // the root of names
  return host;
}

}  // namespace

bool is_reserved(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return is_reserved_v4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  if (address.sa_family == AF_INET6) return is_reserved_v6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return true;  // nothing else is a network
}

std::string address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* inside = address.sa_family == AF_INET
                           ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
                           : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return ::inet_ntop(address.sa_family, inside, text.data(), text.size()) ? text.data() : "an unknown address";
}

Result<AllowedHosts> AllowedHosts::parse(const std::vector<std::string>& hosts) {
  AllowedHosts allowed;
  if (!hosts.empty() && libcurl() == nullptr) return no_libcurl();
  for (const std::string& text : hosts) {
    const ParsedUrl url(libcurl()->url());
    const bool is_host = text.find_first_of("/?#@ \t") == std::string::npos &&
                         libcurl()->url_set(url.get(), CURLUPART_URL, ("http://" + text).c_str(), 0) == CURLUE_OK;
    if (!is_host)
      return invalid("bad-host", "'" + text + "' is no host").hint("--notify-allow relay.lab, or 127.0.0.1:8025");
    allowed.entries_.push_back({host_of(url.get()), part(url.get(), CURLUPART_PORT)});
  }
  return allowed;
}

bool AllowedHosts::contain(std::string_view host, std::string_view port) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.host == host && (entry.port.empty() || entry.port == port); });
}

Result<Destination> parse_destination(const std::string& url, const std::vector<std::string_view>& schemes,
                                      const AllowedHosts& allowed) {
  const auto bad = [&](const std::string& why) {
    std::string known;
    for (const std::string_view scheme : schemes) known += (known.empty() ? "" : " or ") + std::string(scheme) + "://";
    return invalid("bad-url", why).hint("write it as " + known + "HOST");
  };
  if (libcurl() == nullptr) return no_libcurl();
  const ParsedUrl parsed(libcurl()->url());
  if (libcurl()->url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return bad("this is no URL");
  const Destination found{part(parsed.get(), CURLUPART_SCHEME), host_of(parsed.get()),
                          part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  if (std::ranges::find(schemes, found.scheme) == schemes.end()) return bad("a URL here does not begin like this one");
  if (!part(parsed.get(), CURLUPART_USER).empty() || !part(parsed.get(), CURLUPART_PASSWORD).empty())
    return invalid("bad-url", "a URL here has no name or password in it, where others could read them");
  if (found.host.empty()) return bad("this URL names no host");
  Destination to = found;
  to.is_allowed = allowed.contain(to.host, to.port);
  if (!to.is_allowed && (is_local_name(to.host) || is_reserved_literal(to.host)))
    return denied("host-not-allowed", to.host + " is the controller's own machine, or on its own link")
        .hint("an admin can allow it: schedulearn controller run --notify-allow " + to.host + " …");
  return to;
}

}  // namespace sl::courier
