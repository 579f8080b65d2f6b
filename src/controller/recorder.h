// The Journal of the live world: turns records into rows, keeps one commit running, and releases answers and commands
// once their contents are durable. Everything that arrives during a commit shares the next one (group commit).
//
// If a commit fails (disk full) its rows are kept and retried every second; submissions in it are refused, and until one
// succeeds whatever would change something else is refused too.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/incarnations.h"
#include "controller/interruption_costs.h"
#include "controller/metrics.h"
#include "controller/outside.h"
#include "engine/engine.h"
#include "engine/progress.h"

namespace sl::controller {

class Recorder : public Journal {
 public:
  Recorder(JobBook& book, InterruptionCosts& costs, const Incarnations& incarnations, Outside& outside,
           std::int64_t next_event)
      : book_(book), costs_(costs), incarnations_(incarnations), outside_(outside), next_event_(next_event) {}

  // ---- Journal ----
  bool append(const Core& core, const std::vector<Record>& records, BatchNumber batch) override;

  // ---- rows that are not about jobs' states ----
  void write(store::ServerRow row) { pending_.servers.push_back(std::move(row)); }
  void write(store::PolicyRow row) { pending_.policies.push_back(std::move(row)); }
  void write(store::ProfileRow row) { pending_.profiles.push_back(std::move(row)); }
  void write(store::SettingRow row) { pending_.settings.push_back(std::move(row)); }
  void write(store::IdempotencyRow row) { pending_.keys.push_back(std::move(row)); }
  void write(store::Removal removal) { pending_.removals.push_back(std::move(removal)); }
  // The keys of this job and of all earlier ones are no longer needed.
  void forget_keys(JobId last) { pending_.forget_keys_to = last.value; }
  void write(std::vector<store::PlacementRow> rows);
  void write_event(store::EventRow row);
  void write_job(const store::JobRow& row);

  // A server known from before the restart: that it is down is no event until nobody waits for its agent any more.
  bool awaits(const std::string& name) const { return awaited_servers_.contains(name); }
  void await_server(const std::string& name) { awaited_servers_.insert(name); }
  bool stop_awaiting(const std::string& name) { return awaited_servers_.erase(name) > 0; }  // whether it was awaited

  // Calls `work(ok)` once everything recorded so far is durable, or `work(error)` if it could not be written, which says
  // that it is kept. Who takes back what was recorded answers with failure().
  void when_durable(std::function<void(const Status&)> work);

  // Commits what is recorded if no commit is running. `now` paces retries.
  void flush(Instant now);
  // The running commit has ended. Returns the last batch that is durable now.
  BatchNumber on_committed(const Status& status, Instant now);

  std::int64_t next_event() const { return next_event_; }
  bool has_work() const { return in_flight_ || !is_empty(pending_) || !waiters_.empty(); }
  bool is_refusing() const { return failed_.has_value(); }  // the last commit failed
  const Error& failure() const { return failed_->error(); }
  Status accepts() const { return failed_.value_or(Status()); }  // what would change something
  const JobTotals& totals() const { return totals_; }            // since the controller started
  Instant committed_at() const { return committed_at_; }         // when the last commit ended, successfully or not
  Instant retry_at() const { return failed_ && !in_flight_ ? retry_at_ : Instant::never(); }

  // Why the current policy must go, if it only interrupts jobs (engine/progress.h); told once.
  std::optional<Error> take_standstill() { return std::exchange(standstill_, std::nullopt); }

  // A job that was refused before its rows were written: nothing of it is kept.
  void drop_job(JobId job);

 private:
  void count(const Record& record, const Job* job, bool is_known);
  void measure(const Core& core, const Record& record, JobEntry& entry);
  JobEntry* add_member(const Core& core, const Record& record);
  void write_groups(const Core& core, const std::vector<Record>& records);
  void watch(const Core& core, const Record& record);
  static bool is_empty(const store::Batch& batch);
  void merge_failed();

  JobBook& book_;
  InterruptionCosts& costs_;
  const Incarnations& incarnations_;
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
  Instant committed_at_;
  JobTotals totals_;
  Progress progress_{100, Duration::whole_seconds(1)};
  std::optional<Error> standstill_;
  std::set<std::string> awaited_servers_;
};

}  // namespace sl::controller
