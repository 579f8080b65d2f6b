#include "model/allocation.h"

#include <algorithm>

namespace sl {

void Allocation::add(ServerIndex server, GpuSet gpus) {
  if (gpus.empty()) return;
  if (empty()) {
    one_ = {server, gpus};
  } else if (one_.server == server) {
    one_.gpus |= gpus;
  } else {
    if (!several_) several_ = std::make_unique<Several>(1, std::exchange(one_, {}));
    auto at = std::find_if(several_->begin(), several_->end(), [&](const ServerGpus& p) { return p.server >= server; });
    if (at != several_->end() && at->server == server) {
      at->gpus |= gpus;
    } else {
      several_->insert(at, {server, gpus});
    }
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
