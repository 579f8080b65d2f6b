#include "policies/gandiva_packing.h"

#include <algorithm>
#include <map>

#include "policy/placer.h"

namespace sl {
namespace {

// The latest speed measured with that neighbour; 0 when there is none.
double speed_with(const Job& job, JobId neighbour) {
  if (!job.telemetry) return 0;
  const auto& speeds = job.telemetry->speeds;
  for (auto sample = speeds.rbegin(); sample != speeds.rend(); ++sample) {
    if (sample->neighbour == neighbour) return sample->steps_per_s;
  }
  return 0;
}

std::optional<std::int64_t> memory_of(const Job& job) {
  if (job.telemetry && job.telemetry->gpu_memory_used_bytes) return job.telemetry->gpu_memory_used_bytes;
  if (job.request.model && job.request.model->gpu_memory_bytes) return job.request.model->gpu_memory_bytes;
  return job.request.gpu_memory_bytes;
}

double utilization_of(const Job& job) {
  if (job.telemetry && job.telemetry->gpu_utilization_pct) return *job.telemetry->gpu_utilization_pct;
  if (job.request.model && job.request.model->gpu_utilization_pct) return *job.request.model->gpu_utilization_pct;
  return 100;
}

bool has_memory_for_both(const Snapshot& snapshot, const Job& partner, const Job& job) {
  const auto a = memory_of(partner), b = memory_of(job);
  if (!a || !b) return false;
  for (const ServerGpus& part : partner.allocation.parts()) {
    const auto total = snapshot.servers[part.server].description.gpu_memory_bytes;
    if (!total || *a + *b > *total) return false;
  }
  return true;
}

}  // namespace

std::optional<double> packing_gain(const Job& a, const Job& b) {
  const double a_alone = speed_with(a, JobId::none()), b_alone = speed_with(b, JobId::none());
  const double a_packed = speed_with(a, b.request.id), b_packed = speed_with(b, a.request.id);
  if (a_alone <= 0 || b_alone <= 0 || a_packed <= 0 || b_packed <= 0) return std::nullopt;
  return a_packed / a_alone + b_packed / b_alone;
}

Partners::Partners(const Snapshot& snapshot) {
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    if (job.state == JobState::running && job.request.shareable && !are_shared(snapshot.tenants, job.allocation))
      partners_.push_back({utilization_of(job), index});
  }
  std::sort(partners_.begin(), partners_.end(), [&](const Partner& a, const Partner& b) {
    if (a.utilization != b.utilization) return a.utilization < b.utilization;
    return submitted_before(snapshot.job(a.job), snapshot.job(b.job));
  });
}

JobIndex Partners::take(const Snapshot& snapshot, const Job& job) {
  if (!job.request.shareable) return JobIndex::none();
  for (auto at = partners_.begin(); at != partners_.end(); ++at) {
    const Job& partner = snapshot.job(at->job);
    if (partner.allocation.count() != job.request.gpus || !has_memory_for_both(snapshot, partner, job)) continue;
    if (!may_stay_on(snapshot, job, partner.allocation) || !all_usable(snapshot, partner.allocation)) continue;
    if (job.request.single_server && partner.allocation.parts().size() > 1) continue;
    if (const auto gain = packing_gain(partner, job); gain && *gain <= 1) continue;
    const JobIndex found = at->job;
    partners_.erase(at);
    return found;
  }
  return JobIndex::none();
}

std::vector<JobIndex> to_unpack(const Snapshot& snapshot) {
  std::map<std::pair<ServerIndex, int>, JobIndex> first_on;  // by server and lowest GPU
  std::vector<JobIndex> unpacked;
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    if (job.state != JobState::running || !job.request.shareable || !are_shared(snapshot.tenants, job.allocation))
      continue;
    const ServerGpus& part = job.allocation.parts().front();
    const auto [other, is_first] = first_on.try_emplace({part.server, part.gpus.lowest()}, index);
    if (is_first) continue;
    const Job& partner = snapshot.job(other->second);
    if (const auto gain = packing_gain(partner, job); !gain || *gain > 1) continue;
    const bool is_later = std::tie(partner.last_start, partner.request.id) < std::tie(job.last_start, job.request.id);
    unpacked.push_back(is_later ? index : other->second);
  }
  return unpacked;
}

}  // namespace sl
