#include "controller/incarnations.h"

#include <algorithm>
#include <iterator>

namespace sl::controller {

void Incarnations::restore(const std::vector<store::SettingRow>& settings) {
  for (const store::SettingRow& row : settings) {
    if (row.key == "cluster_id") cluster_ = row.value;
  }
}

std::vector<store::PlacementRow> Incarnations::follow(const Core& core, const Job* job, const Record& record,
                                                      JobEntry& entry) const {
  if (!is_active(record.to)) return end_incarnation(entry, record.at);
  std::vector<store::PlacementRow> rows;
  if (record.to != JobState::starting || record.from == JobState::suspended) return rows;
  if (is_moving(record.from)) rows = end_incarnation(entry, record.at);
  if (job) std::ranges::move(begin(core, *job, record.at, entry), std::back_inserter(rows));
  return rows;
}

std::vector<store::PlacementRow> Incarnations::begin(const Core& core, const Job& job, Instant now,
                                                     JobEntry& entry) const {
  // The microsecond at which it begins, or the one after its predecessor's: a job may be given up and started at once.
  const std::int64_t number =
      entry.placements.empty() ? now.us : std::max(now.us, entry.placements.back().incarnation + 1);
  std::vector<store::PlacementRow> rows;
  for (const ServerGpus& part : job.allocation.parts()) {
    store::PlacementRow row;
    row.job_id = entry.row.id;
    row.attempt = job.attempt;
    row.incarnation = number;
    row.cluster = cluster_;
    row.rank = static_cast<int>(rows.size());
    row.server = core.servers()[part.server].description.name;
    row.gpus = gpu_list(part.gpus);
    row.gpu_uuids = uuids_of(row.server, part.gpus);
    rows.push_back(std::move(row));
  }
  entry.placements.insert(entry.placements.end(), rows.begin(), rows.end());
  return rows;
}

std::string Incarnations::uuids_of(const std::string& server, GpuSet gpus) const {
  std::string text;
  const Agent* agent = agents_.by_server(server);
  if (!agent) return text;
  for (const wire::GpuReport& report : agent->hello.gpus) {
    if (report.index >= 0 && report.index < GpuSet::capacity && gpus.contains(GpuSet::only(report.index)))
      text += (text.empty() ? "" : ",") + report.uuid;
  }
  return text;
}

std::vector<store::PlacementRow> end_incarnation(JobEntry& entry, Instant now) {
  std::vector<store::PlacementRow> rows;
  for (auto at = entry.placements.rbegin(); at != entry.placements.rend() && !at->ended_us; ++at) {
    at->ended_us = now.us;
    rows.push_back(*at);
  }
  return rows;
}

Incarnation incarnation_of(const store::PlacementRow& placement) {
  return {placement.cluster, placement.job_id, placement.attempt, placement.incarnation};
}

const store::PlacementRow* latest_placement(const JobEntry& entry) {
  return entry.placements.empty() ? nullptr : placement_of(entry, entry.placements.back().attempt);
}

const store::PlacementRow* placement_of(const JobEntry& entry, int attempt) {
  const auto at = std::find_if(entry.placements.rbegin(), entry.placements.rend(),
                               [&](const store::PlacementRow& row) { return row.attempt == attempt && row.rank == 0; });
  return at == entry.placements.rend() ? nullptr : &*at;
}

const store::PlacementRow* present_placement(const JobEntry& entry, const std::string& server) {
  for (auto at = entry.placements.rbegin(); at != entry.placements.rend() && !at->ended_us; ++at) {
    if (at->server == server) return &*at;
  }
  return nullptr;
}

Output output_of(const JobEntry& entry, int attempt) {
  const store::PlacementRow* placement = placement_of(entry, attempt);
  if (placement) return {placement->server, incarnation_of(*placement)};
  return {entry.row.server, {"", entry.row.id, attempt, 0}};
}

bool knows(const JobEntry& entry, const Incarnation& incarnation) {
  return std::any_of(entry.placements.begin(), entry.placements.end(),
                     [&](const store::PlacementRow& row) { return incarnation_of(row) == incarnation; });
}

}  // namespace sl::controller
