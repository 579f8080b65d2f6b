#include "controller/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "controller/explain.h"

namespace sl::controller {
namespace {

constexpr Duration retry_after = Duration::whole_seconds(1);

const char* event_kind(RecordKind kind) {
  switch (kind) {
    case RecordKind::job_submitted:
      return "job.submitted";
    case RecordKind::job_state:
      return "job.state";
    case RecordKind::job_edited:
      return "job.edited";
    case RecordKind::job_progress:
      return "job.progress";
    case RecordKind::server_state:
      return "server.state";
    case RecordKind::policy_changed:
      return "policy.changed";
    case RecordKind::decision_refused:
      return "decision.refused";
  }
  return "";
}

// The job that a record is about; null: its slot belongs to another one already.
const Job* subject_of(const Core& core, const Record& record) {
  const bool is_there = record.job.valid() && core.jobs().contains(record.index);
  return is_there && core.job(record.index).request.id == record.job ? &core.job(record.index) : nullptr;
}

// Which job has not succeeded that this one was to start after.
std::string dependency_text(const JobBook& book, const wire::JobSpec& spec) {
  for (const std::int64_t id : spec.after) {
    const JobEntry* entry = book.find(JobId(id));
    const bool is_over = entry && entry->row.finished_us;
    if (is_over && entry->row.state != to_string(JobState::succeeded))
      return fmt::format("it was to start after job {}, which has {}", id,
                         entry->row.state == to_string(JobState::failed) ? "failed" : "been cancelled");
  }
  return "a job that it was to start after has not succeeded";
}

}  // namespace

void Recorder::watch(const Core& core, const Record& record) {
  const bool comes = record.kind == RecordKind::job_submitted || record.kind == RecordKind::server_state ||
                     record.kind == RecordKind::policy_changed;
  const bool leaves = record.kind == RecordKind::job_state && is_finished(record.to);
  if (comes || leaves) progress_.restart();
  if (leaves) progress_.forget(record.job);
  const char* const interrupted = record.why == StopReason::preempted    ? "preempted"
                                  : record.kind != RecordKind::job_state ? nullptr
                                  : record.to == JobState::migrating     ? "moved"
                                  : record.to == JobState::resizing      ? "resized"
                                                                         : nullptr;
  if (!interrupted || !core.jobs().contains(record.index)) return;
  const Job& job = core.job(record.index);
  if (job.request.id != record.job || progress_.interrupt(record.job, Duration{} - job.run_at(record.at))) return;
  const std::string standing = core.standing(record.index, record.at);
  standstill_ =
      invalid("policy-stands-still",
              fmt::format("it {} job {}{} {} times in a row before any of its work was done", interrupted,
                          record.job.value, standing.empty() ? "" : " (" + standing + ")", progress_.fruitless_most()));
}

// What a change of state says about the cost of interruptions; `entry` still holds the state before it.
void Recorder::measure(const Core& core, const Record& record, JobEntry& entry) {
  if (record.from == JobState::running && entry.measured) entry.measured->stop_s.reset();  // it may not be stopped now
  if (record.exit.failure != FailureKind::none || !core.jobs().contains(record.index)) return;
  const Job& job = core.job(record.index);
  if (job.request.id != record.job) return;
  const std::string& family = core.families().text(job.request.family);
  const double seconds = (record.at - Instant{entry.row.state_since_us}).to_seconds();
  const bool thaws =
      record.from == JobState::starting && record.to == JobState::running && entry.row.extra_json == resumes_text;
  const auto row = thaws ? costs_.on_thawed(family, seconds) : costs_.on_state(family, record.from, record.to, seconds);
  if (row) write(*row);
  if (InterruptionCosts::is_stop(record.from, record.to)) entry.measuring().stop_s = seconds;
}

bool Recorder::append(const Core& core, const std::vector<Record>& records, BatchNumber batch) {
  pending_batch_ = batch;
  for (const Record& record : records) {
    watch(core, record);
    if (record.kind == RecordKind::policy_changed) continue;  // policy_life.cpp writes it, with who and what
    store::EventRow event;
    event.at_us = record.at.us;
    event.kind = event_kind(record.kind);
    if (record.job.valid()) event.job_id = record.job.value;
    if (record.server.valid()) {
      event.server = core.servers()[record.server].description.name;
      if (awaited_servers_.contains(event.server)) continue;
      event.to = to_string(core.servers()[record.server].state);
    }
    if (record.kind == RecordKind::job_submitted && record.to == JobState::held) event.to = to_string(record.to);
    if (record.kind == RecordKind::job_state) {
      event.from = to_string(record.from);
      event.to = to_string(record.to);
      if (record.exit.failure != FailureKind::none) event.text = to_string(record.exit.failure);
      if (record.why != StopReason::none) event.text = stop_reason_text(record.why);
    }
    if (record.kind == RecordKind::decision_refused) event.text = to_string(record.refusal);
    JobEntry* entry = record.job.valid() ? book_.find(record.job) : nullptr;
    if (!entry && record.kind == RecordKind::job_submitted) entry = add_member(core, record);
    count(record, subject_of(core, record), entry != nullptr);
    if (const Job* job = entry ? subject_of(core, record) : nullptr) totals_.note(record, *job);
    if (record.job.valid() && !entry) continue;  // refused in the meantime
    if (record.kind == RecordKind::job_submitted && entry->row.group_id == 0)
      event.actor_type = "user", event.actor_name = entry->row.user;
    // A policy may make the same request every second: it is recorded once, until the job's state changes.
    if (record.kind == RecordKind::decision_refused && entry &&
        std::exchange(entry->refused, record.refusal) == record.refusal)
      continue;
    if (record.kind == RecordKind::job_state && entry) {
      measure(core, record, *entry);
      entry->refused = Refusal::none;
      entry->stopping = record.why;
      const bool resumes = record.from == JobState::suspended && record.to == JobState::starting;
      if (record.why == StopReason::none) entry->stop_with.clear();
      entry->row.extra_json = resumes                          ? resumes_text
                              : record.why == StopReason::none ? ""
                                                               : stop_text(record.why, entry->stop_with);
    }
    if (entry) {
      // If several steps share this batch, the slot may already belong to another job: compare ids.
      const bool is_there = core.jobs().contains(record.index) && core.job(record.index).request.id == record.job;
      const bool has_been_there = is_active(record.from) || record.from == JobState::suspended;
      const bool leaves = has_been_there && record.to != JobState::starting && record.to != JobState::running;
      if (leaves && event.server.empty()) event.server = entry->row.server;
      if (is_there) copy_state(core, core.job(record.index), entry->row);
      if (record.kind == RecordKind::job_state)
        write(incarnations_.follow(core, is_there ? &core.job(record.index) : nullptr, record, *entry));
      if (record.to == JobState::succeeded) entry->row.failure_message.clear();  // it was to be cancelled, and made it
      if (record.exit.failure == FailureKind::dependency) {
        entry->row.failure_kind = to_string(record.exit.failure);
        entry->row.failure_message = dependency_text(book_, spec_of(*entry));
      }
      if (record.exit.failure == FailureKind::rejected) {
        entry->row.failure_kind = to_string(record.exit.failure);
        entry->row.failure_message = fmt::format("rejected by the policy: {}", rejection_text(record.reason));
      }
      event.server = event.server.empty() ? entry->row.server : event.server;
      write_job(entry->row);
    }
    if (record.kind == RecordKind::job_edited) continue;  // submissions.cpp writes it, with who and what
    write_event(std::move(event));
  }
  write_groups(core, records);
  return false;
}

// A member of a group has come up. Null: it is none, or its group was refused in the meantime.
JobEntry* Recorder::add_member(const Core& core, const Record& record) {
  const Job* member = subject_of(core, record);
  const bool is_member = member && member->request.member_of.valid();
  const JobEntry* group = is_member ? book_.find(member->request.member_of) : nullptr;
  return group ? &book_.add(member_row(group->row, record.job)) : nullptr;
}

// The rows of groups say how many of their members are in which state.
void Recorder::write_groups(const Core& core, const std::vector<Record>& records) {
  std::set<JobId> groups;
  for (const Record& record : records) {
    const Job* job = subject_of(core, record);
    if (job && job->request.member_of.valid()) groups.insert(job->request.member_of);
  }
  for (const JobId id : groups) {
    JobEntry* entry = book_.find(id);
    const JobIndex index = core.find(id);
    if (!entry || !index.valid()) continue;
    const bool had_started = entry->row.first_start_us.has_value();
    copy_state(core, core.job(index), entry->row);
    write_job(entry->row);
    if (!had_started && entry->row.first_start_us)
      write_event({.at_us = *entry->row.first_start_us,
                   .kind = "job.group_started",
                   .job_id = id.value,
                   .text = "the first of its members runs"});
  }
}

// A job refused in the meantime ends uncounted.
void Recorder::count(const Record& record, const Job* job, bool is_known) {
  const int groups = job && job->group ? 1 : 0;
  if (record.kind == RecordKind::job_state) book_.add_to_count(record.from, -1, -groups);
  if (record.kind != RecordKind::job_state && record.kind != RecordKind::job_submitted) return;
  if (is_known || !is_finished(record.to)) book_.add_to_count(record.to, 1, groups);
}

void Recorder::write(std::vector<store::PlacementRow> rows) {
  pending_.placements.insert(pending_.placements.end(), std::make_move_iterator(rows.begin()),
                             std::make_move_iterator(rows.end()));
}

void Recorder::write_event(store::EventRow row) {
  row.seq = next_event_++;
  if (row.actor_type.empty()) row.actor_type = "system", row.actor_name = "scheduler";
  pending_.events.push_back(std::move(row));
}

void Recorder::write_job(const store::JobRow& row) {
  if (!pending_.jobs.empty() && pending_.jobs.back().id == row.id) {
    pending_.jobs.back() = row;  // only its latest state matters
  } else {
    pending_.jobs.push_back(row);
  }
}

void Recorder::when_durable(std::function<void(const Status&)> work) { waiters_.push_back(std::move(work)); }

bool Recorder::is_empty(const store::Batch& batch) {
  return batch.jobs.empty() && batch.placements.empty() && batch.events.empty() && batch.policies.empty() &&
         batch.keys.empty() && batch.servers.empty() && batch.settings.empty() && batch.profiles.empty() &&
         batch.removals.empty() && batch.forget_keys_to == 0;
}

void Recorder::flush(Instant now) {
  if (in_flight_ || (failed_ && now < retry_at_)) return;
  if (is_empty(pending_) && waiters_.empty() && pending_batch_ == sent_batch_) return;
  sent_ = std::exchange(pending_, {});
  sent_waiters_ = std::exchange(waiters_, {});
  sent_batch_ = pending_batch_;
  in_flight_ = true;
  outside_.commit(sent_);
}

BatchNumber Recorder::on_committed(const Status& status, Instant now) {
  in_flight_ = false;
  committed_at_ = now;
  auto waiters = std::exchange(sent_waiters_, {});
  if (!status.ok()) {
    failed_ = status;
    retry_at_ = now + retry_after;
    merge_failed();
    const Status kept = Error(status.error()).note("what was asked for is kept: it is done once it can be written");
    for (auto& work : waiters) work(kept);
    return 0;
  }
  failed_.reset();
  const store::Batch written = std::exchange(sent_, {});
  for (auto& work : waiters) work(status);  // before the jobs they concern may leave
  for (const store::JobRow& row : written.jobs) {
    if (row.finished_us) book_.retire(JobId(row.id));
  }
  return sent_batch_;
}

// Rows that could not be written go before those that were added since.
void Recorder::merge_failed() {
  const auto prepend = [](auto& older, auto& newer) {
    older.insert(older.end(), std::make_move_iterator(newer.begin()), std::make_move_iterator(newer.end()));
    newer = std::move(older);
  };
  prepend(sent_.jobs, pending_.jobs);
  prepend(sent_.placements, pending_.placements);
  prepend(sent_.events, pending_.events);
  prepend(sent_.policies, pending_.policies);
  prepend(sent_.keys, pending_.keys);
  prepend(sent_.servers, pending_.servers);
  prepend(sent_.settings, pending_.settings);
  pending_.forget_keys_to = std::max(pending_.forget_keys_to, sent_.forget_keys_to);
  prepend(sent_.profiles, pending_.profiles);
  prepend(sent_.removals, pending_.removals);
  sent_ = {};
  if (pending_batch_ == sent_batch_) sent_batch_ = 0;
}

void Recorder::drop_job(JobId job) {
  std::erase_if(pending_.jobs, [&](const store::JobRow& row) { return row.id == job.value; });
  std::erase_if(pending_.placements, [&](const store::PlacementRow& row) { return row.job_id == job.value; });
  std::erase_if(pending_.events, [&](const store::EventRow& row) { return row.job_id == job.value; });
  std::erase_if(pending_.keys, [&](const store::IdempotencyRow& row) { return row.job_id == job.value; });
}

}  // namespace sl::controller
