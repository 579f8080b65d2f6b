// What survives a restart, and nothing of how: jobs, events, policies, servers. No SQL outside this folder.
//
// A Batch is one transaction: all of it is durable or none. Rows are complete: writing a job row replaces the older
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

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
  std::string server;  // of the present or last attempt
  std::string gpus;    // "0,1"
  int priority = 0;
  bool held = false, cancel_requested = false;
  std::optional<int> exit_code, signal;
  std::string failure_kind, failure_message;
  std::string progress_json;
  double annotation = 0;   // kept to a millionth
  std::string extra_json;  // why it is being stopped: "cancelled", "preempted", "time_limit"
  friend bool operator==(const JobRow&, const JobRow&) = default;
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
  std::string source = {};  // of a policy that a user wrote; empty: a built-in one
  friend bool operator==(const PolicyRow&, const PolicyRow&) = default;
};

struct IdempotencyRow {
  std::string key, body_hash;
  std::int64_t job_id = 0, at_us = 0;
};

struct ServerRow {
  std::string name, agent_id, description_json;  // wire::Hello
  std::int64_t last_contact_us = 0;
};

struct SettingRow {
  std::string key, value;
};

struct Batch {
  std::vector<JobRow> jobs;  // inserted or replaced, the last of an id wins
  std::vector<EventRow> events;
  std::vector<PolicyRow> policies;  // appended to the history
  std::vector<IdempotencyRow> keys;
  std::vector<ServerRow> servers;
  std::vector<SettingRow> settings;
};

struct Loaded {
  std::vector<JobRow> unfinished_jobs;  // by id
  std::vector<JobRow> finished_jobs;    // the latest, oldest first
  std::vector<ServerRow> servers;       // in the order they joined
  std::vector<PolicyRow> policies;      // the latest, oldest first
  std::vector<SettingRow> settings;
  std::vector<IdempotencyRow> keys;  // younger than a day
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
  virtual Result<std::optional<JobRow>> job(std::int64_t id) = 0;
  // Ascending seq, after `after_seq`, of one job if given.
  virtual Result<std::vector<EventRow>> events(std::int64_t after_seq, std::size_t limit,
                                               std::optional<std::int64_t> job_id) = 0;
};

// The database of a data directory, made if it is not there (directory 0700). Errors: "newer-schema",
// "data-directory-not-writable", "data-directory-in-use", "store-failed".
Result<std::unique_ptr<Store>> open_sqlite(const std::string& data_dir);

}  // namespace sl::store
