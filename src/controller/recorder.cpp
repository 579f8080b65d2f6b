#include "controller/recorder.h"

#include <algorithm>
#include <utility>

namespace sl::controller {
namespace {

constexpr std::size_t latest_events_max = 2'000;
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

}  // namespace

bool Recorder::append(const Core& core, const std::vector<Record>& records, BatchNumber batch) {
  pending_batch_ = batch;
  for (const Record& record : records) {
    if (record.kind == RecordKind::policy_changed) continue;  // told with who and what (logic_policy.cpp)
    store::EventRow event;
    event.at_us = record.at.us;
    event.kind = event_kind(record.kind);
    if (record.job.valid()) event.job_id = record.job.value;
    if (record.server.valid()) {
      event.server = core.servers()[record.server].description.name;
      event.to = to_string(core.servers()[record.server].state);
    }
    if (record.kind == RecordKind::job_state) {
      event.from = to_string(record.from);
      event.to = to_string(record.to);
      if (record.exit.failure != FailureKind::none) event.text = to_string(record.exit.failure);
    }
    if (record.kind == RecordKind::decision_refused) event.text = to_string(record.refusal);
    JobEntry* entry = record.job.valid() ? book_.find(record.job) : nullptr;
    if (record.job.valid() && !entry) continue;  // refused meanwhile
    // A policy may wish for the same every second: it is told once until the job stands differently.
    if (record.kind == RecordKind::decision_refused && entry &&
        std::exchange(entry->refused, record.refusal) == record.refusal)
      continue;
    if (record.kind == RecordKind::job_state && entry) entry->refused = Refusal::none;
    if (entry) {
      // The slot may already stand for another job when several steps share this batch: the id tells.
      if (core.jobs().contains(record.index) && core.job(record.index).request.id == record.job)
        copy_state(core, core.job(record.index), entry->row);
      event.server = event.server.empty() ? entry->row.server : event.server;
      write_job(entry->row);
    }
    write_event(std::move(event));
  }
  return false;
}

void Recorder::write_event(store::EventRow row) {
  row.seq = next_event_++;
  if (row.actor_type.empty()) row.actor_type = "system", row.actor_name = "scheduler";
  pending_.events.push_back(std::move(row));
}

void Recorder::write_job(const store::JobRow& row) {
  if (!pending_.jobs.empty() && pending_.jobs.back().id == row.id) {
    pending_.jobs.back() = row;  // only its last state matters
  } else {
    pending_.jobs.push_back(row);
  }
}

void Recorder::when_durable(std::function<void(const Status&)> work) { waiters_.push_back(std::move(work)); }

bool Recorder::is_empty(const store::Batch& batch) {
  return batch.jobs.empty() && batch.events.empty() && batch.policies.empty() && batch.keys.empty() &&
         batch.servers.empty() && batch.settings.empty();
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
  auto waiters = std::exchange(sent_waiters_, {});
  if (!status.ok()) {
    failed_ = status;
    retry_at_ = now + retry_after;
    merge_failed();
    for (auto& work : waiters) work(status);
    return 0;
  }
  failed_.reset();
  for (store::EventRow& event : sent_.events) {
    if (on_event) on_event(event);
    latest_.push_back(std::move(event));
  }
  while (latest_.size() > latest_events_max) latest_.pop_front();
  sent_ = {};
  for (auto& work : waiters) work(status);
  return sent_batch_;
}

// What could not be written goes before what has come up since.
void Recorder::merge_failed() {
  const auto prepend = [](auto& older, auto& newer) {
    older.insert(older.end(), std::make_move_iterator(newer.begin()), std::make_move_iterator(newer.end()));
    newer = std::move(older);
  };
  prepend(sent_.jobs, pending_.jobs);
  prepend(sent_.events, pending_.events);
  prepend(sent_.policies, pending_.policies);
  prepend(sent_.keys, pending_.keys);
  prepend(sent_.servers, pending_.servers);
  prepend(sent_.settings, pending_.settings);
  sent_ = {};
  if (pending_batch_ == sent_batch_) sent_batch_ = 0;
}

void Recorder::drop_job(JobId job) {
  std::erase_if(pending_.jobs, [&](const store::JobRow& row) { return row.id == job.value; });
  std::erase_if(pending_.events, [&](const store::EventRow& row) { return row.job_id == job.value; });
  std::erase_if(pending_.keys, [&](const store::IdempotencyRow& row) { return row.job_id == job.value; });
}

}  // namespace sl::controller
