// What the controller knows about jobs besides scheduling: what they run, where they ran, how they ended. One entry per
// job. Only unfinished jobs and the latest finished ones are here; the others are in the database (history.h).
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "controller/attempt_meter.h"
#include "controller/gang.h"
#include "controller/profiles.h"
#include "core/core.h"
#include "store/store.h"
#include "wire/job_spec.h"

namespace sl::controller {

// Measurements in progress of a job's training (telemetry.h shows them).
struct Measurements {
  AttemptMeter meter;
  std::string unit;                 // the meter's unit: "step" or "epoch"; empty: nothing yet
  std::int64_t started_us = 0;      // of the current attempt, by its agent's clock
  int epoch_told = 0;               // the last epoch whose loss was reported to the core
  bool is_over_gpu_memory = false;  // and that was recorded
  bool has_diverged = false;        // its loss was not finite, and that was recorded
  std::optional<double> start_up_s;
  std::optional<std::int64_t> checkpoint_bytes;
  std::optional<double> checkpoint_s;
  std::optional<int> steps_per_epoch;

  std::optional<double> stop_s;          // that stopping the attempt before took
  std::optional<double> stopped_at;      // the last count of the attempt before, until the present one has reported
  std::optional<double> repeated_count;  // of these the present one did again
  std::optional<double> repeated_s;

  void begin(int attempt, JobId neighbour) {
    const double last = meter.last_count();
    if (!meter.begin(attempt, neighbour)) return;
    start_up_s.reset(), repeated_count.reset(), repeated_s.reset();
    epoch_told = 0, is_over_gpu_memory = has_diverged = false;
    if (last > 0) stopped_at = last;
  }
  bool is_any() const { return !unit.empty() || checkpoint_bytes; }
};

inline constexpr std::size_t finished_jobs_max = 1'000;                   // kept in memory
inline constexpr std::size_t finished_bytes_max = std::size_t{64} << 20;  // of what they were submitted with

struct JobEntry {
  store::JobRow row;                            // its current state, as it is written
  std::vector<store::PlacementRow> placements;  // of all its incarnations, in the order they began
  std::int64_t pid = 0;                         // of the current attempt, on its server
  std::string image;                            // digest or id of that which its current attempt runs, once known
  StopReason stopping = StopReason::none;       // why it is being stopped; durable together with that state
  std::string stop_with;            // what its user wants it stopped with: "KILL", at once; "INT"; empty: as usual
  std::string last_failure;         // of an attempt after which it is tried again; forgotten by a restart
  Refusal refused = Refusal::none;  // the last decision about it that was refused, in its current state
  std::unique_ptr<Measurements> measured;             // null until it runs: most jobs of a long queue have none
  mutable std::unique_ptr<const wire::JobSpec> spec;  // row.spec_json as it was last read, while the job is not over
  std::unique_ptr<Gang> gang;                         // of the latest incarnation; null: it has one server
  bool is_retired = false;                            // its end is durable
  std::size_t bytes = 0;                              // of its submission, as JobBook counts them

  Measurements& measuring() {
    if (!measured) measured = std::make_unique<Measurements>();
    return *measured;
  }
};

class JobBook {
 public:
  explicit JobBook(std::size_t retired_max = finished_jobs_max, std::size_t retired_bytes_max = finished_bytes_max)
      : retired_max_(retired_max), retired_bytes_max_(retired_bytes_max) {}

  JobEntry& add(store::JobRow row);
  JobEntry* find(JobId job);
  const JobEntry* find(JobId job) const;
  void forget(JobId job);
  // Its submission has changed.
  void recount(JobEntry& entry);
  // The job has ended and its end is durable: from now on it may make room for later ones. Calling it again has no
  // effect.
  void retire(JobId job);
  // The newest job with an id below `before`; null if there is none.
  const JobEntry* newest_below(JobId before) const;
  // The oldest job with an id above `after`; likewise.
  const JobEntry* oldest_above(JobId after) const;
  std::size_t size() const { return entries_.size(); }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [id, entry] : entries_) visit(entry);
  }

  // A finished job may be missed by a search in the database followed by one here: its end was not durable during the
  // first, and it has left memory since. has_kept(mark()) promises that no job whose end was not durable at the time of
  // mark() has left.
  std::uint64_t mark() const { return retired_ever_; }
  bool has_kept(std::uint64_t mark) const { return left_ever_ <= mark; }

  // What the submissions of a user's jobs take whose end is not durable.
  std::size_t bytes_of(const std::string& user) const {
    const auto at = bytes_.find(user);
    return at == bytes_.end() ? 0 : at->second;
  }

  // ---- number of jobs in a state, in the database and here ----
  std::int64_t count(JobState state) const { return counts_[static_cast<std::size_t>(state)]; }
  std::int64_t groups(JobState state) const { return group_counts_[static_cast<std::size_t>(state)]; }  // of those
  void add_to_count(JobState state, std::int64_t jobs, std::int64_t groups) {
    counts_[static_cast<std::size_t>(state)] += jobs;
    group_counts_[static_cast<std::size_t>(state)] += groups;
  }

 private:
  void stop_counting(const JobEntry& entry);

  std::map<JobId, JobEntry> entries_;
  std::deque<JobId> retired_;
  std::size_t retired_max_, retired_bytes_max_;
  std::size_t retired_bytes_ = 0;
  std::uint64_t retired_ever_ = 0, left_ever_ = 0;
  std::map<std::string, std::size_t> bytes_;  // by user
  std::array<std::int64_t, static_cast<std::size_t>(JobState::cancelled) + 1> counts_{}, group_counts_{};
};

// The row of a job that is submitted now.
store::JobRow new_row(const wire::JobSpec& spec, JobId id, Instant now);
// The row of a member that comes up, or has not yet.
store::JobRow member_row(const store::JobRow& group, JobId member);

// Whether it stands for several jobs (model/job.h, Group).
inline bool is_group(const store::JobRow& row) { return row.extra_json.starts_with('{'); }
// The members of a group as its row keeps them.
std::string members_text(const Group& group);
// As they were when the row was written; `group` needs its size if none has come up. False: the text is damaged.
bool read_members_text(const std::string& text, Group& group);

// The submission of a job that the core knows, which was readable when the job was accepted. Valid until the job's end
// is durable.
const wire::JobSpec& spec_of(const JobEntry& entry);

// Why an attempt is being stopped, as orders and rows write it. Unknown text means `none`.
const char* stop_reason_text(StopReason reason);
StopReason parse_stop_reason(std::string_view text);
std::string stop_text(StopReason reason, const std::string& with);  // "cancelled", "cancelled:INT"

// In a row, of a job that is starting: its processes were frozen and go on.
inline constexpr const char* resumes_text = "resumes";

// The request that the core schedules, from the normalised submission. What it does not state about its training is
// taken from the profile of its family, if there is one.
JobRequest make_request(const wire::JobSpec& spec, JobId id, Instant submitted, const ProfileBook& profiles,
                        Core& core);

// Reads the GPUs of a row: "0,2".
std::string gpu_list(GpuSet gpus);
GpuSet parse_gpu_list(std::string_view text);

// The jobs that run, start or stop, and those whose processes stand still.
std::vector<JobIndex> jobs_with_processes(const Core& core);
// The GPUs that a job holds, or that its processes stood on when they were frozen.
inline const Allocation& where_it_is(const Job& job) { return job.frozen_on ? *job.frozen_on : job.allocation; }

// Updates the row with the core's state of the job.
void copy_state(const Core& core, const Job& job, store::JobRow& row);

// The unfinished job as the core knew it when its rows were written. The servers of a job that holds GPUs must be
// known.
Result<Job> restore_job(const JobEntry& entry, const ProfileBook& profiles, Core& core);

}  // namespace sl::controller
