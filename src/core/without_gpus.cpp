#include "core/without_gpus.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "policy/placer.h"

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
  const Lines& lines = jobs_.aside_without_gpus();
  Trial trial(snapshot.free);
  std::optional<Others> others;
  bool is_first_kept = false;
  for (Lines::Walk walk(lines); !walk.done();) {
    const Job& job = jobs_[walk.job()];
    if (!gate_.could_start(job, policy, snapshot.now)) {
      walk.next();
      continue;
    }
    if (!others) others = others_with_demand();
    while (!others->in_order.empty() && comes_before(others->in_order.front(), walk.job()))
      keep_for(others->take_first(*this), *others, policy, trial);
    if (const auto at = place(trial.free(), snapshot.servers, job, job.request.gpus_min)) {
      trial.take(*at, job.request);
      starts.emplace_back(walk.job(), *at);
      walk.next();
      continue;
    }
    if (!std::exchange(is_first_kept, true)) keep_server_for(job, trial);
    walk.close_line();  // less is free for each that is like it than for this one
  }
  return starts;
}

std::vector<JobIndex> WithoutGpus::line(Instant now, const Policy* policy) const {
  LineGate gate(ledger_, jobs_);
  gate.refresh();
  std::vector<JobIndex> line;
  for (Lines::Walk walk(jobs_.aside_without_gpus()); !walk.done(); walk.next()) {
    if (gate.could_start(jobs_[walk.job()], policy, now)) line.push_back(walk.job());
  }
  return line;
}

WithoutGpus::Others WithoutGpus::others_with_demand() const {
  Others others;
  std::ranges::copy_if(jobs_.waiting(), std::back_inserter(others.in_order),
                       [&](JobIndex job) { return !jobs_[job].request.demand.is_zero(); });
  std::ranges::make_heap(others.in_order, [this](JobIndex a, JobIndex b) { return comes_before(b, a); });
  return others;
}

JobIndex WithoutGpus::Others::take_first(const WithoutGpus& rule) {
  std::ranges::pop_heap(in_order, [&](JobIndex a, JobIndex b) { return rule.comes_before(b, a); });
  const JobIndex first = in_order.back();
  in_order.pop_back();
  return first;
}

// What a job with GPUs needs, or what is to be left for it.
void WithoutGpus::keep_for(JobIndex index, Others& others, const Policy* policy, Trial& trial) const {
  const Job& job = jobs_[index];
  const int gpus = policy ? policy->gpus_least(job) : job.request.gpus_min;
  const std::uint32_t shape = others.shapes.intern(job, gpus, Spread::few);
  if (others.without_room.contains(shape)) return;
  if (const auto at = place(trial.free(), ledger_.servers(), job, gpus)) return trial.take(*at, job.request);
  others.without_room.insert(shape);
  keep_room_for(job, gpus, trial);
}

bool WithoutGpus::comes_before(JobIndex a, JobIndex b) const {
  return ArrivalKey::of(jobs_[a]) < ArrivalKey::of(jobs_[b]);
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
