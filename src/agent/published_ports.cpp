#include "agent/published_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "agent/files.h"
#include "agent/machine.h"

namespace sl::agent {
namespace {

constexpr const char* file_name = "/ports";
constexpr int tries_max = 100;

bool is_in_use(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;  // what a closed connection has left behind is in nobody's way
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool in_use =
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == EADDRINUSE;
  ::close(socket);
  return in_use;
}

int any_port(const std::set<int>& taken) {
  int port = free_port();
  for (int tries = 0; taken.contains(port) && tries < tries_max; ++tries) port = free_port();
  return port;
}

}  // namespace

Result<PublishedPorts> choose_ports(const std::map<std::string, wire::PortSpec>& wanted, const std::set<int>& taken) {
  PublishedPorts chosen;
  std::set<int> all = taken;
  for (const auto& [name, one] : wanted) {
    if (one.port == 0) continue;
    if (taken.contains(one.port) || is_in_use(one.port))
      return invalid("setup", "port " + std::to_string(one.port) + " (" + name +
                                  ") is in use on this server; [ports] " + name + " = 0 takes one that is free");
    all.insert(chosen[name] = one.port);
  }
  for (const auto& [name, one] : wanted) {
    if (one.port == 0) all.insert(chosen[name] = any_port(all));
  }
  return chosen;
}

void write_ports(const std::string& attempt_dir, const PublishedPorts& ports) {
  if (ports.empty()) return;
  std::ofstream file(attempt_dir + file_name);
  for (const auto& [name, port] : ports) file << name << ' ' << port << '\n';
}

PublishedPorts read_ports(const std::string& attempt_dir) {
  PublishedPorts ports;
  std::istringstream lines(read_text(attempt_dir + file_name));
  std::string name;
  for (int port = 0; lines >> name >> port;) ports[name] = port;
  return ports;
}

std::set<int> ports_of(const std::vector<std::string>& attempt_dirs) {
  std::set<int> ports;
  for (const std::string& folder : attempt_dirs) {
    for (const auto& [name, port] : read_ports(folder)) ports.insert(port);
  }
  return ports;
}

}  // namespace sl::agent
