// What survives a restart (jobs, events, policies, servers), independently of how it is stored. No SQL outside this
// folder.
//
// A Batch is one transaction: all of it becomes durable or none of it. Rows are complete: a job row that is written
// replaces the previous one. A Store writes, and loads what a controller starts with; Readers read the past at the same
// time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/notification_rows.h"
#include "store/people_rows.h"

namespace sl::store {

struct JobRow {
  std::int64_t id = 0;
  std::string user, name;
  std::string spec_json;  // wire::JobSpec
  std::string state;      // as in wire: "pending"
  std::int64_t submitted_us = 0, state_since_us = 0;
  std::optional<std::int64_t> first_start_us, last_start_us, finished_us;
  int attempt = 0;
  std::int64_t run_us = 0, attained_gpu_us = 0;
  int preemptions = 0, migrations = 0, resizes = 0, failures = 0;
  std::int64_t group_id = 0;      // of the group whose member it is (model/job.h); 0: it is none
  std::int64_t member_index = 0;  // its number there
  int quick_requeues = 0;         // consecutive requests to be restarted that came soon after a start
  std::string server;             // of the current or last attempt
  std::string gpus;               // "0,1"
  int priority = 0;
  bool held = false;  // by its user
  bool cancel_requested = false;
  std::optional<int> exit_code, signal;
  std::string failure_kind, failure_message;
  std::string progress_json;   // the last report of its metrics file
  std::string telemetry_json;  // controller/telemetry.h
  double annotation = 0;       // kept to a millionth
  // Why it is being stopped: "cancelled", "cancelled:KILL", "preempted", "time_limit"; of a group: its members.
  std::string extra_json;
  friend bool operator==(const JobRow&, const JobRow&) = default;
};

// Where an incarnation runs or ran: one row per server.
struct PlacementRow {
  std::int64_t job_id = 0;
  int attempt = 0;
  std::int64_t incarnation = 0;  // its number; 0: begun by a version without incarnations
  std::string cluster;           // empty then
  std::string server;
  int rank = 0;           // of the server among those of the incarnation
  std::string gpus;       // "0,1"
  std::string gpu_uuids;  // "GPU-…,GPU-…"; empty: unknown
  std::optional<std::int64_t> ended_us;
  bool has_checkpoint = false;  // it ran with a checkpoint folder, and its server has not been lost since
  friend bool operator==(const PlacementRow&, const PlacementRow&) = default;
};

struct EventRow {
  std::int64_t seq = 0, at_us = 0;  // seq ascends without gaps
  std::string kind;
  std::optional<std::int64_t> job_id;
  std::string server, actor_type, actor_name, from, to, text, data_json;
  friend bool operator==(const EventRow&, const EventRow&) = default;
};

struct PolicyRow {
  std::int64_t since_us = 0;
  std::string name, parameters_json, by;
  std::string source = {};  // of a user's own policy; empty: a built-in one
  std::string reason = {};  // why it replaced the previous one; empty: a user chose it
  friend bool operator==(const PolicyRow&, const PolicyRow&) = default;
};

struct IdempotencyRow {
  std::string key, body_hash;
  std::int64_t job_id = 0, at_us = 0;
};

struct ServerRow {
  std::string name, agent_id;
  std::string description_json;  // wire::Hello; empty: it is not part of the cluster any more
  std::int64_t last_contact_us = 0;
};

struct ProfileRow {
  std::string family;
  std::string profile_json;  // wire::TrainingProfile; empty: deleted
  std::int64_t at_us = 0;
  std::string user = {};  // who stored it; empty: that was not noted
};

struct SettingRow {
  std::string key;
  std::string value;  // empty: none any more
};

// When a job was expected to start or finish, as it was shown, and when it did.
struct EstimateRow {
  std::int64_t job_id = 0, shown_us = 0;
  std::int64_t p10_us = 0, p50_us = 0, p90_us = 0;
  std::int64_t raw_p10_us = 0, raw_p50_us = 0, raw_p90_us = 0;  // before the correction by earlier ones
  std::optional<std::int64_t> actual_us;                        // nothing: not yet; 0: the job was cancelled
  std::string target;                                           // "start" or "finish"
  std::string policy, basis;
  friend bool operator==(const EstimateRow&, const EstimateRow&) = default;
};
inline constexpr std::int64_t estimates_max = 20'000;  // kept, the latest

// How a shadow would have done instead of the policy in force (forecast/shadow.h), as of one moment. Mean times of a job;
// `mean_us` is the difference, between `low_us` and `high_us` in 8 of 10 futures.
struct RegretRow {
  std::int64_t at_us = 0, since_us = 0;
  std::int64_t jobs = 0, draws = 0;
  std::int64_t in_force_us = 0, shadow_us = 0;
  std::int64_t mean_us = 0, low_us = 0, high_us = 0;
  std::string in_force, shadow;
  friend bool operator==(const RegretRow&, const RegretRow&) = default;
};
inline constexpr std::int64_t regrets_max = 20'000;  // kept, the latest

// How many jobs have ended in this state and are still kept.
struct TotalRow {
  std::string state;
  std::int64_t jobs = 0;
  std::int64_t groups = 0;  // of these: groups themselves, whose members are jobs of their own
  friend bool operator==(const TotalRow&, const TotalRow&) = default;
};

struct FinishedJob {
  std::int64_t id = 0;
  std::string state;
  bool is_group = false;
};

// Finished jobs, and events that concern no job, to be removed for good with all that belongs to them. The database
// remembers which jobs were removed, when and by which rule.
struct Removal {
  std::int64_t at_us = 0;
  std::string rule;  // "age", "number" or "size"; "request": of a user
  std::vector<FinishedJob> jobs;
  std::int64_t events_until_us = 0;  // the oldest events of no job from before this time, up to a thousand; 0: none
  std::string by = {};               // the user who requested it; empty: a rule
};

struct Batch {
  std::vector<JobRow> jobs;              // inserted or replaced, the last of an id wins
  std::vector<PlacementRow> placements;  // likewise, by job, incarnation and server
  std::vector<EventRow> events;
  std::vector<PolicyRow> policies;  // appended to the history
  std::vector<IdempotencyRow> keys;
  std::vector<ServerRow> servers;
  std::vector<SettingRow> settings;
  std::int64_t forget_keys_to = 0;   // the keys of this job and of earlier ones are deleted; 0: none
  std::vector<ProfileRow> profiles;  // one per family, the last one wins
  std::vector<Removal> removals;
  std::vector<EstimateRow> estimates;   // inserted or replaced, by job, target and time of showing
  std::vector<ChannelRow> channels;     // likewise, by owner and name
  std::vector<DeliveryRow> deliveries;  // likewise, by id
  std::vector<RegretRow> regrets;       // inserted or replaced, by time
  People people;                        // likewise, by name or id
};

struct Loaded {
  std::vector<JobRow> unfinished_jobs;    // by id
  std::vector<JobRow> finished_jobs;      // the latest, oldest first
  std::vector<TotalRow> finished_totals;  // one per state
  std::vector<PlacementRow> placements;   // of these jobs, in the order they began, each by rank
  std::vector<ServerRow> servers;         // in the order they joined
  std::vector<PolicyRow> policies;        // the latest, oldest first
  std::vector<SettingRow> settings;
  std::vector<ProfileRow> profiles;  // by family
  std::vector<IdempotencyRow> keys;  // younger than a day, by job
  std::int64_t last_event_us = 0;
  std::int64_t next_event_seq = 1;
  std::int64_t next_job_id = 1;
};

class Store {
 public:
  virtual ~Store() = default;
  // Errors: "disk-full" (unavailable), "store-failed".
  virtual Status commit(const Batch& batch) = 0;
  virtual Result<Loaded> load(std::int64_t now_us, std::size_t finished_max) = 0;
};

// The database of a data directory, created if missing. Errors: "newer-schema", "data-directory-not-writable",
// "data-directory-in-use", "store-failed".
Result<std::unique_ptr<Store>> open_sqlite(const std::string& data_dir);

// Error "data-directory-in-use" while a controller runs with this folder. Makes nothing.
Status check_not_in_use(const std::string& data_dir);

// What a controller would start with, from a database that none writes; only reads it. Without `keys`.
// Errors: "no-database", "older-schema", "newer-schema", "store-failed".
Result<Loaded> load_past(const std::string& data_dir, std::size_t finished_max);

// Which finished jobs to read. Empty fields exclude nothing.
struct JobQuery {
  std::int64_t before = INT64_MAX;  // ids below this one
  std::int64_t after = INT64_MIN;   // ids above this one
  bool oldest_first = false;
  std::vector<std::string> states;
  std::string user, word;  // `word`: some part of the name
  std::int64_t group = 0;  // only the members of this group; 0: any job
  bool grouped = false;    // without the members of groups
  std::size_t limit = 100;
  std::string server = {};                          // where it is, or was last; empty: anywhere
  std::string label = {}, label_value = {};         // empty: any; `label_value` empty: it has the label
  std::int64_t since_us = 0, until_us = INT64_MAX;  // submitted then: [since, until)
  bool is_of_some() const {
    return group > 0 || grouped || !server.empty() || !label.empty() || since_us > 0 || until_us < INT64_MAX;
  }
};

struct EventQuery {
  std::optional<std::int64_t> job;    // only events of this job
  std::optional<std::int64_t> after;  // events after this sequence number; none: the latest
  std::size_t limit = 100;
  std::string server = {};                          // only events of this server; empty: of any
  std::string about = {};                           // of wire/event_subjects.h; empty: any
  bool progress = true;                             // also how far jobs have come, which most events are
  bool notable = false;                             // only failures, interruptions, and what is not about jobs
  std::int64_t since_us = 0, until_us = INT64_MAX;  // only what happened then: [since, until)
};

// A job that had been submitted and had not ended at some moment.
struct JobThen {
  std::int64_t id = 0, group_id = 0, submitted_us = 0;
  std::int64_t state_since_us = 0;
  std::string state;  // at that moment
};

// What the events that are kept say about a moment of the past. Members of groups that had not come up are missing.
struct Moment {
  std::vector<JobThen> jobs;                   // by number
  std::map<std::string, std::string> servers;  // the states of those that had joined
};

struct RemovedJob {
  std::int64_t at_us = 0;
  std::string rule;  // as in Removal
};

// Sees what is durable at the time of each call, while a Store commits. Only one thread at a time may use it. Errors:
// "store-failed".
class Reader {
 public:
  virtual ~Reader() = default;
  virtual Result<std::optional<JobRow>> job(std::int64_t id) = 0;              // finished or not
  virtual Result<std::vector<PlacementRow>> placements(std::int64_t job) = 0;  // in the order they began
  // Those of the jobs with these numbers that have ever been on several servers at once, by job, likewise.
  virtual Result<std::vector<PlacementRow>> spread_placements(std::int64_t first_job, std::int64_t last_job) = 0;
  virtual Result<std::vector<JobRow>> finished_jobs(const JobQuery& query) = 0;  // newest first, unless it says so
  virtual Result<std::int64_t> count_finished(const JobQuery& query) = 0;        // ignores the limit of `query`
  virtual Result<std::vector<EventRow>> events(const EventQuery& query) = 0;     // oldest first
  virtual Result<Moment> moment(std::int64_t) { return Moment(); }               // at this time, in µs
  virtual Result<std::optional<RemovedJob>> removed(std::int64_t job) = 0;       // nothing if it has not been removed

  virtual Result<std::vector<EstimateRow>> estimates() { return std::vector<EstimateRow>(); }  // oldest first
  virtual Result<std::vector<RegretRow>> regrets() { return std::vector<RegretRow>(); }        // likewise

  // ---- notifications ----
  virtual Result<std::vector<ChannelRow>> channels() { return std::vector<ChannelRow>(); }
  virtual Result<std::vector<DeliveryRow>> open_deliveries() { return std::vector<DeliveryRow>(); }  // oldest first
  virtual Result<std::vector<DeliveryRow>> deliveries(const DeliveryQuery&) { return std::vector<DeliveryRow>(); }
  virtual Result<std::string> setting(const std::string&) { return std::string(); }  // empty: there is none

  virtual Result<People> people() { return People(); }

  // ---- for retention rules ----
  // When these jobs ended; those that the database does not have are missing, unfinished ones have no time.
  virtual Result<std::map<std::int64_t, std::optional<std::int64_t>>> ends(const std::vector<std::int64_t>& jobs) = 0;
  virtual Result<std::int64_t> bytes_used() = 0;  // of the file, without the free space that removed rows have left
  // Jobs that ended before `before_us`, in the order in which they ended, without members of groups that have not.
  virtual Result<std::vector<FinishedJob>> oldest_finished(std::int64_t before_us, std::size_t limit) = 0;
  virtual Result<bool> has_events_of_no_job(std::int64_t before_us) = 0;
};

// Reads the database that open_sqlite() has made.
Result<std::unique_ptr<Reader>> open_reader(const std::string& data_dir);

}  // namespace sl::store
