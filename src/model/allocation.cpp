#include "model/allocation.h"

#include <algorithm>

namespace sl {

void Allocation::add(ServerIndex server, GpuSet gpus) {
  if (gpus.empty()) return;
  const std::span<ServerGpus> parts = parts_.items();
  const auto at = std::find_if(parts.begin(), parts.end(), [&](const ServerGpus& p) { return p.server >= server; });
  if (at != parts.end() && at->server == server) {
    at->gpus |= gpus;
  } else {
    parts_.insert(static_cast<std::size_t>(at - parts.begin()), {server, gpus});
  }
}

GpuSet Allocation::on(ServerIndex server) const {
  for (const ServerGpus& part : parts()) {
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
