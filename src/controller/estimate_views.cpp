#include "controller/estimate_views.h"

#include <fmt/format.h>

#include <map>

namespace sl::controller {
namespace {

using forecast::Basis;
using forecast::BasisKind;

const char* confidence_of(const Basis& basis) {
  constexpr std::size_t many = 10, some = 3;
  switch (basis.kind) {
    case BasisKind::none:
      return "unknown";
    case BasisKind::progress:
      return "high";
    case BasisKind::alike:
      return basis.runs >= many ? "high" : basis.runs >= some ? "medium" : "low";
    case BasisKind::estimate:
      return "medium";
    case BasisKind::time_limit:
    case BasisKind::others:
      return "low";
  }
  return "unknown";
}

std::string runs_text(std::size_t runs) { return fmt::format("{} finished run{}", runs, runs == 1 ? "" : "s"); }

std::string basis_text(const Basis& basis) {
  switch (basis.kind) {
    case BasisKind::none:  // it is being stopped
      return "how long stopping usually takes";
    case BasisKind::progress:
      return "the progress that it reports";
    case BasisKind::alike:
      return runs_text(basis.runs) + " like it";
    case BasisKind::estimate:
      return basis.runs > 0 ? fmt::format("its user's estimate, and how {} compared with theirs", runs_text(basis.runs))
                            : "its user's estimate";
    case BasisKind::time_limit:
      return basis.runs > 0 ? fmt::format("its time limit, and how much of theirs {} used", runs_text(basis.runs))
                            : "its time limit";
    case BasisKind::others:
      return runs_text(basis.runs) + " unlike it";
  }
  return "";
}

// Why there is no estimate, and what would give one.
// `stuck`: of a job that does not start, or end, as things are.
std::string missing_text(const forecast::Forecast& forecast, const forecast::JobForecast* known, ReasonCode why,
                         bool can_start, const std::string& stuck) {
  constexpr const char* remedy = "an estimate (--estimate 2h), a time limit or a finished run like it gives one";
  if (forecast.failure) return "no estimate: " + forecast.failure->message;
  if (why == ReasonCode::held) return "no estimate while it is held";
  if (why == ReasonCode::retry_backoff) return "no estimate before it is tried again";
  if (!known || forecast.draws == 0) return "no estimate yet: it is being worked out";
  if (known->basis.kind == BasisKind::none)
    return fmt::format("{}: nothing is known about how long it runs; {}",
                       known->start ? "when it ends cannot be said yet" : "no estimate yet", remedy);
  if (!can_start || forecast.unknown.empty()) return "no estimate yet: as things are it " + stuck;
  const JobId first = forecast.unknown.front();
  const std::string others =
      forecast.unknown.size() > 1 ? fmt::format(" and {} more", forecast.unknown.size() - 1) : std::string();
  return fmt::format(
      "no estimate yet: it waits for jobs of which nothing is known, job {}{}; {}", first.value, others,
      "a time limit gives them one: schedulearn set " + std::to_string(first.value) + " --time-limit 4h");
}

// All but why something is missing.
answers::Estimate view_of(const forecast::Forecast& forecast, const forecast::JobForecast* known, bool waits,
                          const std::vector<std::string>& servers, Instant now) {
  answers::Estimate view;
  if (waits && known) view.start = range_view(known->start, now);
  if (known) view.finish = range_view(known->finish, now);
  if (known && known->basis.kind != BasisKind::none) view.basis.emplace_back(to_string(known->basis));
  if (waits && known && known->start) view.basis.emplace_back("queue");
  if (known && known->finish) view.basis_text = basis_text(known->basis);
  view.confidence = known && known->finish ? confidence_of(known->basis) : "unknown";
  const bool has_place = waits && known && known->server.valid() && known->server.value < servers.size();
  if (has_place) view.server = servers[known->server.value];
  view.evaluated_at = {forecast.at.us};
  view.draws = forecast.draws;
  return view;
}

}  // namespace

answers::Estimate submission_estimate(const forecast::Forecast& forecast, JobId job,
                                      const std::vector<std::string>& servers) {
  const forecast::JobForecast* known = forecast.find(job);
  answers::Estimate view = view_of(forecast, known, true, servers, forecast.at);
  if (!view.start || !view.finish) view.text = missing_text(forecast, known, ReasonCode::none, true, "would not start");
  return view;
}

std::optional<answers::Range> range_view(const std::optional<forecast::Range>& range, Instant now) {
  if (!range) return std::nullopt;
  const auto time = [now](Instant at) { return wire::Time{std::max(at, now).us}; };
  return answers::Range{time(range->p10), time(range->p50), time(range->p90)};
}

std::optional<answers::Estimate> estimate_view(const Logic& logic, JobIndex index, Instant now, bool is_explained) {
  const auto prospects = logic.outlook() ? logic.outlook()->latest() : nullptr;
  const Job& job = logic.core().job(index);
  if (!prospects || is_finished(job.state)) return std::nullopt;
  const forecast::JobForecast* known = prospects->forecast.find(job.request.id);
  const bool is_in_line = job.is_queued() || job.state == JobState::held;
  const bool waits = is_in_line && !(job.group && job.first_start.happened());
  if (waits && (job.state == JobState::held || job.on_hold)) known = nullptr;  // what is known is from before
  if (waits && known && !known->start && known->finish) known = nullptr;       // likewise: it ran then
  answers::Estimate view = view_of(prospects->forecast, known, waits, prospects->servers, now);
  if (!view.finish || (waits && !view.start)) {
    const ReasonCode why = logic.core().explain(index);
    const bool has_server = why != ReasonCode::server_away && why != ReasonCode::unsatisfiable;
    const bool can_start =
        !job.set_aside || (!job.request.needs_gpus() && has_server) || job.group || logic.core().awaits_jobs(index);
    std::string stuck = waits ? "does not start" : "does not end";
    if (!is_explained) stuck += fmt::format("; schedulearn why {}", job.request.id.value);
    view.text = missing_text(prospects->forecast, known, why, can_start, stuck);
  }
  return view;
}

std::vector<answers::Frees> frees_view(const Logic& logic, ServerIndex server, Instant now) {
  constexpr std::size_t most = 64;
  const auto prospects = logic.outlook() ? logic.outlook()->latest() : nullptr;
  const Core& core = logic.core();
  std::map<std::pair<Instant, JobId>, int> frees;
  const int gpus = core.servers()[server].description.gpus;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    core.ledger().for_each_tenant(server, gpu, [&](JobIndex tenant) {
      const JobId job = core.job(tenant).request.id;
      const forecast::JobForecast* known = prospects ? prospects->forecast.find(job) : nullptr;
      ++frees[{known && known->finish ? std::max(known->finish->p50, now) : Instant::never(), job}];
    });
  }
  std::vector<answers::Frees> views;
  for (const auto& [when, count] : frees) {
    if (views.size() == most) break;
    const auto at = when.first.is_never() ? std::nullopt : std::optional(wire::Time{when.first.us});
    views.push_back({when.second.value, count, at});
  }
  return views;
}

namespace {

// Those of the server on which most are free; none: no GPU is.
std::vector<std::string> free_gpus(const Core& core) {
  ServerIndex most;
  GpuSet gpus;
  for_each_server(core, [&](const Server& server, ServerIndex index) {
    if (server.state != ServerState::up || core.ledger().free().on(index).count() <= gpus.count()) return;
    most = index;
    gpus = core.ledger().free().on(index);
  });
  std::vector<std::string> names;
  gpus.for_each([&](int gpu) { names.push_back(fmt::format("{}-{}", core.servers()[most].description.name, gpu)); });
  return names;
}

struct FirstEnd {
  forecast::Range at;
  JobIndex job;
};

}  // namespace

answers::NextFree next_free_view(const Logic& logic, Instant now) {
  const Core& core = logic.core();
  answers::NextFree view;
  view.gpus = free_gpus(core);
  if (!view.gpus.empty()) {
    view.at = {{now.us}, {now.us}, {now.us}};
    return view;
  }
  const auto prospects = logic.outlook() ? logic.outlook()->latest() : nullptr;
  std::optional<FirstEnd> first;
  std::size_t holders = 0, known = 0;
  for (const JobIndex index : core.active()) {
    const Job& job = core.job(index);
    if (job.allocation.empty()) continue;
    ++holders;
    const forecast::JobForecast* forecast = prospects ? prospects->forecast.find(job.request.id) : nullptr;
    if (!forecast || !forecast->finish) continue;
    ++known;
    const bool is_sooner = !first || std::tie(forecast->finish->p50, job.request.id) <
                                         std::tie(first->at.p50, core.job(first->job).request.id);
    if (is_sooner) first = {*forecast->finish, index};
  }
  if (first) {
    const Job& job = core.job(first->job);
    view.at = range_view(first->at, now);
    view.job_id = job.request.id.value;
    const ServerGpus& part = job.allocation.parts().front();
    part.gpus.for_each(
        [&](int gpu) { view.gpus.push_back(fmt::format("{}-{}", core.servers()[part.server].description.name, gpu)); });
    if (known < holders)
      view.text =
          fmt::format("of {} of {} jobs that hold GPUs nothing is known about when they end", holders - known, holders);
  } else if (holders == 0) {
    view.text = "no job holds a GPU, and none is free";
  } else if (!prospects || prospects->forecast.draws == 0) {
    view.text = prospects && prospects->forecast.failure ? "no estimate: " + prospects->forecast.failure->message
                                                         : "no estimate yet: it is being worked out";
  } else {
    view.text =
        "no job that holds a GPU says how long it runs; an estimate (--estimate 2h), a time limit or a finished "
        "run like it does";
  }
  return view;
}

answers::Record record_view(const Prospects& prospects) {
  answers::Record record;
  for (const forecast::HitRate& rate : prospects.record) {
    const double held_pct =
        100.0 * static_cast<double>(rate.held) / static_cast<double>(std::max<std::size_t>(1, rate.ranges));
    record.items.push_back({rate.policy, to_string(rate.target), to_string(rate.horizon), rate.ranges, rate.held,
                            held_pct, rate.early, rate.late, rate.width_s});
  }
  for (const auto& [name, correction] : prospects.corrections) {
    if (correction.ranges > 0) record.corrections.push_back({name, correction.low, correction.high, correction.ranges});
  }
  record.total = record.items.size();
  record.open = prospects.open;
  record.evaluated_at = {prospects.forecast.at.us};
  record.draws = prospects.forecast.draws;
  record.took_s = prospects.took.to_seconds();
  return record;
}

}  // namespace sl::controller
