#include "agent/machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace sl::agent {

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  int port = 29500;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  ::close(fd);
  return port;
}

std::int64_t memory_kib(const char* key) {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::int64_t value = 0; file >> name >> value;) {
    std::getline(file, unit);
    if (name == std::string(key) + ":") return value;
  }
  return 0;
}

std::pair<double, double> cpu_ticks() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double all = 0, idle = 0, value = 0;
  for (int i = 0; i < 8 && file >> value; ++i) {
    all += value;
    if (i == 3 || i == 4) idle += value;
  }
  return {all - idle, all};
}

namespace {

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::int64_t parent_of(std::int64_t pid) {
  const std::string text = line_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || end + 4 >= text.size() ? 0 : std::atoll(text.c_str() + end + 4);
}

std::string host_name() {
  char name[256] = "server";
  ::gethostname(name, sizeof name - 1);
  const std::string text = name;
  return text.substr(0, text.find('.'));
}

}  // namespace sl::agent
