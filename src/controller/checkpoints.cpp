#include "controller/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "controller/attempt_exit.h"

namespace sl::controller {
namespace {

std::string size_text(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, units[unit]);
}

const char* const older = "is of an older version of schedulearn, which does not copy checkpoints";

}  // namespace

std::string share_text(std::int64_t done, std::int64_t all) {
  const std::string of = size_text(all), part = size_text(done);
  const std::size_t unit = part.find(' ');
  const bool same = of.substr(of.find(' ')) == part.substr(unit);
  return (same ? part.substr(0, unit) : part) + " of " + of;
}

bool Checkpoints::is_given_up(JobEntry& entry, const store::PlacementRow& placement) const {
  const Agent* there = agents_.by_server(placement.server);
  if (!there) return true;
  if (there->session != 0 || !there->lease_over) return false;
  return spec_of(entry).on_partition == "stop";
}

// Of those that can be had, or whose server may return. The target's own needs nobody.
const store::PlacementRow* Checkpoints::newest(JobEntry& entry, const std::string& target) const {
  const auto at = std::find_if(entry.placements.rbegin(), entry.placements.rend(), [&](const store::PlacementRow& row) {
    return row.has_checkpoint && row.rank == 0 && (row.server == target || !is_given_up(entry, row));
  });
  return at == entry.placements.rend() ? nullptr : &*at;
}

bool Checkpoints::holds_back(JobEntry& entry, const Job& job, wire::StartAttempt& order, Instant now) {
  const JobId id = job.request.id;
  const store::PlacementRow& target = *latest_placement(entry);
  const store::PlacementRow* source = newest(entry, target.server);
  const auto left = std::ranges::find_if(std::views::reverse(entry.placements), &store::PlacementRow::has_checkpoint);
  const bool is_told = transfers_.contains(id) && transfers_[id].attempt == job.attempt;
  if (left != entry.placements.rend() && &*left != source && !is_told)
    note_left(entry, *left, "is cut off", source, now);
  if (!source || source->server == target.server) return transfers_.erase(id), false;
  Transfer& transfer = transfers_[id];
  if (transfer.attempt != job.attempt || transfer.from != source->server)
    transfer = {.from = source->server, .attempt = job.attempt};
  Agent* there = agents_.by_server(source->server);
  const Agent* here = agents_.by_server(target.server);
  if (here && !here->hello.copies_checkpoints)
    return start_without(entry, job, source->server, fmt::format("the agent of {} {}", target.server, older), now);
  if (there->session == 0) return transfer.offered.reset(), transfer.is_ordered = false, true;
  if (!there->hello.copies_checkpoints)
    return start_without(entry, job, source->server, fmt::format("the agent of {} {}", source->server, older), now);
  const auto offered = std::exchange(transfer.offered, std::nullopt);
  if (!offered) {
    outside_.send(there->session,
                  wire::OfferCheckpoint{++there->orders_sent, order.incarnation, incarnation_of(*source), {}});
    return true;
  }
  if (offered->error && offered->error->empty()) return transfers_.erase(id), false;
  if (offered->error) return start_without(entry, job, source->server, *offered->error, now);
  order.checkpoint = wire::CheckpointSource{source->server, offered->address,   offered->port, {},
                                            offered->nonce, offered->subfolder, offered->bytes};
  transfer.is_ordered = true;
  transfer.bytes = offered->bytes;
  return false;
}

void Checkpoints::note_left(const JobEntry& entry, const store::PlacementRow& left, const char* why,
                            const store::PlacementRow* next, Instant now) {
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "job.checkpoint_lost",
       .job_id = entry.row.id,
       .server = left.server,
       .text = fmt::format("its newest checkpoint is on {}, which {}: {}", left.server, why,
                           next ? fmt::format("it continues from that of attempt {} on {}", next->attempt, next->server)
                                : "it begins anew")});
}

bool Checkpoints::start_without(JobEntry& entry, const Job& job, const std::string& from, const std::string& why,
                                Instant now) {
  transfers_.erase(job.request.id);
  const std::string& server = latest_placement(entry)->server;
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "job.checkpoint_not_copied",
       .job_id = entry.row.id,
       .server = server,
       .text = fmt::format("its checkpoint on {} was not copied: {}; attempt {} starts with what {} has", from, why,
                           job.attempt, server)});
  return false;
}

// ---- inputs ----

std::optional<JobId> Checkpoints::on_offered(const Agent& agent, const wire::CheckpointOffered& offered) {
  const JobId id(offered.incarnation.job);
  const auto at = transfers_.find(id);
  const JobEntry* entry = book_.find(id);
  if (at == transfers_.end() || !entry || !find(*entry) || at->second.from != agent.hello.server) return std::nullopt;
  if (incarnation_of(*latest_placement(*entry)) != offered.incarnation) return std::nullopt;
  at->second.offered = offered;
  return id;
}

std::vector<JobId> Checkpoints::on_joined(const std::string& server) {
  std::erase_if(transfers_, [&](const auto& item) {
    const JobEntry* entry = book_.find(item.first);
    return !entry || !find(*entry);
  });
  for (auto& [job, transfer] : transfers_) {
    if (transfer.from == server) transfer.offered.reset();  // that was in another session
  }
  return waiting_for(server);
}

std::vector<JobId> Checkpoints::waiting_for(const std::string& server) const {
  std::vector<JobId> jobs;
  for (const auto& [job, transfer] : transfers_) {
    if (transfer.from == server) jobs.push_back(job);
  }
  return jobs;
}

std::optional<JobId> Checkpoints::job_with_newest_on(const std::string& server) const {
  std::optional<JobId> found;
  book_.for_each([&](const JobEntry& entry) {
    if (found || entry.row.finished_us) return;
    const store::PlacementRow* const from = newest(*book_.find(JobId(entry.row.id)), "");
    if (from && from->server == server) found = JobId(entry.row.id);
  });
  return found;
}

std::vector<JobId> Checkpoints::on_server_lost(const std::string& server, Instant now) {
  std::vector<JobId> losers;
  book_.for_each([&](const JobEntry& entry) {
    const bool loses = std::ranges::any_of(entry.placements,
                                           [&](const auto& row) { return row.server == server && row.has_checkpoint; });
    if (loses && !entry.row.finished_us) losers.emplace_back(entry.row.id);
  });
  for (const JobId job : losers) {
    JobEntry& entry = *book_.find(job);
    const store::PlacementRow* before = newest(entry, server);
    const bool was_newest = before && before->server == server;
    const store::PlacementRow lost = before ? *before : store::PlacementRow();
    std::vector<store::PlacementRow> changed;
    for (store::PlacementRow& row : entry.placements) {
      if (row.server != server || !std::exchange(row.has_checkpoint, false)) continue;
      changed.push_back(row);
    }
    recorder_.write(std::move(changed));
    if (!was_newest) continue;
    note_left(entry, lost, "is lost", newest(entry, ""), now);
  }
  return waiting_for(server);
}

void Checkpoints::on_progress(const wire::CheckpointProgress& progress) {
  const auto at = transfers_.find(JobId(progress.incarnation.job));
  if (at == transfers_.end() || at->second.attempt != progress.incarnation.attempt) return;
  at->second.bytes_done = progress.bytes_done;
  at->second.bytes = progress.bytes;
  at->second.through_controller = progress.through_controller;
}

void Checkpoints::on_report(JobEntry& entry, store::PlacementRow& placement, const wire::AttemptReport& report,
                            Instant now) {
  if (report.state == "starting" || placement.has_checkpoint) return;
  transfers_.erase(JobId(entry.row.id));
  if (!has_started(report) || !spec_of(entry).checkpoint.dir) return;  // so only jobs with a folder have any
  const store::PlacementRow* source = newest(entry, placement.server);
  const std::string from = source ? source->server : "another server";
  placement.has_checkpoint = true;
  recorder_.write({placement});
  if (!report.checkpoint_copy) return;
  const wire::CheckpointCopy& copy = *report.checkpoint_copy;
  store::EventRow event{.at_us = now.us, .job_id = entry.row.id, .server = placement.server};
  if (copy.outcome == "copied") {
    event.kind = "job.checkpoint_copied";
    event.text = fmt::format("{} from {} in {:.1f} s", size_text(copy.bytes), from, copy.seconds);
  } else if (copy.outcome == "not_copied") {
    event.kind = "job.checkpoint_not_copied";
    event.text = fmt::format("its checkpoint on {} was not copied: {}; attempt {} started with what {} has", from,
                             copy.text, placement.attempt, placement.server);
  }
  if (!event.kind.empty()) recorder_.write_event(std::move(event));
}

// ---- what is shown ----

const Checkpoints::Transfer* Checkpoints::find(const JobEntry& entry) const {
  const auto at = transfers_.find(JobId(entry.row.id));
  if (at == transfers_.end()) return nullptr;
  const JobIndex index = core_.find(JobId(entry.row.id));
  const bool is_present =
      index.valid() && core_.job(index).state == JobState::starting && core_.job(index).attempt == at->second.attempt;
  return is_present ? &at->second : nullptr;
}

std::string Checkpoints::text_of(const Transfer& transfer) const {
  const Agent* there = agents_.by_server(transfer.from);
  const bool is_away = !there || there->session == 0;
  if (transfer.is_ordered && transfer.bytes_done < transfer.bytes && !is_away)
    return fmt::format("copying its checkpoint from {}{}: {}", transfer.from,
                       transfer.through_controller ? " through the controller" : "",
                       share_text(transfer.bytes_done, transfer.bytes));
  if (is_away)
    return fmt::format("waits for {}, where its checkpoint is and whose agent is not connected", transfer.from);
  return fmt::format("copying its checkpoint from {}", transfer.from);
}

}  // namespace sl::controller
