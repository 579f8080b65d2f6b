#include "net/peer.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace sl::net {
namespace {

struct Address {
  std::uint8_t family = AF_UNSPEC;
  std::uint16_t port = 0;  // network order, like everything here
  std::array<std::uint32_t, 4> words{};
  bool is_loopback() const {
    if (family == AF_INET) return ntohl(words[0]) >> 24 == 127;
    return family == AF_INET6 && std::memcmp(words.data(), &in6addr_loopback, sizeof in6addr_loopback) == 0;
  }
};

Address address_of(const sockaddr_storage& storage) {
  Address address;
  if (storage.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(storage);
    address.family = AF_INET;
    address.port = four.sin_port;
    address.words[0] = four.sin_addr.s_addr;
  } else if (storage.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(storage);
    address.port = six.sin6_port;
    std::memcpy(address.words.data(), &six.sin6_addr, sizeof six.sin6_addr);
    address.family = AF_INET6;
    if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
      address.family = AF_INET;
      address.words = {address.words[3], 0, 0, 0};
    }
  }
  return address;
}

// A netlink socket of this thread, kept open: making one costs more than asking.
int diagnosis_socket() {
  struct Socket {
    int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    Socket() {
      const timeval patience{1, 0};
      if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    ~Socket() {
      if (fd >= 0) ::close(fd);
    }
  };
  thread_local const Socket socket;
  return socket.fd;
}

// The owner of the TCP socket that is bound to `from` and connected to `to`.
std::optional<std::uint32_t> owner_of(const Address& from, const Address& to) {
  static thread_local std::uint32_t sequence = 0;
  struct {
    nlmsghdr header;
    inet_diag_req_v2 question;
  } request{};
  request.header = {sizeof request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, ++sequence, 0};
  request.question.sdiag_family = from.family;
  request.question.sdiag_protocol = IPPROTO_TCP;
  request.question.idiag_states = ~0U;
  request.question.id.idiag_sport = from.port;
  request.question.id.idiag_dport = to.port;
  std::memcpy(request.question.id.idiag_src, from.words.data(), sizeof request.question.id.idiag_src);
  std::memcpy(request.question.id.idiag_dst, to.words.data(), sizeof request.question.id.idiag_dst);
  request.question.id.idiag_cookie[0] = request.question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const int fd = diagnosis_socket();
  if (fd < 0 || ::send(fd, &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return std::nullopt;
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  ssize_t size = 0;
  const auto* answer = reinterpret_cast<const nlmsghdr*>(buffer.data());
  do {  // skips an answer that came too late for the previous question
    size = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (size < static_cast<ssize_t>(sizeof *answer)) return std::nullopt;
  } while (answer->nlmsg_seq != sequence);
  if (answer->nlmsg_type != SOCK_DIAG_BY_FAMILY || size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg))))
    return std::nullopt;
  const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(answer));
  if (found->idiag_inode == 0) return std::nullopt;  // no process holds it any more, whatever its uid
  return found->idiag_uid;
}

}  // namespace

std::optional<std::uint32_t> user_at_other_end(int fd) {
  sockaddr_storage ours{}, theirs{};
  socklen_t ours_size = sizeof ours, theirs_size = sizeof theirs;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&ours), &ours_size) != 0) return std::nullopt;
  if (ours.ss_family == AF_UNIX) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
    return peer.uid;
  }
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &theirs_size) != 0) return std::nullopt;
  const Address here = address_of(ours), there = address_of(theirs);
  if (!here.is_loopback() || !there.is_loopback()) return std::nullopt;
  return owner_of(there, here);
}

}  // namespace sl::net
