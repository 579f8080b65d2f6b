// A job as the core and the policies see it: what was requested (JobRequest), what is known about its training
// (JobModel), and its current state (Job). What a job runs (command, environment) is irrelevant to scheduling and is
// kept by the worlds.
//
// "Unknown" is a value: an empty optional, a null pointer. Policies must cope with it and say what they assume instead.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/number_ranges.h"
#include "base/time.h"
#include "model/allocation.h"
#include "model/ids.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/server_choice.h"
#include "model/speed_curve.h"

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
// Its attempt is about to continue on other GPUs.
constexpr bool is_moving(JobState s) { return s == JobState::migrating || s == JobState::resizing; }
// The legal changes of state; ARCHITECTURE.md, "Life of a job", draws them.
bool may_follow(JobState from, JobState to);

// What an interruption may do to a job. `none`: never interrupted. `freeze`: its processes may be stopped and continued
// in place. `checkpoint`: may be stopped, moved or resized, and continues from its last checkpoint.
enum class Capability : std::uint8_t { none, freeze, checkpoint };

enum class TrainingMode : std::uint8_t { all_reduce, parameter_server_sync, parameter_server_async };

// One role of a job whose members run together ("worker", "server", "scheduler"). How many members a job has, and where
// they are: model/demand.h.
struct Role {
  std::string name;
  int count_min = 1;      // fewer do not start
  int count_wanted = 1;   // below count_min: a required member does not exist, and the job cannot start
  int gpus = 1;           // of one member: 1, or 0 for members that need only what `demand` says
  ResourceVector demand;  // of one member
  friend bool operator==(const Role&, const Role&) = default;
};

// How fast a training is on GPUs of one type.
struct GpuTypeSpeed {
  GpuTypeIndex gpu_type;
  double on_one_gpu = 1;  // relative to one GPU of the type that run times refer to
  SpeedCurve curve;       // on more GPUs of the type, relative to one of them
  friend bool operator==(const GpuTypeSpeed&, const GpuTypeSpeed&) = default;
};

// What is known about a training in advance. Shared by all jobs of one kind; every figure may be unknown.
struct JobModel {
  std::optional<std::int64_t> parameter_bytes;       // model size
  std::optional<std::int64_t> largest_tensor_bytes;  // Tiresias: skew = largest tensor / model
  std::optional<std::int64_t> checkpoint_bytes;
  std::optional<std::int64_t> gpu_memory_bytes;  // used on each GPU
  std::optional<double> gpu_utilization_pct;     // when it runs alone
  std::optional<int> batch_size;                 // in one step over all GPUs
  std::optional<std::int64_t> steps_total;
  std::optional<int> epochs_total;
  std::optional<TrainingMode> mode;
  std::optional<double> target_loss;
  std::optional<double> budget;             // cost units (policies.md 10.4)
  std::optional<Duration> restart_cost;     // time to stop and continue elsewhere
  std::optional<double> step_time_fixed_s;  // step time = fixed + per_sample * batch (policies.md 11.2)
  std::optional<double> step_time_per_sample_s;
  SpeedCurve speed_curve;                       // on GPUs of the type that run times refer to
  std::vector<GpuTypeSpeed> speed_by_gpu_type;  // of the measured types, the reference first; empty: none
  std::vector<Role> roles;                      // empty: one role, `gpus` workers
  std::vector<int> gpu_counts_allowed;          // ascending; empty: every count in [gpus_min, gpus_max]
  friend bool operator==(const JobModel&, const JobModel&) = default;
};

// What is stated about a training, completed with measurements of its family.
JobModel completed(JobModel said, const JobModel& measured);
// The model without what only measurements provide: speeds, load on the GPUs, times of steps, checkpoints and restarts.
JobModel without_measurements(JobModel model);

inline constexpr int any_number_of_servers = std::numeric_limits<int>::max();

// What must have happened before a job may start, besides GPUs becoming free.
struct Prerequisites {
  Instant not_before;            // the job waits until then
  std::vector<JobId> after;      // must have succeeded: if one of them ends otherwise, the job fails
  std::vector<JobId> after_any;  // must have ended, however
};

// What the user asks for. Changes only when the user edits it.
struct JobRequest {
  JobId id;
  Instant submitted;
  int gpus = 1;  // r: what rigid policies give; 0 (and both others): it needs none, and policies do not see it
  int gpus_min = 1;
  int gpus_max = 1;
  int servers_max = 1;  // its GPUs are on that many servers at most
  int priority = 0;     // higher first
  Capability capability = Capability::none;
  bool freezable = false;  // its processes may be frozen: with the capability `freeze`, or besides `checkpoint`
  bool preemptible = true;
  bool migratable = true;
  bool shareable = false;         // may share its GPUs with other jobs
  bool needs_containers = false;  // it runs in a container: only where there is an engine for them
  UserIndex user;
  FamilyIndex family;
  double user_weight = 1;  // of the user's share
  Instant deadline = Instant::never();
  std::optional<Duration> estimate;    // the user's own figure for the run time on `gpus` GPUs
  std::optional<Duration> time_limit;  // it is stopped after running this long
  ResourceVector
      demand;  // cpus, memory… besides GPUs, of the whole job; with roles: of all its members on `gpus` GPUs.
               // Zero: nothing is requested. How it is divided over servers: Demand (model/demand.h)
  std::optional<std::int64_t> gpu_memory_bytes;        // needed on each GPU
  std::vector<GpuTypeIndex> gpu_types;                 // any of; empty: any
  ServerChoice servers_chosen;                         // where it may run
  std::shared_ptr<const JobModel> model;               // null: nothing is known
  std::shared_ptr<const Prerequisites> prerequisites;  // null: none
  JobId member_of;                                     // its group (struct Group); none: it is no member
  friend bool operator==(const JobRequest&, const JobRequest&) = default;

  bool needs_gpus() const { return gpus_max > 0; }
  bool is_elastic() const { return gpus_min < gpus_max; }
  bool single_server() const { return servers_max == 1; }
  // Whether it asks nothing of a server but GPUs and `demand`.
  bool takes_any_server() const {
    return gpu_types.empty() && !gpu_memory_bytes && !needs_containers && servers_chosen.is_any();
  }
  // Whether its GPUs may be divided over the servers of this allocation, as far as their number goes.
  bool may_spread_over(const Allocation& on) const { return std::cmp_less_equal(on.parts().size(), servers_max); }
  const SpeedCurve& speed_curve() const { return model ? model->speed_curve : unmeasured_speed_curve; }
};

struct SpeedSample {  // measured while it ran in one configuration
  int workers = 1;
  int servers = 0;  // parameter servers; 0: all-reduce
  int machines = 1;
  GpuTypeIndex gpu_type;
  int batch_size = 0;  // 0: unknown
  JobId neighbour;     // co-tenant of its GPUs; none: alone
  double steps_per_s = 0;
  friend bool operator==(const SpeedSample&, const SpeedSample&) = default;
};

// What a running job has reported. Null until the first report.
struct JobTelemetry {
  std::vector<double> loss_by_epoch;  // one mean loss per finished epoch; a gap is filled evenly
  // Neither is kept when the controller restarts.
  Instant epoch_ended;       // when the last of them was reported; never: unknown
  int epochs_at_target = 0;  // reported one after the other with a loss of at most the target
  std::vector<SpeedSample> speeds;
  std::optional<double> gpu_utilization_pct;          // mean over its GPUs
  std::optional<std::int64_t> gpu_memory_used_bytes;  // on the fullest of them
  std::optional<double> accuracy;
};

struct GpuTypeTime {
  GpuTypeIndex gpu_type;
  Duration run;  // time spent running there; if a job runs on several types at once, divided by its GPUs
};

// What a job is that stands for many, the members of an array. It never runs itself: its members come up one after the
// other when they might start, each as a job of its own with the group's request (core/groups.h). Until then they take
// no memory. The group ends when all of them have.
struct Group {
  static constexpr std::int64_t every_place = std::numeric_limits<std::int64_t>::max(), unknown = -1;

  std::int64_t size = 0;
  JobId first_member;    // the others have the numbers that follow
  int max_running = 0;   // so many members at most have come up and not ended; 0: any number
  NumberRanges to_come;  // places of the members that have not come up, from 0
  // Once `max_running` is below the number that have come up: of those that never began, the ones beyond this place wait
  // out of line.
  std::int64_t last_admitted = every_place;
  std::int64_t admitted_of = 0;                // how many members had not ended when that was worked out
  std::array<std::int64_t, 11> by_state = {};  // members that have come up

  std::int64_t& in(JobState state) { return by_state[static_cast<std::size_t>(state)]; }
  std::int64_t in(JobState state) const { return by_state[static_cast<std::size_t>(state)]; }
  std::int64_t unfinished() const;  // of those that have come up
  JobId member(std::int64_t place) const { return JobId(first_member.value + place); }
  std::int64_t place(JobId member) const { return member.value - first_member.value; }
  bool is_over_limit() const { return max_running > 0 && unfinished() > max_running; }
};
// Of a live group: the number that follows its own, and so on.
inline JobId member_id(JobId group, std::int64_t place) { return JobId(group.value + 1 + place); }

// The state of a job. Only the core writes it.
struct alignas(64) Job {  // to take as few cache lines as possible
  JobRequest request;
  JobState state = JobState::pending;
  bool cancel_requested = false;
  bool on_hold = false;                  // its user holds it: it does not wait for GPUs when it has none
  bool set_aside = false;                // waiting out of the line that policies see (core/line_gate.h)
  bool resumes = false;                  // starting: a suspended attempt continues, instead of a new one
  ReasonCode reason = ReasonCode::none;  // why it waits, as a policy deferred it; none: the core finds out when asked
  int attempt = 0;                       // number of the current or last attempt; 0 before the first
  int gpus_awaited = 0;                  // starting, moving: GPUs promised to it that another job has yet to release
  int gpus_standing_by = 0;              // GPUs that it has meanwhile, unused
  ServerIndex last_server;               // where its checkpoint is nearest
  Instant state_since;
  Instant waiting_since;  // pending, suspended: since when
  Instant first_start;
  Instant last_start;                // of the current or last attempt, or its resumption
  Instant placed;                    // when a policy last decided its place; never: before a restart
  Instant accounted;                 // the time up to which `run` and the attained service are counted
  Duration run;                      // time spent running, all attempts
  std::int64_t attained_gpu_us = 0;  // A_i: GPU-microseconds held while running
  Duration run_at_promotion;         // run and attained when a policy last promoted it (Tiresias)
  std::int64_t attained_at_promotion_gpu_us = 0;
  std::int32_t preemptions = 0;
  std::int32_t resizes = 0;
  std::int32_t migrations = 0;
  std::int32_t failures = 0;              // attempts that ended badly and were tried again
  Allocation allocation;                  // GPUs it owns
  Allocation target;                      // migrating, resizing: the GPUs it will own
  std::unique_ptr<Allocation> frozen_on;  // suspended: the GPUs that its processes know; null: it may continue anywhere
  std::unique_ptr<JobTelemetry> telemetry;
  std::unique_ptr<std::vector<GpuTypeTime>> run_by_gpu_type;  // up to `accounted`, once there are several types
  std::unique_ptr<Group> group;                               // null: it is one job
  double annotation = 0;  // a number that the policy keeps with the job; Policy::standing explains it

  // Run time and attained service up to `now`, including the running interval.
  Duration run_at(Instant now) const { return is_accruing() ? run + (now - accounted) : run; }
  std::int64_t attained_at(Instant now) const {
    return is_accruing() ? attained_gpu_us + (now - accounted).us * allocation.count() : attained_gpu_us;
  }
  // Only running counts: time being started, stopped or moved is not service. One that is to move runs on until all of
  // its new GPUs are free.
  bool is_accruing() const { return state == JobState::running || (is_moving(state) && gpus_awaited > 0); }
  // In the line that policies see, or set aside.
  bool is_queued() const { return state == JobState::pending || state == JobState::suspended; }
  bool is_waiting() const { return is_queued() && !set_aside; }  // in the line
};

#if defined(__LP64__) && !defined(_GLIBCXX_DEBUG)
static_assert(sizeof(Job) <= 7 * 64,
              "a simulation has tens of thousands of them: what few jobs have is behind a pointer");
#endif

// Prefetches it, for callers that know which one they read next: with tens of thousands of jobs it is in no cache.
inline void fetch(const Job& job) {
  const char* const at = reinterpret_cast<const char*>(&job);
  for (std::size_t line = 0; line < sizeof(Job); line += 64) __builtin_prefetch(at + line);
}

// Bytes that it uses on each of its GPUs, as far as known: as measured, else of its model, else as asked for.
inline std::optional<std::int64_t> gpu_memory_of(const Job& job) {
  if (job.telemetry && job.telemetry->gpu_memory_used_bytes) return job.telemetry->gpu_memory_used_bytes;
  if (job.request.model && job.request.model->gpu_memory_bytes) return job.request.model->gpu_memory_bytes;
  return job.request.gpu_memory_bytes;
}

}  // namespace sl
