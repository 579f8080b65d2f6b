#include "controller/usage.h"

#include <algorithm>
#include <set>

#include "controller/telemetry.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

double in_seconds(std::int64_t us) { return static_cast<double>(us) / 1e6; }

bool holds_gpus(const std::string& state) {
  return state == "starting" || state == "migrating" || state == "resizing" || state == "stopping";
}

void add_counts(const store::JobRow& row, answers::Usage& usage) {
  usage.attempts += row.attempt;
  usage.preemptions += row.preemptions;
  usage.migrations += row.migrations;
  usage.resizes += row.resizes;
}

// While it ran, on the GPUs that it then had.
void add_measured(const JobEntry& entry, const std::vector<Stay>& stays, const Series& series, answers::Usage& usage) {
  double joules = 0, powered_s = 0, ran_gpu_s = 0;
  std::optional<double> peak;
  for (const store::PlacementRow& place : entry.placements) {
    const GpuSet gpus = parse_gpu_list(place.gpus);
    for (const Stay& stay : stays) {
      const std::int64_t from = std::max(stay.from_us, place.incarnation),
                         to = std::min(stay.to_us, place.ended_us.value_or(stay.to_us));
      if (stay.state != "running" || from >= to) continue;
      const Series::Spent spent = series.spent(place.server, gpus, from, to);
      joules += spent.energy_joules, powered_s += spent.powered_s;
      ran_gpu_s += in_seconds(to - from) * gpus.count();
      if (spent.memory_bytes_peak) peak = std::max(peak.value_or(0), *spent.memory_bytes_peak);
    }
  }
  if (powered_s > 0) usage.energy_joules = joules, usage.energy_measured_pct = 100 * powered_s / ran_gpu_s;
  if (peak) usage.gpu_memory_peak_bytes = static_cast<std::int64_t>(*peak);
}

void add_telemetry(const store::JobRow& row, answers::Usage& usage) {
  if (row.telemetry_json.empty()) return;
  const auto known = wire::read_json<TelemetryDocument>(row.telemetry_json, wire::Unknown::ignore);
  if (!known.ok()) return;
  usage.start_up_s = known->start_up_s, usage.stop_s = known->stop_s, usage.repeated_s = known->repeated_s;
  if (known->gpu_memory_used_bytes)
    usage.gpu_memory_peak_bytes = std::max(usage.gpu_memory_peak_bytes.value_or(0), *known->gpu_memory_used_bytes);
}

}  // namespace

std::vector<Stay> stays_of(const std::vector<store::EventRow>& events, const store::JobRow& row, std::int64_t now_us) {
  std::vector<Stay> stays;
  std::int64_t since = row.submitted_us;
  for (const store::EventRow& event : events) {
    if (event.kind != "job.state" || event.from == event.to) continue;
    if (!event.from.empty() && event.at_us > since) stays.push_back({event.from, since, event.at_us});
    since = event.at_us;
  }
  if (!row.finished_us && now_us > since) stays.push_back({row.state, since, now_us});
  return stays;
}

answers::Usage usage_view(const Core& core, const JobEntry& entry, const std::vector<store::EventRow>& events,
                          const Series* series, Instant now) {
  const store::JobRow& row = entry.row;
  const JobIndex index = core.find(JobId(row.id));
  answers::Usage usage;
  usage.id = row.id;
  usage.gpu_seconds = in_seconds(index.valid() ? core.job(index).attained_at(now) : row.attained_gpu_us);
  add_counts(row, usage);
  const std::vector<Stay> stays = stays_of(events, row, now.us);
  bool has_run = false;
  for (const Stay& stay : stays) {
    const double seconds = in_seconds(stay.to_us - stay.from_us);
    usage.state_s[stay.state] += seconds;
    if (has_run && holds_gpus(stay.state)) usage.interrupted_s += seconds;
    has_run = has_run || stay.state == "running";
  }
  if (series) add_measured(entry, stays, *series, usage);
  add_telemetry(row, usage);
  if (const auto spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore); spec.ok())
    usage.gpu_memory_asked_bytes = spec->resources.gpu_memory_bytes;
  return usage;
}

answers::Usage group_usage_view(const Logic& logic, const JobEntry& group, const std::vector<store::JobRow>& ended,
                                Instant now) {
  answers::Usage usage;
  usage.id = group.row.id;
  std::int64_t members = 0;
  std::set<std::int64_t> seen;
  const auto add = [&](const store::JobRow& row, std::int64_t gpu_us) {
    if (!seen.insert(row.id).second) return;
    usage.gpu_seconds += in_seconds(gpu_us);
    add_counts(row, usage);
    ++members;
  };
  for (const JobId id : logic.core().unfinished_members(JobId(group.row.id))) {
    const JobEntry* entry = logic.book().find(id);
    if (entry) add(entry->row, logic.core().job(logic.core().find(id)).attained_at(now));
  }
  for (const store::JobRow& row : ended) add(row, row.attained_gpu_us);
  usage.members = members;
  return usage;
}

}  // namespace sl::controller
