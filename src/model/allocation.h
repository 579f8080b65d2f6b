// Which GPUs, on which servers, in ascending server index. Nearly every allocation is on one server.
#pragma once

#include <span>

#include "base/one_or_more.h"
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

  // Adds GPUs, keeping the parts ordered by server.
  void add(ServerIndex server, GpuSet gpus);
  GpuSet on(ServerIndex server) const;  // empty when it holds none there
  int count() const {
    int total = 0;
    for (const ServerGpus& part : parts()) total += part.gpus.count();
    return total;
  }
  bool empty() const { return parts_.empty(); }
  void clear() { parts_ = {}; }
  std::span<const ServerGpus> parts() const { return parts_.items(); }
  friend bool operator==(const Allocation&, const Allocation&) = default;

 private:
  OneOrMore<ServerGpus> parts_;
};

// The GPUs of `a` that are not in `b`.
Allocation difference(const Allocation& a, const Allocation& b);

}  // namespace sl
