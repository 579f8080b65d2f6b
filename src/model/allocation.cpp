#include "model/allocation.h"

#include <algorithm>

namespace sl {

void Allocation::add(ServerIndex server, GpuSet gpus) {
  if (gpus.empty()) return;
  const std::span<ServerGpus> parts = parts_.items();
  const auto there = std::ranges::find(parts, server, &ServerGpus::server);
  if (there != parts.end()) {
    there->gpus |= gpus;
    return;
  }
  const auto after = std::find_if(parts.begin(), parts.end(), [&](const ServerGpus& p) { return p.server > server; });
  parts_.insert(static_cast<std::size_t>(after - parts.begin()), {server, gpus});
}

GpuSet Allocation::on(ServerIndex server) const {
  for (const ServerGpus& part : parts()) {
    if (part.server == server) return part.gpus;
  }
  return {};
}

bool Allocation::is_on(ServerIndex server) const {
  return std::ranges::find(parts(), server, &ServerGpus::server) != parts().end();
}

Allocation difference(const Allocation& a, const Allocation& b) {
  Allocation result;
  for (const ServerGpus& part : a.parts()) result.add(part.server, part.gpus - b.on(part.server));
  return result;
}

}  // namespace sl
