// Messages between controller and agent: JSON text frames over one WebSocket on the controller's port, path
// /api/v1/agent, opened by the agent. Version 4 (docs/formats/agent-protocol.md).
//
// Every frame is {"type": "...", ...fields}. Reports of the agent and orders of the controller carry `seq`, counted per
// direction and session from 1: duplicates are ignored, and if one is missing the session is given up. The next session
// begins with Hello, which lists everything the agent holds, so both sides agree again whatever was lost. Orders and
// reports are about one incarnation (model/incarnation.h); an order may be sent again.
//
// The lease: an agent may rely on it for `lease_s` from the moment it sent a ping (or Hello) that was answered.
// Attempts with on_partition "stop" end with it; the controller starts them elsewhere only when it has certainly run
// out.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/incarnation.h"
#include "wire/job_spec.h"
#include "wire/retention.h"

namespace sl {
BOOST_DESCRIBE_STRUCT(Incarnation, (), (cluster, job, attempt, number))
}  // namespace sl

namespace sl::wire {

inline constexpr int agent_protocol_version = 4;
inline constexpr int pings_per_lease = 6;  // an agent sends so many while its lease lasts

// The name of the container in which the part of an incarnation with this rank runs. It is in use once at most in a
// container engine, so that none is started twice.
std::string container_name(const Incarnation& incarnation, int rank);

// A process that uses a GPU and belongs to none of our attempts.
struct GpuProcess {
  std::int64_t pid = 0;
  std::string user;                          // whose it is; empty: it has ended
  std::string program;                       // "python3"
  std::optional<std::int64_t> memory_bytes;  // of the GPU; unknown if the driver cannot tell
};
BOOST_DESCRIBE_STRUCT(GpuProcess, (), (pid, user, program, memory_bytes))

struct GpuReport {
  int index = 0;
  std::string uuid;
  std::string name;
  std::int64_t memory_total_bytes = 0;
  std::optional<std::int64_t> memory_used_bytes;  // these four: unknown if the driver cannot tell, or simulated
  std::optional<double> utilization_pct;
  std::optional<double> temperature_celsius;
  std::optional<double> power_watts;
  std::vector<GpuProcess> outside;
  bool missing = false;  // was here before but is gone
  std::optional<int>
      device_number;  // of its file /dev/nvidiaN, which need not be its index; empty: unknown, or simulated
};
BOOST_DESCRIBE_STRUCT(GpuReport, (),
                      (index, uuid, name, memory_total_bytes, memory_used_bytes, utilization_pct, temperature_celsius,
                       power_watts, outside, missing, device_number))

// What has become of the checkpoint that an attempt was to continue from. outcome: "copied"; "shared" (both servers see
// the folder); "empty" (there is none); "not_copied", and `text` says why: the attempt started with what its server had.
struct CheckpointCopy {
  std::string outcome;
  std::string text;
  std::int64_t bytes = 0;  // with "copied"
  double seconds = 0;
};
BOOST_DESCRIBE_STRUCT(CheckpointCopy, (), (outcome, text, bytes, seconds))

// The state of an attempt on the agent. state: starting | prepared | running | frozen | stopping | exited.
struct AttemptReport {
  Incarnation incarnation;
  std::string state;
  std::int64_t pid = 0;
  std::vector<int> gpus;                   // indexes on this server
  int port = 0;                            // prepared: reserved on this server, for the parts to meet on
  std::optional<std::int64_t> started_us;  // UTC, microseconds
  std::optional<std::int64_t> ended_us;
  std::optional<int> exit_code;  // set if it exited by itself
  std::optional<int> signal;     // set if a signal ended it
  // "setup" if it never ran, or its set-up failed, "image" if its image could not be had, "out_of_memory" if it wanted more than it
  // may have, "server_setup" if it never ran and the server is to blame, "gpu_error" if it failed and
  // one of its GPUs is gone, "lost" if the exit status cannot be known.
  std::optional<std::string> failure_kind;
  std::optional<std::string> failure_message;     // "no such command: pyton"
  std::optional<std::string> stopped_by;          // who asked it to end before it did: "order", "lease"
  std::optional<std::int64_t> checkpoint_bytes;   // once exited: size of its checkpoint folder
  std::optional<double> checkpoint_s;             // from being asked to stop to its end, with a checkpoint written
  std::optional<CheckpointCopy> checkpoint_copy;  // if its order named a checkpoint
  std::optional<std::string> image;               // in a container: the digest or id of the image that it runs
};
BOOST_DESCRIBE_STRUCT(AttemptReport, (),
                      (incarnation, state, pid, gpus, port, started_us, ended_us, exit_code, signal, failure_kind,
                       failure_message, stopped_by, checkpoint_bytes, checkpoint_s, checkpoint_copy, image))

// ---- agent -> controller ----
struct Hello {  // first frame of a session
  int protocol = agent_protocol_version;
  std::string agent_version;
  std::string server;     // its name, unique in the cluster
  std::string agent_id;   // random, kept in the agent's data directory: distinguishes two servers of one name
  std::int64_t call = 0;  // greater than in every Hello of this agent before: what arrives late is not taken for news
  // Random, of this process; 0: an older agent. Two at once with one agent_id run from copies of one data directory.
  std::int64_t process = 0;
  bool simulated = false;
  int cpus = 0;
  std::int64_t memory_total_bytes = 0;
  std::string driver_version;
  std::vector<GpuReport> gpus;
  std::vector<AttemptReport> attempts;  // all it holds, including exited ones that it was not told to forget
  std::string cluster;                  // the cluster that last welcomed it; empty: none yet
  std::int64_t last_job = 0;            // the highest job number of that cluster that it has heard of
  std::optional<RetentionRule> keep;    // how long it keeps the files of finished jobs; none: an older agent, for ever
  bool copies_checkpoints = false;      // false: an older agent
  bool resizes_in_place = false;        // likewise
  bool opens_channels = false;          // likewise
  std::string container_engine;         // "podman 4.3.1"; empty: it runs no containers
  std::vector<std::string> enforces;    // of plain processes: "cpu_set", "cpus", "devices", "memory", "processes"
  std::string cannot_enforce;           // why not the others, in words
  bool sends_signals = false;           // false: an older agent
  std::map<std::string, std::string> labels;  // of the server, for jobs that choose theirs
  std::string address;                        // of this server as others may reach it; entered by the controller
};
BOOST_DESCRIBE_STRUCT(Hello, (),
                      (protocol, agent_version, server, agent_id, call, process, simulated, cpus, memory_total_bytes,
                       driver_version, gpus, attempts, cluster, last_job, keep, copies_checkpoints, resizes_in_place,
                       opens_channels, container_engine, enforces, cannot_enforce, sends_signals, labels, address))

struct AttemptChanged {
  std::int64_t seq = 0;
  AttemptReport report;
};
BOOST_DESCRIBE_STRUCT(AttemptChanged, (), (seq, report))

// The latest content of the metrics file, at most once a second per attempt; a lost report does not matter. Steps and
// epochs are counted separately, and only the loss of a whole epoch is `epoch_loss`.
struct Progress {
  Incarnation incarnation;
  std::optional<double> epoch, epochs;   // finished, and in total
  std::optional<double> step, steps;     // finished, and in total
  std::optional<double> epoch_loss;      // of the last whole epoch with a loss
  std::optional<double> loss, accuracy;  // the latest, of a step or an epoch
  bool loss_is_not_finite = false;       // the latest loss is infinite or no number, so `loss` is empty
  std::int64_t epoch_at_us = 0;          // when `epoch` was reported; 0: never
  std::int64_t step_at_us = 0;           // when `step` was
  std::int64_t at_us = 0;                // when the last line was read
};
BOOST_DESCRIBE_STRUCT(Progress, (),
                      (incarnation, epoch, epochs, step, steps, epoch_loss, loss, accuracy, loss_is_not_finite,
                       epoch_at_us, step_at_us, at_us))

struct Telemetry {
  std::int64_t at_us = 0;
  std::optional<double> cpu_utilization_pct;
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<std::int64_t> job_files_bytes;  // disk space that the files of jobs occupied at the last look
  std::optional<std::int64_t> disk_free_bytes;  // of the disk that they are on, for the agent, at that time
  std::vector<GpuReport> gpus;
};
BOOST_DESCRIBE_STRUCT(Telemetry, (),
                      (at_us, cpu_utilization_pct, memory_used_bytes, job_files_bytes, disk_free_bytes, gpus))

// A process of an attempt uses a GPU of its server that the attempt does not hold. Told once; a lost one does not matter.
struct ForeignGpuUse {
  Incarnation incarnation;
  int gpu = 0;  // index
  std::int64_t pid = 0;
  std::string program;  // empty: it has ended
};
BOOST_DESCRIBE_STRUCT(ForeignGpuUse, (), (incarnation, gpu, pid, program))

// The output before this offset had been written at this time, by its server's clock.
struct OutputTime {
  std::int64_t offset = 0;
  std::int64_t us = 0;  // UTC
  friend bool operator==(const OutputTime&, const OutputTime&) = default;
};
BOOST_DESCRIBE_STRUCT(OutputTime, (), (offset, us))

struct LogChunk {  // answer to LogRead of the same request
  std::int64_t request = 0;
  std::int64_t offset = 0;           // of the first byte of data
  std::string data;                  // base64
  std::int64_t size = 0;             // bytes in the file now
  bool ended = false;                // the attempt has ended and [offset, offset+data) reaches its last byte
  std::optional<std::string> error;  // "unknown-attempt", "no-such-file", "unreadable"
  std::string text;                  // with "unreadable": why
  std::string kind;                  // "folder": data is the JSON of its entries, size their number
  // With `times`, ascending: from the first that is after `offset` on, until one is at the end of data. None: unknown.
  std::vector<OutputTime> times;
};
BOOST_DESCRIBE_STRUCT(LogChunk, (), (request, offset, data, size, ended, error, text, kind, times))

// An entry of a folder that a job has left.
struct LeftFile {
  std::string name;  // percent-encoded, for it need not be UTF-8
  std::string kind;  // "file", "folder", "link", "other"
  std::int64_t bytes = 0;
  std::int64_t changed_us = 0;
};
BOOST_DESCRIBE_STRUCT(LeftFile, (), (name, kind, bytes, changed_us))

// A job as the names of its folders on the agent tell it.
struct StoredJob {
  std::string cluster;  // empty: its folders were made by a version without incarnations
  std::int64_t job = 0;
  friend auto operator<=>(const StoredJob&, const StoredJob&) = default;
};
BOOST_DESCRIBE_STRUCT(StoredJob, (), (cluster, job))

// Asks what has become of jobs that have files here. With a limit, the agent also announces that it will remove the
// files of those that have ended: the answer comes once the controller has recorded that. A lost query does not matter.
struct JobFilesQuery {
  std::int64_t request = 0;
  std::string
      limit;  // of the agent's retention rule: "age", "number", "size", "free"; empty: nothing is going to be removed
  std::vector<StoredJob> jobs;
};
BOOST_DESCRIBE_STRUCT(JobFilesQuery, (), (request, limit, jobs))

// Answer to OfferCheckpoint about the same attempt.
struct CheckpointOffered {
  std::int64_t seq = 0;
  Incarnation incarnation;
  std::string address;    // of this server as others may reach it; entered by the controller, not by the agent
  int port = 0;           // where the agent serves it; 0: only through the controller
  std::string nonce;      // names a file in the folder by which a server that sees the same folder recognises it
  std::string subfolder;  // of the job's checkpoint folder: "job-7"; empty: all of it
  std::int64_t bytes = 0;
  std::optional<std::string> error;  // why it cannot be copied, in words; empty text: the attempt has left none
};
BOOST_DESCRIBE_STRUCT(CheckpointOffered, (), (seq, incarnation, address, port, nonce, subfolder, bytes, error))

// How far the copy of an attempt's checkpoint has come, at most once a second; a lost report does not matter.
struct CheckpointProgress {
  Incarnation incarnation;
  std::int64_t bytes_done = 0, bytes = 0;
  bool through_controller = false;
};
BOOST_DESCRIBE_STRUCT(CheckpointProgress, (), (incarnation, bytes_done, bytes, through_controller))

// How far the image of an attempt's container has come, at most once a second; a lost report does not matter.
struct ImageProgress {
  Incarnation incarnation;
  std::string image;
  std::int64_t bytes_done = 0, bytes = 0;  // of what is known to be missing so far; 0, 0: nothing is known yet
  std::string trouble;                     // why the last try failed; another follows
};
BOOST_DESCRIBE_STRUCT(ImageProgress, (), (incarnation, image, bytes_done, bytes, trouble))

// ---- controller -> agent ----
struct Welcome {
  std::string controller_version;
  std::int64_t session = 0;
  double lease_s = 30;
  std::string cluster;        // the database's id
  std::int64_t last_job = 0;  // the highest job number that is durable in the database
  int query_jobs_max = 0;     // that a JobFilesQuery may name; 0: an older controller, which knows no such query
};
BOOST_DESCRIBE_STRUCT(Welcome, (), (controller_version, session, lease_s, cluster, last_job, query_jobs_max))

struct Refused {
  std::string code;
  std::string message;
};  // then the controller closes: wrong token, protocol, duplicate name
BOOST_DESCRIBE_STRUCT(Refused, (), (code, message))

// The part of an incarnation that runs on the server the order goes to.
struct Placement {
  int rank = 0;                        // of this server among those of the incarnation
  int servers = 1;                     // that the incarnation runs on
  std::vector<int> gpus;               // indexes on this server
  std::vector<std::string> gpu_uuids;  // of the same GPUs in the same order; empty: the controller does not know them
};
BOOST_DESCRIBE_STRUCT(Placement, (), (rank, servers, gpus, gpu_uuids))

// Where the checkpoint of the job is: to be fetched before the attempt starts.
struct CheckpointSource {
  std::string server;
  std::string address;  // where its agent serves it; empty: only through the controller
  int port = 0;
  std::string secret;  // that the agent there asks for; entered as the order leaves the controller, and never logged
  std::string nonce, subfolder;  // as in CheckpointOffered
  std::int64_t bytes = 0;
};
BOOST_DESCRIBE_STRUCT(CheckpointSource, (), (server, address, port, secret, nonce, subfolder, bytes))

// An incarnation on several servers starts on all or none: this order has each agent make everything ready and report
// the state "prepared", and LaunchAttempt follows when all have. Given again while the checkpoint is being fetched, the
// new order counts: the source may have changed, or be lost.
struct StartAttempt {
  std::int64_t seq = 0;
  Incarnation incarnation;
  std::int64_t first = 0;  // number of the job's first incarnation: distinguishes its folder from those of other jobs
  bool resume = false;     // an earlier attempt was preempted or lost: SCHEDULEARN_RESUME=1
  Placement placement;
  std::vector<Incarnation> neighbours;  // share these GPUs with it: it does not wait for them to leave
  JobSpec spec;
  std::optional<CheckpointSource> checkpoint;
  // Those that spec.secrets names, in base64; entered as the order leaves the controller, and never logged.
  std::map<std::string, std::string> secrets;
  double run_s = 0;  // that it has run in earlier attempts, which counts against its time limit
};
BOOST_DESCRIBE_STRUCT(StartAttempt, (),
                      (seq, incarnation, first, resume, placement, neighbours, spec, checkpoint, secrets, run_s))

// The part of an incarnation on one of its servers.
struct AttemptPart {
  std::string server;
  std::string address;  // as in Hello
  int port = 0;         // as in its AttemptReport
  int gpus = 0;
  std::string secret;  // by which the parts know each other; entered as the order leaves the controller, never logged
};
BOOST_DESCRIBE_STRUCT(AttemptPart, (), (server, address, port, gpus, secret))

// All parts of the incarnation are prepared: this one starts now.
struct LaunchAttempt {
  std::int64_t seq = 0;
  Incarnation incarnation;
  std::vector<AttemptPart> parts;  // by rank
};
BOOST_DESCRIBE_STRUCT(LaunchAttempt, (), (seq, incarnation, parts))

// An attempt of the same job is to start on another server: have the checkpoint of `source` ready for its agent.
struct OfferCheckpoint {
  std::int64_t seq = 0;
  Incarnation incarnation;  // that will start
  Incarnation source;       // that left the checkpoint here
  std::string secret;       // as in CheckpointSource
};
BOOST_DESCRIBE_STRUCT(OfferCheckpoint, (), (seq, incarnation, source, secret))

// Of two orders the earlier end counts: one may shorten the grace of another.
struct StopAttempt {  // signal, grace, KILL. reason: cancelled | preempted | migrating | resizing | time_limit |
                      // stranger | part_ended
  std::int64_t seq = 0;
  Incarnation incarnation;
  std::string reason;
  std::string signal = "TERM";
  double grace_s = 30;
};
BOOST_DESCRIBE_STRUCT(StopAttempt, (), (seq, incarnation, reason, signal, grace_s))

// Its processes get this signal, and go on otherwise. One that is not running gets none.
struct SignalAttempt {
  std::int64_t seq = 0;
  Incarnation incarnation;
  std::string signal;
};
BOOST_DESCRIBE_STRUCT(SignalAttempt, (), (seq, incarnation, signal))

// A running attempt is to go over to these GPUs of its server, by its own means. Answered by a report that it runs on
// them. If its training has not acknowledged within `grace_s`, the agent stops it as by a StopAttempt.
struct ResizeAttempt {
  std::int64_t seq = 0;
  Incarnation incarnation;
  Placement placement;
  std::vector<Incarnation> neighbours;  // as in StartAttempt
  std::string signal = "TERM";
  double grace_s = 30;
};
BOOST_DESCRIBE_STRUCT(ResizeAttempt, (), (seq, incarnation, placement, neighbours, signal, grace_s))

// All processes of the attempt stop where they are, and give up their GPUs but not their memory. Answered by a report
// with the state "frozen".
struct FreezeAttempt {
  std::int64_t seq = 0;
  Incarnation incarnation;
};
BOOST_DESCRIBE_STRUCT(FreezeAttempt, (), (seq, incarnation))

// They go on, once all others have left their GPUs. Answered by a report with the state "running".
struct ThawAttempt {
  std::int64_t seq = 0;
  Incarnation incarnation;
  std::vector<Incarnation> neighbours;  // as in StartAttempt
};
BOOST_DESCRIBE_STRUCT(ThawAttempt, (), (seq, incarnation, neighbours))

struct ForgetAttempt {
  std::int64_t seq = 0;
  Incarnation incarnation;
};  // its end is durable: keep only the output
BOOST_DESCRIBE_STRUCT(ForgetAttempt, (), (seq, incarnation))

// Asks for a piece of an attempt's output or, with a path, of a file that it or its job has left there, or for what a
// folder holds (agent/file_reads.h).
struct LogRead {
  std::int64_t request = 0;
  Incarnation incarnation;
  std::optional<std::string> path;  // "output/model.pt", each name percent-encoded; "": the top
  std::int64_t offset = 0;          // negative: that many bytes before the end
  std::int64_t limit = 65536;
  double wait_s = 0;   // if there is nothing to read yet, answer when there is or after this long
  bool times = false;  // say when it was written
};
BOOST_DESCRIBE_STRUCT(LogRead, (), (request, incarnation, path, offset, limit, wait_s, times))

// What the controller knows of a job. state: "unfinished", "ended", "removed" (by the controller's retention rule),
// "unknown" (of another cluster, or of a time that a restored database has lost).
struct JobFate {
  std::string state;
  std::int64_t ended_us = 0;  // with "ended", by the controller's clock
};
BOOST_DESCRIBE_STRUCT(JobFate, (), (state, ended_us))

struct JobFilesAnswer {  // answer to JobFilesQuery of the same request
  std::int64_t request = 0;
  std::int64_t now_us = 0;     // the controller's clock, the only one by which files are judged too old
  std::vector<JobFate> fates;  // in the order of the query's jobs
};
BOOST_DESCRIBE_STRUCT(JobFilesAnswer, (), (request, now_us, fates))

// ---- both ----

// A checkpoint that its destination cannot fetch directly comes through the controller, which passes these on. The
// answer to a CheckpointRead is the CheckpointPiece of the same attempt and request.
struct CheckpointRead {
  Incarnation incarnation;  // that the checkpoint is for
  std::int64_t request = 0;
  std::string what;  // "manifest", "data", "done"
  std::int64_t file = 0, offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(CheckpointRead, (), (incarnation, request, what, file, offset, limit))

struct CheckpointPiece {
  Incarnation incarnation;
  std::int64_t request = 0;
  std::string data;                  // base64
  std::optional<std::string> error;  // "source-away", "unknown", "unreadable"
  std::string text;                  // with "unreadable": why
};
BOOST_DESCRIBE_STRUCT(CheckpointPiece, (), (incarnation, request, data, error, text))

struct Ping {
  std::int64_t at_us = 0;     // the agent's clock, returned unchanged: renews the lease from that moment
  std::int64_t last_seq = 0;  // of the sender in this session: shows whether something was lost
  std::int64_t last_job = 0;  // of the controller: as in Welcome
};
BOOST_DESCRIBE_STRUCT(Ping, (), (at_us, last_seq, last_job))

// The code of a job (JobSpec::snapshot) comes from the controller piece by piece: an agent asks for it from an offset on.
struct SnapshotRead {
  std::string id;
  std::int64_t offset = 0;
};
BOOST_DESCRIBE_STRUCT(SnapshotRead, (), (id, offset))

struct SnapshotPiece {
  std::string id;
  std::int64_t offset = 0;
  std::int64_t size = 0;             // of the whole archive
  std::string data;                  // base64
  std::optional<std::string> error;  // why it cannot be had, in words
};
BOOST_DESCRIBE_STRUCT(SnapshotPiece, (), (id, offset, size, data, error))

// Somebody wants to talk to something of an attempt: a shell, or a port that it publishes. The agent connects to it, then
// opens a connection for it to the controller (/api/v1/agent/channels/CHANNEL, docs/formats/agent-protocol.md), so that
// the bytes keep out of the way of other messages; or it refuses.
struct OpenChannel {
  std::string channel;  // random: who knows it may connect
  Incarnation incarnation;
  std::string port;  // its name; empty: its shells
};
BOOST_DESCRIBE_STRUCT(OpenChannel, (), (channel, incarnation, port))

struct ChannelRefused {
  std::string channel;
  std::string code;  // "job-not-running", "port-closed", "no-such-port", "shell-failed"
  std::string text;
};
BOOST_DESCRIBE_STRUCT(ChannelRefused, (), (channel, code, text))

using AgentMessage = std::variant<Hello, AttemptChanged, Progress, Telemetry, LogChunk, JobFilesQuery,
                                  CheckpointOffered, CheckpointProgress, ImageProgress, CheckpointRead, CheckpointPiece,
                                  SnapshotRead, ForeignGpuUse, ChannelRefused, Ping>;
using ControllerMessage =
    std::variant<Welcome, Refused, StartAttempt, LaunchAttempt, StopAttempt, SignalAttempt, ResizeAttempt,
                 FreezeAttempt, ThawAttempt, ForgetAttempt, LogRead, JobFilesAnswer, OfferCheckpoint, CheckpointRead,
                 CheckpointPiece, SnapshotPiece, OpenChannel, Ping>;

// The type name in JSON is the struct's name in snake_case: "attempt_changed". Unknown keys are tolerated (a newer
// peer).
std::string encode(const AgentMessage& message);
std::string encode(const ControllerMessage& message);
Result<AgentMessage> decode_agent_message(std::string_view text);
Result<ControllerMessage> decode_controller_message(std::string_view text);

}  // namespace sl::wire
