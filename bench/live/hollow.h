// Agents without servers: real sockets and the real protocol, but jobs that are only reported to run. They run on a
// thread of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sl::bench {

class HollowAgents {
 public:
  // They connect at once. A job runs for `job_s` seconds; 0: for ever.
  HollowAgents(std::uint16_t port, int count, int gpus_each, double job_s);
  ~HollowAgents();
  int connected() const;
  std::size_t started() const;
  // The slowest answer to a ping since the last call, in seconds.
  double slowest_ping_s();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sl::bench
