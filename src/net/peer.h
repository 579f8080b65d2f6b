// Who is at the other end of a connection, as far as the kernel of this machine knows.
#pragma once

#include <cstdint>
#include <optional>

namespace sl::net {

// The user whose process made the other end of the connected socket `fd`. Unix sockets: their peer credentials. TCP
// over loopback: the kernel is asked (sock_diag). Nothing for connections from other machines, for a peer that has
// closed its end (the kernel reports sockets without an owner as root's), and if the kernel does not answer.
std::optional<std::uint32_t> user_at_other_end(int fd);

}  // namespace sl::net
