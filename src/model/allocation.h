// Which GPUs, on which servers. Nearly every allocation is on one server. Those on several are in ascending server
// index, unless made by append(): the members of a job with roles are numbered in the order of the parts. That of a job
// without GPUs has one part, its server, with no GPU.
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
  Allocation(ServerIndex server, GpuSet gpus) { parts_.insert(0, {server, gpus}); }  // also if it is none of its GPUs

  // Adds GPUs: to the part of this server, else to a new one where it belongs by server index.
  void add(ServerIndex server, GpuSet gpus);
  void add(const Allocation& other) {
    for (const ServerGpus& part : other.parts()) add(part.server, part.gpus);
  }
  // Adds GPUs of a server that has none yet, as the last part.
  void append(ServerIndex server, GpuSet gpus) {
    if (!gpus.empty()) parts_.insert(parts_.items().size(), {server, gpus});
  }
  GpuSet on(ServerIndex server) const;  // empty if it holds no GPU there
  bool is_on(ServerIndex server) const;
  [[gnu::always_inline]] int count() const {
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
