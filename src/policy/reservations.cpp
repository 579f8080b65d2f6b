#include "policy/reservations.h"

#include <algorithm>

#include "policy/placer.h"

namespace sl {
namespace {

constexpr double century_s = 3.2e9;

Duration bounded(double seconds) { return Duration::seconds(std::clamp(seconds, 0.0, century_s)); }

// What of it is not free yet and would be usable: GPUs may have several tenants, or be used from outside.
Allocation not_free(const Snapshot& snapshot, const FreeGpus& free, const Allocation& gpus) {
  Allocation result;
  for (const ServerGpus& part : gpus.parts()) {
    const Server& server = snapshot.servers[part.server];
    const GpuSet coming = part.gpus - free.on(part.server) - server.outside - server.unavailable;
    if (!coming.empty()) result.add(part.server, coming);
  }
  return result;
}

Figure known_run_time(const Snapshot& snapshot, const Job& job, int gpus) {
  const Figure whole = snapshot.estimates.run_time_s(job, gpus);
  return whole.known() || gpus == job.request.gpus ? whole : snapshot.estimates.run_time_s(job, job.request.gpus);
}

// Since when it has its GPUs, by the ledger. Starting counts as running: when an attempt runs is told to nobody.
Instant held_since(const Snapshot& snapshot, const Job& job) {
  Instant since;
  for_each_tenancy(snapshot.tenants, job.allocation, [&](const Tenancy& of) { since = std::max(since, of.started); });
  return since.happened() ? since : job.state_since;
}

// What it has run since then.
Duration run_of_attempt(const Snapshot& snapshot, const Job& job, Instant since) {
  if (!job.last_start.happened() || job.last_start < since) return {};
  return (job.is_accruing() ? snapshot.now : job.state_since) - job.last_start;
}

}  // namespace

std::vector<ParameterInfo> ReservationSettings::parameters() {
  return {
      {"default_est_s",
       ParameterType::number,
       "s",
       "86400",
       1,
       1e9,
       {},
       "run time of a job that states none and about which nothing is known"},
      {"overrun_grace_s",
       ParameterType::number,
       "s",
       "60",
       1,
       86400,
       {},
       "a job that outlives its estimate is expected to end this long from now"},
  };
}

ReservationSettings ReservationSettings::of(const Parameters& given) {
  return {Duration::seconds(given.number("default_est_s")), Duration::seconds(given.number("overrun_grace_s"))};
}

Duration run_bound(const Snapshot& snapshot, const Job& job, int gpus, const ReservationSettings& settings) {
  const Figure whole = known_run_time(snapshot, job, gpus);
  const Duration bound = whole.known() ? bounded(whole.value) : settings.default_estimate;
  const Duration left = bound - job.run_at(snapshot.now);
  return left.us > 0 ? left : settings.overrun_grace;
}

Instant expected_end(const Snapshot& snapshot, const Job& job, const ReservationSettings& settings) {
  const Figure whole = known_run_time(snapshot, job, job.allocation.count());
  const Duration bound = whole.known() ? bounded(whole.value) : settings.default_estimate;
  const Instant since = held_since(snapshot, job);
  const Instant end = since + (bound - (job.run_at(snapshot.now) - run_of_attempt(snapshot, job, since)));
  if (end > snapshot.now) return end;
  const std::int64_t extensions = (snapshot.now - end).us / settings.overrun_grace.us + 1;
  return end + settings.overrun_grace * extensions;
}

Instant first_end(const std::vector<Holding>& holdings) {
  Instant first = Instant::never();
  for (const Holding& holding : holdings) first = std::min(first, holding.end);
  return first;
}

std::vector<Holding> holdings(const Snapshot& snapshot, const ReservationSettings& settings) {
  std::vector<Holding> all;
  all.reserve(snapshot.active.size());
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    all.push_back({expected_end(snapshot, job, settings), job.allocation, job.request.demand});
  }
  return all;
}

std::optional<Shadow> find_shadow(const Snapshot& snapshot, const JobRequest& request, int gpus,
                                  std::vector<Holding> holdings, Trial& trial) {
  std::stable_sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) { return a.end < b.end; });
  const std::size_t before = trial.mark();
  std::optional<Shadow> found;
  for (std::size_t i = 0; i < holdings.size() && !found; ++i) {
    const Allocation coming = not_free(snapshot, trial.free(), holdings[i].gpus);
    if (!coming.empty()) trial.give(coming, holdings[i].demand);
    if (i + 1 < holdings.size() && holdings[i + 1].end == holdings[i].end) continue;
    if (trial.free().total() < gpus) continue;
    if (auto there = place(trial.free(), snapshot.servers, request, gpus))
      found = Shadow{holdings[i].end, std::move(*there), {}};
  }
  if (found) {
    for (std::uint32_t s = 0; s < trial.free().servers(); ++s) {
      const ServerIndex server(s);
      found->extra.push_back(trial.free().count(server) - found->gpus.on(server).count());
    }
  }
  trial.rewind(before);
  return found;
}

Backfill::Backfill(const Snapshot& snapshot, const Shadow& shadow, const FreeGpus& free)
    : snapshot_(snapshot), shadow_(shadow.at), extra_(shadow.extra), left_over_(free) {
  for (std::uint32_t s = 0; s < free.servers(); ++s) refresh(free, ServerIndex(s));
}

void Backfill::refresh(const FreeGpus& free, ServerIndex server) {
  const int count = std::min(free.count(server), std::max(0, extra_[server.value]));
  if (left_over_.on(server) == free.on(server).lowest(count) && left_over_.resources(server) == free.resources(server))
    return;
  left_over_.set(server, free.on(server).lowest(count), free.resources(server), free.is_open(server),
                 snapshot_.servers[server].description.gpus);
}

bool Backfill::ends_in_time(Duration bound) const { return snapshot_.now + bound <= shadow_; }

std::optional<Allocation> Backfill::find(const FreeGpus& free, const JobRequest& request, int gpus,
                                         Duration bound) const {
  const FreeGpus& from = ends_in_time(bound) ? free : left_over_;
  if (from.total() < gpus) return std::nullopt;
  return place(from, snapshot_.servers, request, gpus);
}

void Backfill::took(const FreeGpus& free, const Allocation& gpus, Duration bound) {
  for (const ServerGpus& part : gpus.parts()) {
    if (!ends_in_time(bound)) extra_[part.server.value] -= part.gpus.count();
    refresh(free, part.server);
  }
}

}  // namespace sl
