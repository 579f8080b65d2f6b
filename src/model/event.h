// What happened: the only input of the core besides time. Events are values; they can be written down and replayed.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/job.h"
#include "model/server.h"

namespace sl {

enum class FailureKind : std::uint8_t {
  none,
  exit,
  signal,
  time_limit,
  out_of_memory,
  gpu_error,
  server_lost,
  image,
  setup,         // it never ran: its command or its working directory does not exist
  server_setup,  // it never ran: its server could not start it (full disk, no process to be had)
  rejected,
  dependency  // it never ran: a job that it was to start after did not succeed
};
const char* to_string(FailureKind kind);
std::optional<FailureKind> parse_failure_kind(std::string_view text);

// How an attempt ended. Success is failure == none and exit_code == 0.
struct Exit {
  FailureKind failure = FailureKind::none;
  int exit_code = 0;
  int signal = 0;  // 0: not ended by a signal
  friend bool operator==(const Exit&, const Exit&) = default;
};

// Jobs named in its prerequisites that are unknown have ended as they should.
struct JobSubmitted {
  JobRequest request;
  bool held = false;
  std::int64_t members = 0;  // above zero: it is a group, and the numbers after its own are those of its members
  int max_running = 0;       // Group::max_running
  JobId first_member = {};   // none: the number after its own
};
// Of a group: all its members are cancelled.
struct JobCancelled {
  JobId job;
};
// The job is held: one that waits leaves the queue, one that has processes is frozen or stopped first, if it can bear it.
// Not held: it may go on. Of a group: while it is held, none of its members starts.
struct JobHeld {
  JobId job;
  bool held = true;
  bool by_user = true;  // false: it only waits to be started again, and only a waiting job can be held
};
// A job that was unfinished and cannot be restored counts as failed to those that wait for its end.
struct JobForgotten {
  JobId job;
  JobId member_of;  // none: it was no member of a group
};
// The job is stopped as if its policy had preempted it, and returns to the queue. Ignored unless it starts, runs,
// moves or is suspended.
struct JobPreempted {
  JobId job;
};
// Its loss is where its target was: the job is stopped at a checkpoint and has succeeded. Ignored unless it runs.
struct JobTargetMet {
  JobId job;
};
// The job's user moves it: it goes on on these GPUs, of which there may be more or fewer than it has. From now on it
// asks for `gpus_min` to `gpus_max`, where these are set. Ignored unless a policy might do the same.
struct JobMoved {
  JobId job;
  Allocation gpus;
  std::optional<int> gpus_min = {}, gpus_max = {};
};
// Changes only the fields that are set; GPUs only to a range that the job may have (model/gpu_counts.h), and while it
// is neither pending nor held, to one that includes those it has.
struct JobEdited {
  JobId job;
  std::optional<int> priority;
  std::optional<int> gpus_min, gpus_max;
  std::optional<Duration> time_limit;
  std::optional<int> gpus = {};         // what rigid policies give; otherwise the nearest to what they would have given
  std::optional<int> max_running = {};  // Group::max_running; ignored unless it is a group
  std::optional<Duration> estimate = {};  // on `gpus`
  std::optional<int> servers_max = {};    // ignored unless it waits
};
// The attempt runs: started, resumed, migrated or resized.
struct AttemptStarted {
  JobId job;
  int attempt = 0;
  JobIndex index = {};  // the core's slot of the job, if the sender has a guess; saves a look-up
};
// What a running attempt has reported of its training; becomes JobTelemetry.
struct AttemptProgressed {
  JobId job;
  int attempt = 0;
  std::optional<double> loss, accuracy;  // of an epoch that has ended
  std::optional<SpeedSample> speed;
  int epoch = 0;                              // the epoch that `loss` belongs to, from 1; 0: the one after the last
  std::optional<double> gpu_utilization_pct;  // mean over the job's GPUs
  std::optional<std::int64_t> gpu_memory_used_bytes;  // on the fullest of them
};
// The attempt has given up its GPUs and kept its state.
struct AttemptSuspended {
  JobId job;
  int attempt = 0;
};
// The attempt was stopped, but not its job: one that was moving continues on the GPUs it was to have, any other returns
// to the queue.
struct AttemptReleased {
  JobId job;
  int attempt = 0;
  JobIndex index = {};
  Duration late = {};  // how long ago it ended
};
struct AttemptExited {
  JobId job;
  int attempt = 0;
  Exit exit;
  bool retry = false;  // the job returns to the queue instead of ending
  JobIndex index = {};
  bool was_asked = false;  // to end, before it did: then a cancelled job is cancelled, whatever its exit code
  Duration late = {};      // how long ago it was, if nobody could tell it before: its run time ended then
};
// A new server, or one that is back.
struct ServerJoined {
  ServerDescription server;
};
// The server's agent does not answer: nothing new starts there, and its jobs keep running until they are known to be
// lost.
struct ServerSilent {
  std::string server;
};
// The server is gone, and with certainty every process on it. `spares_spread`: attempts that also have other servers
// may still have processes there; they end when that is reported of them.
struct ServerLost {
  std::string server;
  bool spares_spread = false;
};
struct ServerDrained {
  std::string server;
  bool drain = true;
};
// The server fails jobs: nothing new starts there until the quarantine ends. Ignored unless it is up, or quarantined.
struct ServerQuarantined {
  std::string server;
  bool quarantine = true;
};
// The server is down and is no part of the cluster any more. Ignored while it is connected or a job may run there.
struct ServerRemoved {
  std::string server;
};
struct TelemetrySampled {
  std::string server;
  std::vector<GpuFacts> gpus;
  GpuSet outside;
  GpuSet unavailable;
};

using Event =
    std::variant<JobSubmitted, JobCancelled, JobHeld, JobForgotten, JobPreempted, JobTargetMet, JobMoved, JobEdited,
                 AttemptStarted, AttemptProgressed, AttemptSuspended, AttemptReleased, AttemptExited, ServerJoined,
                 ServerSilent, ServerLost, ServerDrained, ServerQuarantined, ServerRemoved, TelemetrySampled>;

}  // namespace sl
