// The spellings of the enumerations: the same word in the command line, JSON, the store and the log.
#include <array>
#include <initializer_list>
#include <string_view>

#include "model/event.h"
#include "model/job.h"
#include "model/reason.h"
#include "model/record.h"
#include "model/server.h"

namespace sl {
namespace {
constexpr std::array job_state_names = {"pending",  "held",     "starting",  "running", "suspended", "migrating",
                                        "resizing", "stopping", "succeeded", "failed",  "cancelled"};
constexpr std::array server_state_names = {"joining", "up", "draining", "drained", "down", "quarantined", "removed"};
constexpr std::array reason_names = {
    "none",          "no_free_gpus", "fragmented",    "behind_others", "gpu_type",     "gpu_memory",
    "cpu_or_memory", "server_down",  "draining",      "quarantined",   "used_outside", "gang_incomplete",
    "quota",         "held",         "retry_backoff", "unsatisfiable", "server_away",  "dependency",
    "not_before",    "max_running",  "frozen_memory"};
constexpr std::array failure_names = {"none",        "exit",  "signal", "time_limit",   "out_of_memory", "gpu_error",
                                      "server_lost", "image", "setup",  "server_setup", "rejected",      "dependency"};
constexpr std::array refusal_names = {
    "none",       "unknown_job",   "not_waiting",   "not_running",    "not_interruptible", "wrong_gpu_count",
    "gpus_taken", "server_not_up", "spans_servers", "type_or_memory", "resources_taken",   "world_cannot"};
}  // namespace

const char* to_string(JobState state) { return job_state_names.at(static_cast<std::size_t>(state)); }
const char* to_string(ServerState state) { return server_state_names.at(static_cast<std::size_t>(state)); }
const char* to_string(ReasonCode code) { return reason_names.at(static_cast<std::size_t>(code)); }

const char* to_string(FailureKind kind) { return failure_names.at(static_cast<std::size_t>(kind)); }
const char* to_string(Refusal refusal) { return refusal_names.at(static_cast<std::size_t>(refusal)); }

std::optional<FailureKind> parse_failure_kind(std::string_view text) {
  for (std::size_t i = 0; i < failure_names.size(); ++i) {
    if (text == failure_names[i]) return static_cast<FailureKind>(i);
  }
  return std::nullopt;
}

std::optional<JobState> parse_job_state(std::string_view text) {
  for (std::size_t i = 0; i < job_state_names.size(); ++i) {
    if (text == job_state_names[i]) return static_cast<JobState>(i);
  }
  return std::nullopt;
}

namespace {

using States = std::uint16_t;  // a bit for each

constexpr States states(std::initializer_list<JobState> list) {
  States bits = 0;
  for (const JobState state : list) bits = static_cast<States>(bits | 1U << static_cast<unsigned>(state));
  return bits;
}

using enum JobState;
constexpr States finished = states({succeeded, failed, cancelled});
constexpr std::array<States, job_state_names.size()> followers = {
    states({held, starting}) | finished,                                     // pending; a group succeeds from there
    states({pending}) | finished,                                            // held, likewise
    states({running, pending, held, stopping}) | finished,                   // starting
    states({suspended, migrating, resizing, stopping, pending}) | finished,  // running
    states({starting, stopping, pending}) | finished,                        // suspended
    states({running, starting, pending, stopping}) | finished,               // migrating
    states({running, starting, pending, stopping}) | finished,               // resizing
    states({pending, held, suspended}) | finished,                           // stopping
};                                                                           // nothing follows a final state

}  // namespace

bool may_follow(JobState from, JobState to) { return (followers[static_cast<std::size_t>(from)] & states({to})) != 0; }

}  // namespace sl
