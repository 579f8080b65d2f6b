#include "policies/packing/gandiva_packing.h"

#include <algorithm>
#include <map>

#include "policies/packing/gandiva_turn.h"
#include "policy/placer.h"

namespace sl {
namespace {

// The latest speed measured with that neighbour, on that many workers (0: any). Null: there is none.
const SpeedSample* speed_with(const Job& job, JobId neighbour, int workers) {
  if (!job.telemetry) return nullptr;
  const auto& speeds = job.telemetry->speeds;
  for (auto sample = speeds.rbegin(); sample != speeds.rend(); ++sample) {
    if (sample->neighbour == neighbour && sample->steps_per_s > 0 && (workers == 0 || sample->workers == workers))
      return &*sample;
  }
  return nullptr;
}

// The fraction of its speed that a job keeps next to that neighbour; nothing: not measured.
std::optional<double> kept_beside(const Job& job, JobId neighbour) {
  const SpeedSample* together = speed_with(job, neighbour, 0);
  const SpeedSample* alone = together ? speed_with(job, JobId::none(), together->workers) : nullptr;
  if (!alone) return std::nullopt;
  return together->steps_per_s / alone->steps_per_s;
}

double utilization_of(const Job& job) {
  if (job.telemetry && job.telemetry->gpu_utilization_pct) return *job.telemetry->gpu_utilization_pct;
  if (job.request.model && job.request.model->gpu_utilization_pct) return *job.request.model->gpu_utilization_pct;
  return 100;
}

bool has_memory_for_both(const Snapshot& snapshot, const Job& partner, const Job& job) {
  const auto a = gpu_memory_of(partner), b = gpu_memory_of(job);
  if (!a || !b) return false;
  for (const ServerGpus& part : partner.allocation.parts()) {
    const Server& server = snapshot.servers[part.server];
    const auto total = server.description.gpu_memory_bytes;
    if (!total || *a + *b > *total || roomy(server, part.gpus, *a + *b) != part.gpus) return false;
  }
  return true;
}

}  // namespace

std::optional<double> packing_gain(const Job& a, const Job& b) {
  const auto a_keeps = kept_beside(a, b.request.id), b_keeps = kept_beside(b, a.request.id);
  if (!a_keeps && !b_keeps) return std::nullopt;
  return (a_keeps ? *a_keeps : *b_keeps) + (b_keeps ? *b_keeps : *a_keeps);
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
    if (!job.request.may_spread_over(partner.allocation)) continue;
    if (const auto gain = packing_gain(partner, job); gain && *gain <= 1) continue;
    const JobIndex found = at->job;
    partners_.erase(at);
    return found;
  }
  return JobIndex::none();
}

std::vector<PackedPair> packed_pairs(const Snapshot& snapshot, const std::vector<JobIndex>& sharing) {
  std::map<std::pair<ServerIndex, int>, JobIndex> first_on;  // by server and lowest GPU
  std::vector<PackedPair> pairs;
  for (const JobIndex index : sharing) {
    const Job& job = snapshot.job(index);
    const ServerGpus& part = job.allocation.parts().front();
    const auto [other, is_first] = first_on.try_emplace({part.server, part.gpus.lowest()}, index);
    if (is_first) continue;
    const Job& partner = snapshot.job(other->second);
    const bool is_later = std::tie(partner.last_start, partner.request.id) < std::tie(job.last_start, job.request.id);
    pairs.push_back(is_later ? PackedPair{other->second, index} : PackedPair{index, other->second});
  }
  return pairs;
}

void GandivaTurn::unpack() {
  for (const auto& [earlier, later] : packed_pairs(snapshot_, sharing_)) {
    const auto gain = packing_gain(snapshot_.job(earlier), snapshot_.job(later));
    if (!gain || *gain > 1) continue;
    decided(later);
    plan_.suspend(later);
  }
}

void GandivaTurn::spread() {
  for (const auto& [earlier, later] : packed_pairs(snapshot_, sharing_)) {
    const Job& job = snapshot_.job(later);
    if (changed_.contains(earlier) || changed_.contains(later) || !is_movable(job) || !job.request.migratable) continue;
    const Server& server = snapshot_.servers[job.allocation.parts().front().server];
    if (!is_eligible(server, job.request)) continue;  // its GPUs have been exchanged since
    JobRequest alike = job.request;
    alike.gpu_types = {server.description.gpu_type};
    auto gpus = place(trial_.free(), snapshot_.servers, alike, job.allocation.count());
    if (!gpus) continue;
    trial_.take(*gpus, job.request);
    decided(later);
    plan_.migrate(later, std::move(*gpus));
  }
}

bool GandivaTurn::pack(JobIndex index, const Job& job) {
  if (!job.request.shareable) return false;
  if (!partners_) partners_.emplace(snapshot_);
  const JobIndex partner = partners_->take(snapshot_, job);
  if (!partner.valid()) return false;
  const Job& host = snapshot_.job(partner);
  if (!is_ripe(partner) && host.last_start + quantum(host) <= snapshot_.now)
    return false;  // it has just been displaced or moved
  decided(partner);
  look_again_at(snapshot_.now + quantum(job));
  plan_.share(index, host.allocation);
  return true;
}

}  // namespace sl
