#include "sim/speeds.h"

#include <algorithm>
#include <limits>

#include "sim/trainings.h"

namespace sl::sim {

Speeds::Speeds(const trace::Trace& trace, const Cluster& cluster, const Behaviours& behaviours, const Core& core)
    : trace_(trace),
      cluster_(cluster),
      behaviours_(behaviours),
      core_(core),
      depends_(depend_on_others(trace, cluster)) {
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind)
    kind_of_server_.insert(kind_of_server_.end(), static_cast<std::size_t>(cluster.kinds[kind].count), kind);
}

bool Speeds::depend_on_others(const trace::Trace& trace, const Cluster& cluster) {
  return cluster.interference.any() ||
         std::any_of(trace.details.begin(), trace.details.end(),
                     [](const trace::TraceDetails& details) { return details.gpu_share < 1; });
}

float Speeds::of(const Job& job, const Allocation& gpus) const {
  if (const Behaviour* known = behaviours_.of(index_of(job.request.id))) return of_measured(*known, job, gpus);
  if (!job.request.needs_gpus()) return 1;  // the speeds of servers are those of their GPUs
  const int count = gpus.count();
  float speed = 1;
  if (count != job.request.gpus) {
    const trace::TraceDetails* details = trace_.details_of(trace_.jobs[index_of(job.request.id)]);
    const SpeedCurve& curve = details && details->model ? details->model->speed_curve : unmeasured_speed_curve;
    speed = static_cast<float>(curve.speed_on(count, job.request.gpus));
  }
  float slowest = 1e30F;
  for (const ServerGpus& part : gpus.parts()) {
    const auto of_server = static_cast<float>(cluster_.kinds[kind_of_server_[part.server.value]].speed);
    slowest = std::min(slowest, of_server * (depends_ ? static_cast<float>(undisturbed(job, part)) : 1.0F));
  }
  if (spans(gpus)) slowest *= static_cast<float>(cluster_.interference.spanning_speed);
  return speed * slowest;
}

float Speeds::of_measured(const Behaviour& known, const Job& job, const Allocation& gpus) const {
  const bool is_wide = job.request.gpus > cluster_.gpus_per_server_max();
  double slowest = std::numeric_limits<double>::infinity();
  for (const ServerGpus& part : gpus.parts()) {
    const double alone = known.steps_per_s(kind_of_server_[part.server.value], gpus.count(), spans(gpus));
    slowest = std::min(slowest, depends_ ? alone * undisturbed(job, part) : alone);
  }
  return static_cast<float>(slowest / known.reference_steps_per_s(job.request.gpus, is_wide));
}

// The fraction of its speed that a training keeps next to the other jobs on this server: 1 if it is alone.
double Speeds::undisturbed(const Job& job, const ServerGpus& part) const {
  const JobIndex self = core_.find(job.request.id);
  double others_share = 0;  // on the one of its GPUs where it is largest
  int others = 0;           // GPUs that only others use
  JobIndex neighbour;
  core_.servers()[part.server].all().for_each([&](int gpu) {
    double on_this = 0;
    bool taken = false;
    for (const JobIndex tenant : core_.ledger().tenants()[part.server][static_cast<std::size_t>(gpu)].jobs.items()) {
      const Job& other = core_.job(tenant);
      const bool stands_by = other.state == JobState::starting && other.gpus_awaited > 0;
      if (tenant == self || stands_by) continue;
      taken = true;
      on_this += share_of(other);
      if (part.gpus.has(gpu)) neighbour = tenant;
    }
    if (part.gpus.has(gpu)) {
      others_share = std::max(others_share, on_this);
    } else {
      others += taken;
    }
  });
  const double beside = 1 / (1 + cluster_.interference.server_slowdown * others);
  if (others_share <= 0) return beside;
  return beside * kept_in_company(job, neighbour, others_share, kind_of_server_[part.server.value]);
}

// On GPUs that it shares: as measured with a training of that family, else by the shares that all its tenants need.
double Speeds::kept_in_company(const Job& job, JobIndex neighbour, double others_share, std::size_t kind) const {
  const Behaviour* known = behaviours_.of(index_of(job.request.id));
  const Behaviour* other = behaviours_.of(index_of(core_.job(neighbour).request.id));
  if (known && other) {
    if (const auto kept = known->kept_beside(other->profile().family, kind)) return *kept;
  }
  return std::min(1.0, cluster_.interference.sharing_efficiency / (share_of(job) + others_share));
}

double Speeds::share_of(const Job& job) const {
  const trace::TraceDetails* details = trace_.details_of(trace_.jobs[index_of(job.request.id)]);
  return details ? details->gpu_share : 1;
}

}  // namespace sl::sim
