// Files of /proc and of control groups: short, and read often.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace sl::agent {

// Empty if there is no such file. The kernel fills the buffer as long as there is more: a buffer that is half empty was
// the last one, and reading again would double the cost of most files.
inline std::string read_proc_file(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  for (ssize_t n = sizeof buffer; n >= static_cast<ssize_t>(sizeof buffer / 2);) {
    n = ::read(file, buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(file);
  return text;
}

}  // namespace sl::agent
