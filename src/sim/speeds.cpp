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
      depends_(depend_on_others(trace, cluster)),
      may_share_(depend_on_others(trace, {})) {
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind)
    kind_of_server_.insert(kind_of_server_.end(), static_cast<std::size_t>(cluster.kinds[kind].count), kind);
}

bool Speeds::depend_on_others(const trace::Trace& trace, const Cluster& cluster) {
  return cluster.interference.any() ||
         std::any_of(trace.details.begin(), trace.details.end(),
                     [](const trace::TraceDetails& details) { return details.gpu_share < 1; });
}

int Speeds::gpus_given(int held) const {
  if (!may_share_) return held;
  int gpus = 0;
  for (const JobIndex index : core_.all_active()) {
    if (!stands_by(core_.job(index))) gpus += core_.job(index).allocation.count();
  }
  return gpus;
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
  Company company;  // on the one of its GPUs where the others need most
  int others = 0;   // GPUs that only others use
  core_.servers()[part.server].all().for_each([&](int gpu) {
    Company on_this;
    for (const JobIndex tenant : core_.ledger().tenants()[part.server][static_cast<std::size_t>(gpu)].jobs.items()) {
      const Job& other = core_.job(tenant);
      if (tenant == self || stands_by(other)) continue;
      on_this.jobs.push_back(tenant);
      on_this.share += share_of(other);
    }
    if (!part.gpus.has(gpu)) {
      others += !on_this.jobs.empty();
    } else if (on_this.share > company.share) {
      company = std::move(on_this);
    }
  });
  const double beside = 1 / (1 + cluster_.interference.server_slowdown * others);
  if (company.jobs.empty()) return beside;
  return beside * kept_in_company(job, company, kind_of_server_[part.server.value]);
}

// On GPUs that it shares: as measured with trainings of those families, else by the shares that all tenants need. Only
// pairs are measured; more trainings run as if two at a time took turns, each pair as long.
double Speeds::kept_in_company(const Job& job, const Company& company, std::size_t kind) const {
  const Behaviour* known = behaviours_.of(index_of(job.request.id));
  double sum = 0;
  for (const JobIndex neighbour : company.jobs) {
    const Behaviour* other = behaviours_.of(index_of(core_.job(neighbour).request.id));
    const auto kept = known && other ? known->kept_beside(other->profile().family, kind) : std::nullopt;
    if (!kept) return std::min(1.0, cluster_.interference.sharing_efficiency / (share_of(job) + company.share));
    sum += *kept;
  }
  const auto others = static_cast<double>(company.jobs.size());
  return sum / others * 2 / (others + 1);
}

double Speeds::share_of(const Job& job) const {
  const trace::TraceDetails* details = trace_.details_of(trace_.jobs[index_of(job.request.id)]);
  return details ? details->gpu_share : 1;
}

}  // namespace sl::sim
