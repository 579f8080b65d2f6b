#include "controller/restart.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <map>

#include "controller/damaged_rows.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

// The row, with times later than now set to now: the clock was wrong when they were written.
store::JobRow without_future(store::JobRow row, Instant now) {
  const auto limit = [&](std::int64_t& us) { us = std::min(us, now.us); };
  limit(row.submitted_us), limit(row.state_since_us);
  for (std::optional<std::int64_t>* us : {&row.first_start_us, &row.last_start_us}) {
    if (*us) limit(**us);
  }
  return row;
}

}  // namespace

void Restart::restore(const store::Loaded& loaded, Instant now) {
  if (loaded.last_event_us > now.us) note_clock(loaded.last_event_us, now);
  restore_servers(loaded.servers, now);
  for (const store::TotalRow& total : loaded.finished_totals) {
    if (const auto state = parse_job_state(total.state)) book_.add_to_count(*state, total.jobs, total.groups);
  }
  std::map<std::int64_t, std::vector<store::PlacementRow>> placements;
  for (const store::PlacementRow& row : loaded.placements) placements[row.job_id].push_back(row);
  for (const store::JobRow& row : loaded.finished_jobs) {
    book_.add(row).placements = std::move(placements[row.id]);
    book_.retire(JobId(row.id));
  }
  // Jobs that were about to start come last: the GPUs they were promised may still belong to others.
  for (const bool starting : {false, true}) {
    for (const store::JobRow& row : loaded.unfinished_jobs) {
      if ((row.state == to_string(JobState::starting)) == starting)
        restore_unfinished(without_future(row, now), std::move(placements[row.id]), now);
    }
  }
  for (const store::JobRow& row : loaded.unfinished_jobs) {
    const JobIndex index = core_.find(JobId(row.id));
    if (index.valid()) book_.add_to_count(core_.job(index).state, 1, core_.job(index).group ? 1 : 0);
    const bool waits = row.state == to_string(JobState::held) && !row.held;  // to be started again
    const Duration before_retry =
        waits && index.valid() ? Requeues::wait_before_retry(spec_of(*book_.find(JobId(row.id))).retry, row.failures)
                               : Duration{};
    requeues_.restore(JobId(row.id), row.quick_requeues,
                      waits ? std::optional(std::min(Instant{row.state_since_us}, now)) : std::nullopt, before_retry);
    const JobId group = row.group_id > 0 ? JobId(row.group_id) : JobId::none();
    if (!index.valid()) engine_.feed(JobForgotten{JobId(row.id), group}, now);
  }
}

namespace {

Result<wire::Hello> description_of(const store::ServerRow& row) {
  auto hello = wire::read_json<wire::Hello>(row.description_json, wire::Unknown::ignore);
  if (hello.ok() && hello->server != row.name)
    return invalid("bad-row", "it describes a server called " + hello->server);
  return hello;
}

}  // namespace

void Restart::note_clock(std::int64_t last_event_us, Instant now) {
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "clock.set_back",
       .text = fmt::format("the event before this one is of {:%Y-%m-%d %H:%M:%S} UTC: the clock was wrong",
                           fmt::gmtime(static_cast<std::time_t>(last_event_us / 1'000'000)))});
}

void Restart::restore_servers(const std::vector<store::ServerRow>& rows, Instant now) {
  for (const store::ServerRow& row : rows) {
    const auto hello = description_of(row);
    if (!hello.ok()) {  // unknown until its agent connects
      recorder_.write_event(row_set_aside("server " + row.name, hello.error().message, row.description_json, now));
      continue;
    }
    engine_.feed(ServerJoined{describe(*hello, core_)}, now);
    engine_.feed(ServerSilent{row.name}, now);  // until its agent connects
    recorder_.await_server(row.name);
    agents_.remember(row.name, *hello, now);
  }
}

void Restart::restore_unfinished(const store::JobRow& row, std::vector<store::PlacementRow> placements, Instant now) {
  JobEntry& entry = book_.add(row);
  entry.placements = std::move(placements);
  follow_gang(entry);
  Result<Job> restored = restore_job(entry, profiles_, core_);
  if (!restored.ok()) return set_aside(entry, restored.error().message, now);
  entry.stopping = parse_stop_reason(row.extra_json);
  const std::size_t colon = row.extra_json.find(':');
  if (entry.stopping != StopReason::none && colon != std::string::npos)
    entry.stop_with = row.extra_json.substr(colon + 1);
  const Status first = core_.restore(std::move(*restored), now);
  if (first.ok()) return note_interrupted_move(entry, now);
  if (restored->state != JobState::starting) return set_aside(entry, first.error().message, now);
  // Its order was never sent: it was waiting for these GPUs, perhaps to go on there.
  const bool stands_still = restored->resumes;
  if (stands_still) restored->frozen_on = std::make_unique<Allocation>(restored->allocation);
  restored->state = stands_still ? JobState::suspended : JobState::pending;
  restored->allocation.clear();
  if (const Status again = core_.restore(std::move(*restored), now); !again.ok())
    return set_aside(entry, again.error().message, now);
  if (!stands_still) recorder_.write(end_incarnation(entry, now));
  // Else after the next restart it would stand in the way of the jobs that have used the GPUs since.
  note_change(entry, "its order had not been given when the controller ended", now);
}

// A job that was moving when the controller ended is stopped and returns to the queue.
void Restart::note_interrupted_move(JobEntry& entry, Instant now) {
  const auto was = parse_job_state(entry.row.state);
  if (!was || !is_moving(*was)) return;
  entry.stopping = StopReason::preempted;
  entry.row.extra_json = stop_reason_text(entry.stopping);
  const bool resizes = *was == JobState::resizing;
  note_change(entry, entry.row.extra_json, now);
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "job.move_abandoned",
       .job_id = entry.row.id,
       .text = fmt::format("the controller ended while the job {}: it stops, and waits for GPUs again",
                           resizes ? "changed its number of GPUs" : "moved")});
}

// The core's state of the job is not that of its row: the row follows.
void Restart::note_change(JobEntry& entry, const std::string& text, Instant now) {
  const std::string from = entry.row.state;
  copy_state(core_, core_.job(core_.find(JobId(entry.row.id))), entry.row);
  recorder_.write_job(entry.row);
  recorder_.write_event({.at_us = now.us,
                         .kind = "job.state",
                         .job_id = entry.row.id,
                         .from = from,
                         .to = entry.row.state,
                         .text = text});
}

// One row that cannot be restored must not delay all others: its job ends here with the reason. If it still runs, it is
// unknown and is stopped when its agent reports it.
void Restart::set_aside(JobEntry& entry, const std::string& why, Instant now) {
  store::JobRow& row = entry.row;
  row.state = to_string(JobState::failed);
  row.state_since_us = now.us;
  row.finished_us = now.us;
  row.failure_kind = "database";
  row.failure_message = "its row in the database cannot be restored: " + why;
  store::EventRow event;
  event.at_us = now.us;
  event.kind = "job.set_aside";
  event.job_id = row.id;
  event.text = row.failure_message;
  if (!wire::parse_json(row.spec_json).ok()) {
    event.data_json = boost::json::serialize(boost::json::object{{"spec_json", row.spec_json}});
    row.spec_json = "{}";
  }
  recorder_.write_event(std::move(event));
  recorder_.write_job(row);
  recorder_.write(end_incarnation(entry, now));
  book_.add_to_count(JobState::failed, 1, is_group(row) ? 1 : 0);
}

}  // namespace sl::controller
