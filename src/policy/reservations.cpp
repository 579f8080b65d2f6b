#include "policy/reservations.h"

#include <algorithm>
#include <utility>

#include "policy/placer.h"

namespace sl {
namespace {

constexpr double century_s = 3.2e9;

Duration bounded(double seconds) { return Duration::seconds(std::clamp(seconds, 0.0, century_s)); }

// The usable GPUs of `gpus` that are not free yet: GPUs may have several tenants, or be used from outside.
Allocation not_free(const View& view, const FreeGpus& free, const Allocation& gpus) {
  Allocation result;
  for (const ServerGpus& part : gpus.parts()) {
    const Server& server = view.servers[part.server];
    const GpuSet coming = part.gpus - free.on(part.server) - server.outside - server.unavailable;
    if (!coming.empty()) result.add(part.server, coming);
  }
  return result;
}

// Since when the job has its GPUs, by the ledger. Starting counts as running: policies are not told when an attempt
// runs.
Instant held_since(const View& view, const Job& job) {
  Instant since;
  for_each_tenancy(view.tenants, job.allocation, [&](const Tenancy& of) { since = std::max(since, of.started); });
  return since.happened() ? since : job.state_since;
}

// How long it has run since then.
Duration run_of_attempt(const View& view, const Job& job, Instant since) {
  if (!job.last_start.happened() || job.last_start < since) return {};
  return (job.is_accruing() ? view.now : job.state_since) - job.last_start;
}

bool any_gpus_will_do(const Job& job) {
  const JobRequest& request = job.request;
  return request.servers_max == any_number_of_servers && !is_frozen(job) && request.takes_any_server() &&
         request.demand.is_zero();
}

}  // namespace

std::vector<ParameterInfo> ReservationSettings::parameters(const char* overrun_factor) {
  return {
      {"default_est_s",
       ParameterType::number,
       "s",
       "86400",
       1,
       1e9,
       {},
       "run time assumed for a job that states none and has no estimate"},
      {"overrun_grace_s",
       ParameterType::number,
       "s",
       "60",
       1,
       86400,
       {},
       "a job that outlives its estimate is expected to end this much later"},
      {"overrun_factor",
       ParameterType::integer,
       "",
       overrun_factor,
       1,
       10,
       {},
       "each time it outlives that too, it is given this many times as much as the time before"},
  };
}

ReservationSettings ReservationSettings::of(const Parameters& given) {
  return {Duration::seconds(given.number("default_est_s")), Duration::seconds(given.number("overrun_grace_s")),
          given.integer("overrun_factor")};
}

Duration run_bound(const View& view, const Job& job, int gpus, const ReservationSettings& settings) {
  const Figure whole = view.estimates.run_time_s(job, gpus);
  const Duration bound = whole.known() ? bounded(whole.value) : settings.default_estimate;
  const Duration left = bound - job.run_at(view.now);
  return left.us > 0 ? left : settings.overrun_grace;
}

Instant expected_end(const View& view, const Job& job, const ReservationSettings& settings) {
  const Figure whole = view.estimates.run_time_s(job, job.allocation.count());
  const Duration bound = whole.known() ? bounded(whole.value) : settings.default_estimate;
  const Instant since = held_since(view, job);
  const Instant end = since + (bound - (job.run_at(view.now) - run_of_attempt(view, job, since)));
  if (end > view.now) return end;
  if (end + end_delay > view.now) return end + end_delay;
  const Duration overrun = view.now - end;
  if (settings.overrun_factor == 1) {  // there may have been thousands
    const std::int64_t extensions = overrun.us / settings.overrun_grace.us + 1;
    return end + settings.overrun_grace * extensions;
  }
  const Duration countable = Duration::infinite() / (16 * settings.overrun_factor);  // longer than any clock has run
  if (overrun > countable) return Instant::never();
  Duration extension = settings.overrun_grace;  // all of them together
  while (extension <= overrun) extension = extension * settings.overrun_factor + settings.overrun_grace;
  return end + extension;
}

Instant first_end(const std::vector<Holding>& holdings) {
  Instant first = Instant::never();
  for (const Holding& holding : holdings) first = std::min(first, holding.end);
  return first;
}

std::vector<Holding> holdings(const View& view, const ReservationSettings& settings) {
  std::vector<Holding> all;
  all.reserve(view.active.size());
  for (const JobIndex index : view.active) {
    const Job& job = view.job(index);
    all.push_back({expected_end(view, job, settings), job.allocation, job.request});
  }
  return all;
}

std::optional<Shadow> find_shadow(const View& view, const Job& job, int gpus, const std::vector<Holding>& holdings,
                                  Trial& trial) {
  std::vector<std::pair<Instant, std::size_t>> ends;  // of those at one time, in the order of the list
  ends.reserve(holdings.size());
  for (std::size_t i = 0; i < holdings.size(); ++i) ends.emplace_back(holdings[i].end, i);
  std::sort(ends.begin(), ends.end());
  const std::size_t before = trial.mark();
  std::optional<Shadow> found;
  for (std::size_t i = 0; i < ends.size() && !found; ++i) {
    const Holding& holding = holdings[ends[i].second];
    const Allocation coming = not_free(view, trial.free(), holding.gpus);
    if (!coming.empty()) trial.give(coming, holding.demand);
    if (i + 1 < ends.size() && ends[i + 1].first == holding.end) continue;
    if (trial.free().total() < gpus) continue;
    if (auto there = place(trial.free(), view.servers, job, gpus)) found = Shadow{holding.end, std::move(*there), {}};
  }
  if (found) {
    if (any_gpus_will_do(job)) found->extra_anywhere = trial.free().total() - gpus;
    for (std::uint32_t s = 0; s < trial.free().servers(); ++s) {
      const ServerIndex server(s);
      found->extra.push_back(trial.free().count(server) - found->gpus.on(server).count());
    }
  }
  trial.rewind(before);
  return found;
}

std::vector<Reservation> reserve(const View& view, JobIndex index, int gpus, const ReservationSettings& settings) {
  const Job& job = view.job(index);
  if (place(view.free, view.servers, job, gpus)) return {};
  FreeGpus free = view.free;
  Trial trial(free);
  const auto shadow = find_shadow(view, job, gpus, holdings(view, settings), trial);
  if (!shadow) return {};
  Reservation reservation{index, shadow->at, {}};
  for (const ServerGpus& part : shadow->gpus.parts()) reservation.on.push_back({part.server, part.gpus.count()});
  return {std::move(reservation)};
}

Backfill::Backfill(const View& view, Shadow shadow, const FreeGpus& free)
    : view_(view), shadow_(shadow.at), extra_(std::move(shadow.extra)), extra_anywhere_(shadow.extra_anywhere) {
  if (extra_anywhere_) return;
  counts_.reserve(free.servers());
  for (std::uint32_t s = 0; s < free.servers(); ++s) total_ += counts_.emplace_back(left_over_on(free, ServerIndex(s)));
}

int Backfill::left_over_on(const FreeGpus& free, ServerIndex server) const {
  return free.is_open(server) ? std::min(free.count(server), std::max(0, extra_[server.value])) : 0;
}

void Backfill::refresh(const FreeGpus& free, ServerIndex server) {
  const GpuSet gpus = free.on(server).lowest(counts_[server.value]);
  if (left_over_->on(server) == gpus && left_over_->resources(server) == free.resources(server)) return;
  left_over_->set(server, gpus, free.resources(server), free.is_open(server), view_.servers[server].description.gpus);
}

bool Backfill::ends_in_time(Duration bound) const { return view_.now + bound <= shadow_; }

std::optional<Allocation> Backfill::find(const FreeGpus& free, const JobRequest& request, int gpus, Duration bound) {
  const bool any_will_do = ends_in_time(bound) || extra_anywhere_;
  if (!ends_in_time(bound) && extra_anywhere_ && *extra_anywhere_ < gpus) return std::nullopt;
  if ((any_will_do ? free.total() : total_) < gpus) return std::nullopt;
  if (any_will_do) return place(free, view_.servers, request, gpus);
  if (!left_over_) {
    left_over_ = free;
    for (std::uint32_t s = 0; s < free.servers(); ++s) refresh(free, ServerIndex(s));
  }
  return place(*left_over_, view_.servers, request, gpus);
}

void Backfill::took(const FreeGpus& free, const Allocation& gpus, Duration bound) {
  if (extra_anywhere_) {
    if (!ends_in_time(bound)) *extra_anywhere_ -= gpus.count();
    return;
  }
  for (const ServerGpus& part : gpus.parts()) {
    if (!ends_in_time(bound)) extra_[part.server.value] -= part.gpus.count();
    const int now = left_over_on(free, part.server);
    total_ += now - std::exchange(counts_[part.server.value], now);
    if (left_over_) refresh(free, part.server);
  }
}

}  // namespace sl
