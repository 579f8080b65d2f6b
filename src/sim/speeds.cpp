#include "sim/speeds.h"

#include <algorithm>

#include "sim/profiles.h"
#include "sim/trainings.h"

namespace sl::sim {

Speeds::Speeds(const Trace& trace, const Cluster& cluster, const Core& core)
    : trace_(trace), interference_(cluster.interference), core_(core), depends_(depend_on_others(trace, cluster)) {
  for (const ServerKind& kind : cluster.kinds)
    of_server_.insert(of_server_.end(), static_cast<std::size_t>(kind.count), static_cast<float>(kind.speed));
}

bool Speeds::depend_on_others(const Trace& trace, const Cluster& cluster) {
  return cluster.interference.any() || std::any_of(trace.details.begin(), trace.details.end(),
                                                   [](const TraceDetails& details) { return details.gpu_share < 1; });
}

float Speeds::of(const Job& job, const Allocation& gpus) const {
  const int count = gpus.count();
  float speed = 1;
  if (count != job.request.gpus) {
    speed = static_cast<float>(speed_on(job.request.model.get(), count) /
                               speed_on(job.request.model.get(), job.request.gpus));
  }
  float slowest = 1e30F;
  for (const ServerGpus& part : gpus.parts())
    slowest = std::min(slowest, of_server_[part.server.value] * (depends_ ? undisturbed(job, part) : 1.0F));
  if (gpus.parts().size() > 1) slowest *= static_cast<float>(interference_.spanning_speed);
  return speed * slowest;
}

// How much of its speed a training keeps beside the others on this server: 1 when it is alone.
float Speeds::undisturbed(const Job& job, const ServerGpus& part) const {
  const JobIndex self = core_.find(job.request.id);
  double others_share = 0;  // on that of its GPUs where it is largest
  int others = 0;           // GPUs that only others use
  core_.servers()[part.server].all().for_each([&](int gpu) {
    double on_this = 0;
    bool taken = false;
    core_.ledger().for_each_tenant(part.server, gpu, [&](JobIndex tenant) {
      if (tenant == self) return;
      taken = true;
      on_this += share_of(core_.job(tenant));
    });
    if (part.gpus.has(gpu)) {
      others_share = std::max(others_share, on_this);
    } else {
      others += taken;
    }
  });
  double kept = 1 / (1 + interference_.server_slowdown * others);
  if (others_share > 0) kept *= std::min(1.0, interference_.sharing_efficiency / (share_of(job) + others_share));
  return static_cast<float>(kept);
}

double Speeds::share_of(const Job& job) const {
  const TraceDetails* details = trace_.details_of(trace_.jobs[index_of(job.request.id)]);
  return details ? details->gpu_share : 1;
}

}  // namespace sl::sim
