// Which GPUs, on which servers, in ascending server index. Nearly every allocation is on one server, so that one is
// kept in place and costs no memory of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/gpu_set.h"
#include "model/ids.h"

namespace sl {

struct ServerGpus {
  ServerIndex server;
  GpuSet gpus;
  friend bool operator==(const ServerGpus&, const ServerGpus&) = default;
};

class Allocation {
 public:
  Allocation() = default;
  Allocation(ServerIndex server, GpuSet gpus) { add(server, gpus); }
  Allocation(const Allocation& other)
      : one_(other.one_), several_(other.several_ ? std::make_unique<Several>(*other.several_) : nullptr) {}
  Allocation(Allocation&& other) noexcept : one_(std::exchange(other.one_, {})), several_(std::move(other.several_)) {}
  Allocation& operator=(Allocation other) noexcept {
    one_ = other.one_;
    several_ = std::move(other.several_);
    return *this;
  }

  // Adds GPUs, keeping the parts ordered by server.
  void add(ServerIndex server, GpuSet gpus);
  GpuSet on(ServerIndex server) const;  // empty when it holds none there
  int count() const {
    int total = 0;
    for (const ServerGpus& part : parts()) total += part.gpus.count();
    return total;
  }
  bool empty() const { return !several_ && !one_.server.valid(); }
  void clear() { *this = {}; }
  std::span<const ServerGpus> parts() const {
    if (several_) [[unlikely]]
      return *several_;
    return {&one_, one_.server.valid() ? 1u : 0u};
  }
  friend bool operator==(const Allocation& a, const Allocation& b) {
    return a.several_ || b.several_ ? std::ranges::equal(a.parts(), b.parts()) : a.one_ == b.one_;
  }

 private:
  using Several = std::vector<ServerGpus>;
  ServerGpus one_;                    // none: it is empty, or there are several
  std::unique_ptr<Several> several_;  // two or more
};

// The GPUs of `a` that are not in `b`.
Allocation difference(const Allocation& a, const Allocation& b);

}  // namespace sl
