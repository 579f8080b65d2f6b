// How the processes of an attempt on several servers reach each other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// A port of this server that nobody else gets while this object lives.
class ReservedPort {
 public:
  // Errors: "server_setup".
  static Result<ReservedPort> take();
  ReservedPort(ReservedPort&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), port_(other.port_) {}
  ReservedPort& operator=(ReservedPort&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(port_, other.port_);
    return *this;
  }
  ~ReservedPort();
  int number() const { return port_; }

 private:
  ReservedPort(int descriptor, int port) : descriptor_(descriptor), port_(port) {}
  int descriptor_;
  int port_;
};

// The controller sees an agent on its own machine at a loopback address. Others reach that server where they reach the
// controller. `rank`: of this server.
std::vector<wire::AttemptPart> as_seen_here(std::vector<wire::AttemptPart> parts, int rank,
                                            const std::string& controller_host);

// The IPv4 address of a host in numbers; the name itself if it is not known.
std::string in_numbers(const std::string& host);

// The network interface over which this server sends to the first of the other parts ("eth0"); empty: unknown.
std::string interface_towards_others(const std::vector<wire::AttemptPart>& parts, int rank);

}  // namespace sl::agent
