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
  if (job && record.from == JobState::resizing && record.to == JobState::running) {  // in place
    store::PlacementRow& row = entry.placements.back();
    row = at(core, job->allocation.parts().front(), std::move(row));
    return {row};
  }
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
    rows.push_back(at(core, part, std::move(row)));
  }
  entry.placements.insert(entry.placements.end(), rows.begin(), rows.end());
  follow_gang(entry);
  return rows;
}

store::PlacementRow Incarnations::at(const Core& core, const ServerGpus& part, store::PlacementRow row) const {
  row.server = core.servers()[part.server].description.name;
  row.gpus = gpu_list(part.gpus);
  row.gpu_uuids = uuids_of(agents_.by_server(row.server), part.gpus);
  return row;
}

std::string uuids_of(const Agent* agent, GpuSet gpus) {
  std::string text;
  if (!agent) return text;
  for (const wire::GpuReport& report : agent->hello.gpus) {
    if (report.index >= 0 && report.index < GpuSet::capacity && gpus.contains(GpuSet::only(report.index)))
      text += (text.empty() ? "" : ",") + report.uuid;
  }
  return text;
}

std::vector<store::PlacementRow> end_incarnation(JobEntry& entry, Instant now) {
  std::vector<store::PlacementRow> rows;
  if (entry.placements.empty()) return rows;
  for (const store::PlacementRow& part : latest_placements(entry)) {
    if (!part.ended_us) rows.push_back(end_placement(entry, part.rank, now));
  }
  return rows;
}

Incarnation incarnation_of(const store::PlacementRow& placement) {
  return {placement.cluster, placement.job_id, placement.attempt, placement.incarnation};
}

const store::PlacementRow* latest_placement(const JobEntry& entry) {
  return entry.placements.empty() ? nullptr : placement_of(entry, entry.placements.back().attempt);
}

std::span<const store::PlacementRow> latest_placements(const JobEntry& entry) {
  const auto first =
      std::ranges::find(entry.placements, entry.placements.back().incarnation, &store::PlacementRow::incarnation);
  return {first, entry.placements.end()};
}

void follow_gang(JobEntry& entry) {
  entry.gang.reset();
  if (entry.placements.empty()) return;
  const auto parts = latest_placements(entry);
  if (parts.size() == 1) return;
  entry.gang = std::make_unique<Gang>(parts.size());
  for (const store::PlacementRow& part : parts) {
    if (part.ended_us) entry.gang->lose(part.rank);
  }
}

store::PlacementRow end_placement(JobEntry& entry, int rank, Instant now) {
  const std::size_t before = entry.placements.size() - latest_placements(entry).size();
  store::PlacementRow& row = entry.placements[before + static_cast<std::size_t>(rank)];
  row.ended_us = now.us;
  return row;
}

const store::PlacementRow* placement_of(const JobEntry& entry, int attempt, int rank) {
  const auto at = std::find_if(entry.placements.rbegin(), entry.placements.rend(), [&](const store::PlacementRow& row) {
    return row.attempt == attempt && row.rank == rank;
  });
  return at == entry.placements.rend() ? nullptr : &*at;
}

const store::PlacementRow* present_placement(const JobEntry& entry, const std::string& server) {
  if (entry.placements.empty()) return nullptr;
  for (const store::PlacementRow& row : latest_placements(entry)) {
    if (row.server == server && !row.ended_us) return &row;
  }
  return nullptr;
}

Output output_of(const JobEntry& entry, int attempt, int rank) {
  const store::PlacementRow* placement = placement_of(entry, attempt, rank);
  if (placement) return {.server = placement->server, .incarnation = incarnation_of(*placement)};
  if (rank > 0) return {};
  return {.server = entry.row.server, .incarnation = {"", entry.row.id, attempt, 0}};
}

bool knows(const JobEntry& entry, const Incarnation& incarnation) {
  return std::any_of(entry.placements.begin(), entry.placements.end(),
                     [&](const store::PlacementRow& row) { return incarnation_of(row) == incarnation; });
}

bool has_part_on(const std::string& server, const JobEntry& entry, const Incarnation& incarnation) {
  return std::ranges::any_of(entry.placements, [&](const store::PlacementRow& row) {
    return row.server == server && incarnation_of(row) == incarnation;
  });
}

}  // namespace sl::controller
