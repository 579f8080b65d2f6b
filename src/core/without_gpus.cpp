#include "core/without_gpus.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cmath>

#include "policy/placer.h"
#include "policy/waiting_lines.h"

namespace sl {
namespace {

// Nothing that is free there is left for others.
void take_all(ServerIndex server, Trial& trial) {
  ResourceVector all = trial.free().resources(server);
  for (double& amount : all.amount) amount = std::isfinite(amount) ? std::max(0.0, amount) : 0;  // unlimited: it stays
  trial.take(server, {}, all);
}

}  // namespace

std::vector<std::pair<JobIndex, Allocation>> WithoutGpus::starts(const Snapshot& snapshot, const Policy* policy) {
  std::vector<std::pair<JobIndex, Allocation>> starts;
  std::vector<JobIndex> all = line(snapshot.now, policy);
  if (all.empty()) return starts;
  add_those_before(all.back(), all);
  Trial trial(snapshot.free);
  Shapes shapes;
  boost::unordered_flat_set<std::uint32_t> without_room;  // less is free for each job than for those before it
  bool is_first_kept = false;
  for (const JobIndex index : all) {
    const Job& job = jobs_[index];
    const bool needs_gpus = job.request.needs_gpus();
    const int gpus = needs_gpus && policy ? policy->gpus_least(job) : job.request.gpus_min;
    const std::uint32_t shape = shapes.intern(job, gpus, Spread::few);
    if (without_room.contains(shape)) continue;
    if (const auto at = place(trial.free(), snapshot.servers, job, gpus)) {
      trial.take(*at, job.request);
      if (!needs_gpus) starts.emplace_back(index, *at);
      continue;
    }
    without_room.insert(shape);
    if (needs_gpus) keep_room_for(job, gpus, trial);
    if (!needs_gpus && !std::exchange(is_first_kept, true)) keep_server_for(job, trial);
  }
  return starts;
}

std::vector<JobIndex> WithoutGpus::line(Instant now, const Policy* policy) {
  std::vector<JobIndex> line;
  if (jobs_.aside_without_gpus() == 0) return line;  // the usual case, however many others are set aside
  std::ranges::copy_if(jobs_.aside(), std::back_inserter(line), [&](JobIndex job) {
    return !jobs_[job].request.needs_gpus() && gate_.could_start(jobs_[job], policy, now);
  });
  sort(line);
  return line;
}

// Those with GPUs that ask for something else too.
void WithoutGpus::add_those_before(JobIndex last, std::vector<JobIndex>& line) const {
  std::ranges::copy_if(jobs_.waiting(), std::back_inserter(line),
                       [&](JobIndex job) { return !jobs_[job].request.demand.is_zero() && comes_before(job, last); });
  sort(line);
}

void WithoutGpus::sort(std::vector<JobIndex>& line) const {
  std::ranges::sort(line, [this](JobIndex a, JobIndex b) { return comes_before(a, b); });
}

bool WithoutGpus::comes_before(JobIndex a, JobIndex b) const {
  const int first = jobs_[a].request.priority, second = jobs_[b].request.priority;
  return first != second ? first > second : submitted_before(jobs_[a], jobs_[b]);
}

void WithoutGpus::keep_server_for(const Job& job, Trial& trial) const {
  const FreeGpus& free = trial.free();
  ServerIndex best;
  for (std::uint32_t s = 0; s < free.servers(); ++s) {
    const ServerIndex at(s);
    const Server& server = ledger_.servers()[at];
    if (!free.is_open(at) || !is_eligible(server, job.request)) continue;
    if (!job.request.demand.fits_in(server.description.limits())) continue;
    const auto cpus = [&](ServerIndex one) { return free.resources(one)[Resource::cpu]; };
    if (!best.valid() || cpus(at) > cpus(best)) best = at;
  }
  if (best.valid()) take_all(best, trial);
}

void WithoutGpus::keep_room_for(const Job& job, int gpus, Trial& trial) const {
  JobRequest only_gpus = job.request;
  only_gpus.demand = {};
  const auto there = place(trial.free(), ledger_.servers(), only_gpus, gpus);
  if (is_frozen(job) || !there) return;
  trial.take(*there);
  for (const ServerGpus& part : there->parts()) take_all(part.server, trial);
}

}  // namespace sl
