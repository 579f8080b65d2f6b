// The documents that REST answers with. Their keys are the names of these members, in this order, and all of them are
// always there (null: unknown, or nothing of this kind); the OpenAPI document describes them from these structs.
// docs/guide/rest.md says what they mean. Made by views.h and its neighbours.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/telemetry.h"
#include "wire/agent_protocol.h"
#include "wire/profile.h"
#include "wire/schema.h"

namespace sl::controller::answers {

using wire::Document;
using wire::Object;
using wire::Time;
using Number = std::int64_t;
using Text = std::string;

// What was specified, with env null for those who may not see it.
struct Spec {
  boost::json::value value;
  static boost::json::object schema();
};
inline boost::json::value to_value(const Spec& spec) { return spec.value; }

// ---- jobs ----

struct Reason {
  Text code, text;
};
BOOST_DESCRIBE_STRUCT(Reason, (), (code, text))

struct Members {
  Number total = 0, waiting = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
  Text to_come;
};
BOOST_DESCRIBE_STRUCT(Members, (), (total, waiting, running, succeeded, failed, cancelled, to_come))

struct Place {
  Text server;
  std::vector<Text> gpus;
  int rank = 0;
  std::optional<Number> pid;
  std::optional<Text> image, container_id;
};
BOOST_DESCRIBE_STRUCT(Place, (), (server, gpus, rank, pid, image, container_id))

struct Attempt {
  int attempt = 0;
  Text server;
  int rank = 0;
  std::vector<Text> gpus, gpu_uuids;
  std::optional<Time> began_at, ended_at;
};
BOOST_DESCRIBE_STRUCT(Attempt, (), (attempt, server, rank, gpus, gpu_uuids, began_at, ended_at))

struct Progress {
  std::optional<double> done, total;
  Text unit;
  std::optional<double> epoch, epochs, step, steps, loss, accuracy, rate_per_s;
  bool loss_is_not_finite = false;  // the latest: infinite, or no number
  std::optional<Time> updated_at;
};
BOOST_DESCRIBE_STRUCT(Progress, (),
                      (done, total, unit, epoch, epochs, step, steps, loss, accuracy, loss_is_not_finite, rate_per_s,
                       updated_at))

struct Range {
  Time p10, p50, p90;
};
BOOST_DESCRIBE_STRUCT(Range, (), (p10, p50, p90))

struct Estimate {
  std::optional<Range> start, finish;
  std::vector<Text> basis;
  std::optional<Text> basis_text;
  Text confidence;
  std::optional<Text> server, text;
  Time evaluated_at;
  std::size_t draws = 0;
};
BOOST_DESCRIBE_STRUCT(Estimate, (), (start, finish, basis, basis_text, confidence, server, text, evaluated_at, draws))

struct Exit {
  std::optional<int> code, signal;
};
BOOST_DESCRIBE_STRUCT(Exit, (), (code, signal))

struct Failure {
  Text kind, message;
  std::optional<int> exit_code, signal;
  std::optional<Text> label;
  std::optional<Number> log_line;
  std::optional<std::vector<Text>> last_lines;
};
BOOST_DESCRIBE_STRUCT(Failure, (), (kind, message, exit_code, signal, label, log_line, last_lines))

struct CheckpointCopy {
  Text from;
  Number bytes_done = 0, bytes = 0;
  bool through_controller = false;
};
BOOST_DESCRIBE_STRUCT(CheckpointCopy, (), (from, bytes_done, bytes, through_controller))

struct Job {
  Number id = 0;
  Text name, user, state;
  Time state_since;
  std::optional<Reason> reason;
  std::optional<Number> group_id, index;
  std::optional<Members> members;
  std::map<Text, Text> labels;
  int priority = 0;
  Spec spec;
  boost::json::value snapshot;
  std::vector<Place> placement;
  Time created_at;
  std::optional<Time> started_at, finished_at, deadline_at;
  double wait_s = 0, run_s = 0, gpu_seconds = 0;
  int attempt = 0, migrations = 0, preemptions = 0, resizes = 0;
  std::optional<Progress> progress;
  std::optional<Estimate> estimate;
  std::optional<Exit> exit;
  std::optional<Failure> failure;
  std::optional<CheckpointCopy> checkpoint_copy;
};
BOOST_DESCRIBE_STRUCT(Job, (),
                      (id, name, user, state, state_since, reason, group_id, index, members, labels, priority, spec,
                       snapshot, placement, created_at, started_at, finished_at, deadline_at, wait_s, run_s,
                       gpu_seconds, attempt, migrations, preemptions, resizes, progress, estimate, exit, failure,
                       checkpoint_copy))

struct JobDetails : Job {
  std::vector<Attempt> attempts;
  std::optional<Document<TelemetryDocument>> telemetry;
};
BOOST_DESCRIBE_STRUCT(JobDetails, (Job), (attempts, telemetry))

struct Effect {
  Text text;
  std::optional<double> cost_s;
};
BOOST_DESCRIBE_STRUCT(Effect, (), (text, cost_s))

struct ChangedJob : Job {
  std::optional<Effect> effect;
};
BOOST_DESCRIBE_STRUCT(ChangedJob, (Job), (effect))

struct Preview {
  Number id = 0;
  Text name;
  Effect effect;
};
BOOST_DESCRIBE_STRUCT(Preview, (), (id, name, effect))

struct RemovedJob {
  Number id = 0;
  std::size_t removed = 1;  // with the members of an array
};
BOOST_DESCRIBE_STRUCT(RemovedJob, (), (id, removed))

struct CheckedJob {
  Document<wire::JobSpec> spec;
  std::optional<Estimate> estimate;  // if it were submitted now
};
BOOST_DESCRIBE_STRUCT(CheckedJob, (), (spec, estimate))

// ---- why ----

struct BlockingReason {
  Text code, text;
  bool blocking = true;
};
BOOST_DESCRIBE_STRUCT(BlockingReason, (), (code, text, blocking))

struct Frees {
  Number job_id = 0;
  int gpus = 0;
  std::optional<Time> at;
};
BOOST_DESCRIBE_STRUCT(Frees, (), (job_id, gpus, at))

// What a server has for a job without GPUs; null: as much as one likes, as nothing is known.
struct Room {
  std::optional<double> cpus_free;
  double cpus_needed = 0;
  std::optional<Number> memory_free_bytes;
  Number memory_needed_bytes = 0;  // 0: it asks for none
};
BOOST_DESCRIBE_STRUCT(Room, (), (cpus_free, cpus_needed, memory_free_bytes, memory_needed_bytes))

struct ServerVerdict {
  Text server;
  int free = 0, needed = 0;  // GPUs
  std::optional<Room> room;  // of a job without GPUs
  bool fits = false;
  std::vector<Frees> frees;
  Text text;
};
BOOST_DESCRIBE_STRUCT(ServerVerdict, (), (server, free, needed, room, fits, frees, text))

struct GpusOf {
  Text server;
  int gpus = 0;
};
BOOST_DESCRIBE_STRUCT(GpusOf, (), (server, gpus))

struct Kept {
  Number job_id = 0;
  Time at;
  std::vector<GpusOf> on;
};
BOOST_DESCRIBE_STRUCT(Kept, (), (job_id, at, on))

struct Suggestion {
  Text what, text;
  std::optional<Object> patch;
  std::optional<Text> command, server;
  std::optional<Range> predicted_start, predicted_finish, start_as_it_is, finish_as_it_is;
};
BOOST_DESCRIBE_STRUCT(Suggestion, (),
                      (what, text, patch, command, server, predicted_start, predicted_finish, start_as_it_is,
                       finish_as_it_is))

struct Ahead {
  std::size_t jobs = 0;
  Number gpus = 0;  // that they ask for at least
};
BOOST_DESCRIBE_STRUCT(Ahead, (), (jobs, gpus))

// `in_line`: of a group, how many of its members stand in line; its place and start are those of the first one.
struct QueuedJob : Job {
  std::optional<std::size_t> position;
  std::size_t in_line = 1;
  std::optional<Ahead> ahead;
};
BOOST_DESCRIBE_STRUCT(QueuedJob, (Job), (position, in_line, ahead))

struct Explanation {
  Text verdict, summary;
  std::vector<BlockingReason> reasons;
  std::optional<std::size_t> position, queue_length;
  bool needs_gpus = true;  // false: its line is that of the jobs without GPUs
  std::optional<Ahead> ahead;
  std::optional<Text> standing;
  std::vector<Kept> reservations;
  std::vector<ServerVerdict> servers;
  std::optional<Estimate> estimate;
  std::vector<Suggestion> suggestions;
  std::optional<Text> suggestions_note;
  std::optional<Text> followed;  // of a moment of the past: what came next
  Text policy;
  Time evaluated_at;
};
BOOST_DESCRIBE_STRUCT(Explanation, (),
                      (verdict, summary, reasons, position, queue_length, needs_gpus, ahead, standing, reservations,
                       servers, estimate, suggestions, suggestions_note, followed, policy, evaluated_at))

// ---- events ----

struct Actor {
  Text type, name;
};
BOOST_DESCRIBE_STRUCT(Actor, (), (type, name))

struct Event {
  Number seq = 0;
  Time at;
  Text kind;
  std::optional<Number> job_id;
  std::optional<Text> server;
  Actor actor;
  std::optional<Text> from, to;
  Text text;
  boost::json::value data;
};
BOOST_DESCRIBE_STRUCT(Event, (), (seq, at, kind, job_id, server, actor, from, to, text, data))

// ---- the cluster ----

struct Gpu {
  Text identifier, server;
  int index = 0;
  std::optional<Text> uuid, name;
  bool simulated = false;
  Text condition;
  std::optional<Text> isolation;  // what keeps plain processes to it: "device_cgroup", "visible_devices"
  std::optional<Number> job_id;
  std::vector<Number> job_ids;  // all that it is shared by
  std::optional<Text> user;     // of job_id
  std::optional<Number> memory_used_bytes, memory_total_bytes;
  std::optional<double> utilization_pct;
  std::optional<double> temperature_celsius, power_watts, sm_clock_mhz;
  std::vector<wire::GpuProcess> processes;
  std::optional<Time> sampled_at;
};
BOOST_DESCRIBE_STRUCT(Gpu, (),
                      (identifier, server, index, uuid, name, simulated, condition, isolation, job_id, job_ids, user,
                       utilization_pct, memory_used_bytes, memory_total_bytes, temperature_celsius, power_watts,
                       sm_clock_mhz, processes, sampled_at))

struct QuarantineOf {
  Text reason;
  Time since, until;
  int times = 0;
};
BOOST_DESCRIBE_STRUCT(QuarantineOf, (), (reason, since, until, times))

struct Server {
  Text name, state;
  std::optional<Text> state_reason;
  std::optional<QuarantineOf> quarantine;
  bool simulated = false;
  std::optional<int> cpus;
  std::optional<Number> memory_total_bytes, memory_used_bytes, job_files_bytes, disk_free_bytes;
  std::optional<double> cpu_utilization_pct;
  std::optional<Text> agent_version, driver_version;
  std::vector<Text> runtimes;
  std::optional<Text> container_engine;
  std::vector<Text> enforces;
  std::optional<Text> cannot_enforce;
  std::optional<double> clock_skew_s;
  std::optional<Time> last_contact_at;
  std::map<Text, Text> labels;
  std::optional<wire::RetentionRule> keep;
  std::vector<Gpu> gpus;
};
BOOST_DESCRIBE_STRUCT(Server, (),
                      (name, state, state_reason, quarantine, simulated, cpus, memory_total_bytes, memory_used_bytes,
                       job_files_bytes, disk_free_bytes, cpu_utilization_pct, agent_version, driver_version, runtimes,
                       container_engine, enforces, cannot_enforce, clock_skew_s, last_contact_at, labels, keep, gpus))

struct GpuCounts {
  int total = 0, allocated = 0, free = 0;
};
BOOST_DESCRIBE_STRUCT(GpuCounts, (), (total, allocated, free))

struct Decisions {
  std::size_t count = 0;
  double p50_ms = 0, p99_ms = 0, max_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Decisions, (), (count, p50_ms, p99_ms, max_ms))

struct SinceStart {
  Number preemptions = 0, migrations = 0, resizes = 0, deadlines_met = 0, deadlines_missed = 0;
};
BOOST_DESCRIBE_STRUCT(SinceStart, (), (preemptions, migrations, resizes, deadlines_met, deadlines_missed))

struct KeptHistory {
  std::optional<Number> bytes;
  wire::RetentionRule keep;
};
BOOST_DESCRIBE_STRUCT(KeptHistory, (), (bytes, keep))

// The GPUs that are free next; those of one server.
struct NextFree {
  std::optional<Range> at;       // now, or when the job ends that is expected to end first
  std::vector<Text> gpus;        // identifiers
  std::optional<Number> job_id;  // that holds them now
  std::optional<Text> text;      // why `at` is not known, or what to make of it
};
BOOST_DESCRIBE_STRUCT(NextFree, (), (at, gpus, job_id, text))

// A change of the policy that takes effect later.
struct PlannedPolicy {
  Text name;
  Object parameters;
  Time at;
  Text by;
  Time planned_at;
};
BOOST_DESCRIBE_STRUCT(PlannedPolicy, (), (name, parameters, at, by, planned_at))

struct Cluster {
  Text version, cluster_id;
  Time started_at, now;
  Text policy;
  std::optional<Text> acting, shadow;  // as in Policy
  std::optional<PlannedPolicy> planned;
  std::map<Text, Number> jobs;  // by state
  GpuCounts gpus;
  NextFree next_free;
  Decisions decisions;
  int servers_up = 0;
  SinceStart since_start;
  Text url;
  KeptHistory history;
  std::vector<Server> servers;
};
BOOST_DESCRIBE_STRUCT(Cluster, (),
                      (version, cluster_id, started_at, now, policy, acting, shadow, planned, jobs, gpus, next_free,
                       decisions, servers_up, since_start, url, history, servers))

// Something that `doctor` looked at.
struct Finding {
  Text verdict;  // "ok", "note" (nothing that must be mended), "wrong"
  Text subject, text;
  std::optional<Text> remedy, server;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (verdict, subject, text, remedy, server))

struct DrainedJob {
  Number id = 0;
  Text name, user, then;
};
BOOST_DESCRIBE_STRUCT(DrainedJob, (), (id, name, user, then))

struct DrainPreview {
  Text name;
  std::vector<DrainedJob> jobs;
};
BOOST_DESCRIBE_STRUCT(DrainPreview, (), (name, jobs))

struct RemovedServer {
  Text name, state = "removed";
};
BOOST_DESCRIBE_STRUCT(RemovedServer, (), (name, state))

// Values at equal steps; null: nothing is known of that step.
struct SeriesLine {
  Text name;
  std::map<Text, Text> labels;
  std::vector<std::optional<double>> values;
};
BOOST_DESCRIBE_STRUCT(SeriesLine, (), (name, labels, values))

struct SeriesDocument {
  Time from, to;
  double step_s = 60;
  std::vector<SeriesLine> series;
};
BOOST_DESCRIBE_STRUCT(SeriesDocument, (), (from, to, step_s, series))

// ---- forecasts ----

struct HitRate {
  Text policy, target, horizon;
  std::size_t ranges = 0, held = 0;
  double held_pct = 0;
  std::size_t early = 0, late = 0;
  double width_s = 0;
};
BOOST_DESCRIBE_STRUCT(HitRate, (), (policy, target, horizon, ranges, held, held_pct, early, late, width_s))

struct Correction {
  Text of;
  double low = 0, high = 0;
  std::size_t ranges = 0;
};
BOOST_DESCRIBE_STRUCT(Correction, (), (of, low, high, ranges))

struct Record {
  std::vector<HitRate> items;
  std::optional<Text> next_cursor;
  std::size_t total = 0, open = 0;
  std::vector<Correction> corrections;
  Time evaluated_at;
  std::size_t draws = 0;
  double took_s = 0;
};
BOOST_DESCRIBE_STRUCT(Record, (), (items, next_cursor, total, open, corrections, evaluated_at, draws, took_s))

// ---- who, and how ----

struct Health {
  Text status = "ok", version;
};
BOOST_DESCRIBE_STRUCT(Health, (), (status, version))

struct Me {
  Text user, role;
  std::optional<Text> token;  // the name of the named token that the request rests on
};
BOOST_DESCRIBE_STRUCT(Me, (), (user, role, token))

struct Session : Me {
  Text key;
  Time expires_at;
};
BOOST_DESCRIBE_STRUCT(Session, (Me), (key, expires_at))

struct Operation {
  Text method, path, summary;
  Text role;  // that a request needs at least
  std::vector<Text> parameters;
};
BOOST_DESCRIBE_STRUCT(Operation, (), (method, path, summary, role, parameters))

struct StoredProfile : wire::TrainingProfile {
  Time since;
  std::optional<Text> user;  // who stored it
};
BOOST_DESCRIBE_STRUCT(StoredProfile, (wire::TrainingProfile), (since, user))

struct RemovedProfile {
  Text family;
};
BOOST_DESCRIBE_STRUCT(RemovedProfile, (), (family))

// ---- what jobs leave, and what they are given ----

struct LeftFile {
  Text name, path, kind;
  std::optional<Number> bytes;
  Time changed_at;
};
BOOST_DESCRIBE_STRUCT(LeftFile, (), (name, path, kind, bytes, changed_at))

// A folder has items, a file bytes.
struct LeftFiles {
  Text path, kind;
  std::optional<std::vector<LeftFile>> items;
  std::optional<Number> total, bytes;
};
BOOST_DESCRIBE_STRUCT(LeftFiles, (), (path, kind, items, total, bytes))

struct Secret {
  Text name;
  Time changed_at;
};
BOOST_DESCRIBE_STRUCT(Secret, (), (name, changed_at))

struct RemovedSecret {
  Text name;
  bool removed = true;
};
BOOST_DESCRIBE_STRUCT(RemovedSecret, (), (name, removed))

struct Channel {
  Text name, owner, kind;
  std::optional<Text> url, secret, login, from, to;
  std::vector<Text> on;
  bool shared = false;
  Time since;
};
BOOST_DESCRIBE_STRUCT(Channel, (), (name, owner, kind, url, secret, login, from, to, on, shared, since))

struct RemovedChannel {
  Text name;
  bool removed = true;
};
BOOST_DESCRIBE_STRUCT(RemovedChannel, (), (name, removed))

struct Delivery {
  Text id, channel, owner;
  std::optional<Text> receiver;
  Text event;
  std::optional<Number> job_id;
  Text state;
  int tries = 0;
  std::optional<int> status;
  std::optional<Text> why;
  Time made_at;
  std::optional<Time> tried_at, next_at;
};
BOOST_DESCRIBE_STRUCT(Delivery, (),
                      (id, channel, owner, receiver, event, job_id, state, tries, status, why, made_at, tried_at,
                       next_at))

struct KeptSnapshots {
  Number limit_bytes = 0;
  std::size_t count = 0;
  Number bytes = 0;
  double keep_s = 0;
};
BOOST_DESCRIBE_STRUCT(KeptSnapshots, (), (limit_bytes, count, bytes, keep_s))

struct StoredSnapshot {
  Text id;
  Number bytes = 0, bytes_here = 0;
};
BOOST_DESCRIBE_STRUCT(StoredSnapshot, (), (id, bytes, bytes_here))

}  // namespace sl::controller::answers
