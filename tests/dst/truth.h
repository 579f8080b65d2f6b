// What really happens in the simulated world, which only the world itself knows: processes, the contents of the
// launchers' disks, what the controller has heard, what users have requested. The judge compares what the controller
// says with it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/launcher_wire.h"
#include "base/time.h"
#include "wire/job_spec.h"

namespace sl::dst {

constexpr Duration lease = Duration::whole_seconds(30);  // docs/formats/agent-protocol.md

struct AttemptKey {
  std::int64_t job = 0;
  int attempt = 0;
  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};
AttemptKey attempt_of(const std::string& text);  // "job.attempt"
std::string to_string(AttemptKey key);
std::string list(const std::vector<int>& gpus);  // "0,1"

// What happened in the container of an attempt.
struct ContainerTruth {
  bool has_begun = false;    // the job
  bool has_refused = false;  // its first process: there is no such command
  bool has_ended = false;
  int status = 0;  // as from waitpid
  bool ran_out_of_memory = false;
  bool end_is_written = false;   // by its first process
  bool memory_was_told = false;  // by the engine, that it ran out of it
};

struct AttemptTruth {
  std::string server;
  std::optional<Instant> started;           // its first process
  bool setup_failed = false;                // its program could not be started
  bool stop_was_ordered = false;            // and the order reached the launcher before it saw the end
  bool lease_ended_it = false;              // or the launcher tried to end it for that reason
  bool cannot_be_known = false;             // how it ended: the process that saw it has died
  std::optional<agent::LauncherState> end;  // as it is on the launcher's disk
  bool gpu_error_heard = false;             // by the controller: that a GPU's failure ended it
  bool other_end_heard = false;             // by the controller: that it ended otherwise
  bool cannot_be_copied = false;            // its checkpoint
  bool was_cut_off = false;                 // its server, so that a job that must not wait could leave its checkpoint
  std::vector<int> gpus;                    // by their place on the bus
  std::int64_t steps_told = 0;              // in the last report of its training
  bool image_failed = false;                // the image of its container cannot be had
  std::optional<ContainerTruth> container;  // if it has one
};

struct Silence {
  Instant from, to;
};

struct ServerTruth {
  Instant heard;                        // when the controller last heard of its agent
  std::int64_t call = 0;                // the number of its latest hello
  Instant given_up;                     // when an admin last said that it is lost
  Instant drained = Instant::never();   // when an answer said that it is out of service
  int undrains = 0;                     // requests to put it back
  bool emptied = false;                 // an admin has set a time by which nothing may run there any more
  std::vector<Silence> silences;        // the long ones that are over; a slow disk writes of them later
  std::map<int, Instant> missing_gpus;  // those the controller has been told of, and from when on it knows
};

constexpr std::int64_t gpu_memory_bytes = std::int64_t{24} << 30;  // of each GPU of every server

struct Running {
  AttemptKey key;
  std::string server;
  std::vector<int> gpus;
  bool frozen = false;  // it stands still, or has been thawed to end
  bool has_container = false;
};

struct Truth {
  std::map<std::int64_t, Running> running;  // by the leader's process number
  std::map<AttemptKey, AttemptTruth> attempts;
  std::map<std::string, ServerTruth> servers;
  Instant controller_started;
  Instant controller_turned;                            // the latest time
  Instant controller_works_since;                       // without a pause, in peace
  std::map<std::string, wire::JobSpec> submissions;     // by idempotency key
  std::map<std::int64_t, std::vector<int>> priorities;  // that clients asked for, in order
  std::set<std::int64_t> cancels, releases;             // jobs that a client asked to cancel, to resume
  std::set<std::int64_t> holds, scales;                 // to suspend, to scale

  bool runs(std::int64_t job) const;
  bool stands_still(std::int64_t job) const;
  // Whether the controller had waited for this server so long that all leases had certainly run out.
  bool leases_were_over(const std::string& server, Instant at) const;
};

}  // namespace sl::dst
