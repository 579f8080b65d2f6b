#include "model/allocation.h"

#include <algorithm>

namespace sl {

void Allocation::add(ServerIndex server, GpuSet gpus) {
  if (gpus.empty()) return;
  auto at = std::find_if(parts_.begin(), parts_.end(), [&](const ServerGpus& p) { return p.server >= server; });
  if (at != parts_.end() && at->server == server) {
    at->gpus |= gpus;
  } else {
    parts_.insert(at, ServerGpus{server, gpus});
  }
}

GpuSet Allocation::on(ServerIndex server) const {
  for (const ServerGpus& part : parts_) {
    if (part.server == server) return part.gpus;
  }
  return {};
}

Allocation difference(const Allocation& a, const Allocation& b) {
  Allocation result;
  for (const ServerGpus& part : a.parts()) result.add(part.server, part.gpus - b.on(part.server));
  return result;
}

}  // namespace sl
