// A job as the core and the policies see it: what was asked (JobRequest), what is known about its training (JobModel),
// and how it stands (Job). What a job runs (command, environment) is no business of scheduling and is kept by the
// worlds.
//
// "Unknown" is a value: an empty optional, a null pointer. Policies must cope with it and say what they assume instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/allocation.h"
#include "model/ids.h"
#include "model/reason.h"
#include "model/resources.h"

namespace sl {

enum class JobState : std::uint8_t {
  pending,
  held,
  starting,
  running,
  suspended,
  migrating,
  resizing,
  stopping,
  succeeded,
  failed,
  cancelled
};
const char* to_string(JobState state);
std::optional<JobState> parse_job_state(std::string_view text);
constexpr bool is_finished(JobState s) { return s >= JobState::succeeded; }
// An attempt exists or is being made: the job may hold GPUs.
constexpr bool is_active(JobState s) { return s >= JobState::starting && s <= JobState::stopping; }
// The legal changes of state (docs/guide/job-states.md draws them).
bool may_follow(JobState from, JobState to);

// What an interruption may do to a job. `none`: never interrupted. `freeze`: may be stopped and continued in place.
// `checkpoint`: may be stopped, moved, resized, and goes on from its last checkpoint.
enum class Capability : std::uint8_t { none, freeze, checkpoint };

enum class TrainingMode : std::uint8_t { all_reduce, parameter_server_sync, parameter_server_async };

// One role of a gang ("worker", "server", "scheduler"): how many must run together, how many are wanted.
struct Role {
  std::string name;
  int count_min = 1;
  int count_wanted = 1;
  ResourceVector demand;  // of one member
  friend bool operator==(const Role&, const Role&) = default;
};

// What is known about a training in advance. Shared by all jobs of one kind; every figure may be unknown.
struct JobModel {
  std::optional<std::int64_t> parameter_bytes;       // model size
  std::optional<std::int64_t> largest_tensor_bytes;  // Tiresias: skew = largest tensor / model
  std::optional<std::int64_t> checkpoint_bytes;
  std::optional<std::int64_t> gpu_memory_bytes;                   // used on each GPU
  std::optional<double> gpu_utilization_pct;                      // when it runs alone
  std::optional<int> batch_size, batch_size_min, batch_size_max;  // global batch
  std::optional<std::int64_t> steps_total;
  std::optional<int> epochs_total;
  std::optional<TrainingMode> mode;
  std::optional<double> target_loss;
  std::optional<double> budget;             // cost units (policies.md 10.4)
  std::optional<Duration> restart_cost;     // to stop and go on elsewhere
  std::optional<double> step_time_fixed_s;  // step time = fixed + per_sample * batch (policies.md 11.2)
  std::optional<double> step_time_per_sample_s;
  std::vector<double> speedup;          // [g-1]: on g GPUs relative to one; empty: unknown
  std::vector<double> run_time_s;       // [g-1]: whole run on g GPUs, as measured; empty: unknown
  std::vector<Role> roles;              // empty: one role, `gpus` workers
  std::vector<int> gpu_counts_allowed;  // empty: every count in [gpus_min, gpus_max]
  friend bool operator==(const JobModel&, const JobModel&) = default;
};

// What was asked for. Changes only by an edit of the user.
struct JobRequest {
  JobId id;
  Instant submitted;
  int gpus = 1;  // r: what rigid policies give
  int gpus_min = 1;
  int gpus_max = 1;
  bool single_server = true;
  int priority = 0;  // higher first
  Capability capability = Capability::none;
  bool preemptible = true;
  bool migratable = true;
  bool shareable = false;  // may share its GPUs with other jobs
  UserIndex user;
  FamilyIndex family;
  double user_weight = 1;  // share of the user's tenant
  Instant deadline = Instant::never();
  std::optional<Duration> estimate;              // the user's own figure for the run time on `gpus` GPUs
  std::optional<Duration> time_limit;            // it is stopped after running this long
  ResourceVector demand;                         // cpus, memory… beside GPUs, for the whole job; zero: not asked
  std::optional<std::int64_t> gpu_memory_bytes;  // needed on each GPU
  std::vector<GpuTypeIndex> gpu_types;           // any of; empty: any
  std::shared_ptr<const JobModel> model;         // null: nothing known
  friend bool operator==(const JobRequest&, const JobRequest&) = default;

  bool is_elastic() const { return gpus_min < gpus_max; }
};

struct SpeedSample {  // what was measured while it ran in one configuration
  int workers = 1;
  int servers = 0;  // parameter servers; 0: all-reduce
  int machines = 1;
  GpuTypeIndex gpu_type;
  int batch_size = 0;  // 0: unknown
  JobId neighbour;     // co-tenant of its GPUs; none: alone
  double steps_per_s = 0;
};

// What a running job has told us. Null until it tells something.
struct JobTelemetry {
  std::vector<double> loss_by_epoch;  // one mean loss per finished epoch
  std::vector<SpeedSample> speeds;
  std::optional<double> gpu_utilization_pct;
  std::optional<std::int64_t> gpu_memory_used_bytes;
  std::optional<double> gradient_noise_scale;  // Pollux: variance over squared norm
  std::optional<double> accuracy;
};

// How a job stands. Written by the core alone.
struct alignas(64) Job {  // to lie in as few cache lines as it can
  JobRequest request;
  JobState state = JobState::pending;
  bool stop_is_preemption = false;  // stopping: it goes back to the queue afterwards
  bool cancel_requested = false;
  bool resumes = false;  // starting: a suspended attempt goes on, no new one begins
  Reason reason;         // why it waits, set by a policy's defer; code `none`: the core works it out when asked
  int attempt = 0;       // number of the present or last attempt; 0 before the first
  int gpus_awaited = 0;  // starting: GPUs promised to it that another job has still to release
  Instant state_since;
  Instant waiting_since;  // pending, suspended: since when
  Instant first_start;
  Instant last_start;                // of the present or last attempt, or its resumption
  Instant accounted;                 // run and attained hold all up to here
  Duration run;                      // time spent running, all attempts
  std::int64_t attained_gpu_us = 0;  // A_i: GPU-microseconds held while running
  Duration run_at_promotion;         // run and attained when a policy last promoted it (Tiresias)
  std::int64_t attained_at_promotion_gpu_us = 0;
  std::int32_t preemptions = 0;
  std::int32_t resizes = 0;
  std::int32_t migrations = 0;
  std::int32_t failures = 0;  // attempts that ended badly and were tried again
  ServerIndex last_server;    // where its checkpoint is nearest
  Allocation allocation;      // GPUs it owns
  Allocation target;          // migrating, resizing: what it will own
  std::unique_ptr<JobTelemetry> telemetry;
  double annotation = 0;  // what the policy last noted about it (queue index, priority), for display

  // Time run and service attained up to `now`, the running interval included.
  Duration run_at(Instant now) const { return is_accruing() ? run + (now - accounted) : run; }
  std::int64_t attained_at(Instant now) const {
    return is_accruing() ? attained_gpu_us + (now - accounted).us * allocation.count() : attained_gpu_us;
  }
  // A job works while it runs; time being stopped, moved or started is not service.
  bool is_accruing() const { return state == JobState::running; }
  bool is_waiting() const { return state == JobState::pending || state == JobState::suspended; }
};

}  // namespace sl
