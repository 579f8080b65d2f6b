// A disk without room, for tests that may not mount one.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace sl::test {

// While it lives, this process, and what it starts, can make no file longer than that: a write ends early, and the next
// one fails.
class FullDisk {
 public:
  explicit FullDisk(rlim_t file_bytes_max = 0) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now = {file_bytes_max, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_before_)(int) = std::signal(SIGXFSZ, SIG_IGN);  // it would end the process
};

}  // namespace sl::test
