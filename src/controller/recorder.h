// The Journal of the live world: turns records into rows, keeps one commit under way, and lets go of answers and
// commands once what they tell of is durable. Everything that comes up during a commit shares the next one (group
// commit).
//
// When a commit fails (disk full) its rows are kept and tried again each second; submissions in it are refused.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "controller/job_book.h"
#include "controller/outside.h"
#include "engine/engine.h"

namespace sl::controller {

class Recorder : public Journal {
 public:
  Recorder(JobBook& book, Outside& outside, std::int64_t next_event)
      : book_(book), outside_(outside), next_event_(next_event) {}

  // ---- Journal ----
  bool append(const Core& core, const std::vector<Record>& records, BatchNumber batch) override;

  // ---- rows that are not about jobs' states ----
  void write(store::ServerRow row) { pending_.servers.push_back(std::move(row)); }
  void write(store::PolicyRow row) { pending_.policies.push_back(std::move(row)); }
  void write(store::SettingRow row) { pending_.settings.push_back(std::move(row)); }
  void write(store::IdempotencyRow row) { pending_.keys.push_back(std::move(row)); }
  void write_event(store::EventRow row);
  void write_job(const store::JobRow& row);

  // Runs `work(ok)` once all that is recorded up to now is durable, or with the error when it could not be written.
  void when_durable(std::function<void(const Status&)> work);

  // Sends what is recorded if no commit is under way. `now` paces retries.
  void flush(Instant now);
  // The commit under way has ended. Returns the last batch that is durable now.
  BatchNumber on_committed(const Status& status, Instant now);

  std::int64_t next_event() const { return next_event_; }
  bool has_work() const { return in_flight_ || !is_empty(pending_) || !waiters_.empty(); }
  bool is_refusing() const { return failed_.has_value(); }  // the last commit failed
  const Error& failure() const { return failed_->error(); }
  Instant retry_at() const { return failed_ && !in_flight_ ? retry_at_ : Instant::never(); }

  // The last events, oldest first, for reading without the disk.
  const std::deque<store::EventRow>& latest_events() const { return latest_; }
  std::function<void(const store::EventRow&)> on_event;  // called for each durable event
  // Jobs that were refused while their rows had not been written: nothing of them is kept.
  void drop_job(JobId job);

 private:
  static bool is_empty(const store::Batch& batch);
  void merge_failed();

  JobBook& book_;
  Outside& outside_;
  std::int64_t next_event_;
  store::Batch pending_;
  store::Batch sent_;
  bool in_flight_ = false;
  BatchNumber pending_batch_ = 0;
  BatchNumber sent_batch_ = 0;
  std::vector<std::function<void(const Status&)>> waiters_;
  std::vector<std::function<void(const Status&)>> sent_waiters_;
  std::optional<Status> failed_;
  Instant retry_at_;
  std::deque<store::EventRow> latest_;
};

}  // namespace sl::controller
