// The spellings of the enumerations: the same word in the command line, JSON, the store and the log.
#include <array>
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
constexpr std::array server_state_names = {"joining", "up", "draining", "drained", "down"};
constexpr std::array reason_names = {
    "none",           "no_free_gpus", "fragmented", "behind_others", "gpu_type",        "gpu_memory",
    "cpu_or_memory",  "server_down",  "draining",   "used_outside",  "gang_incomplete", "quota",
    "dependency",     "not_before",   "held",       "retry_backoff", "cooldown",        "image_pull",
    "policy_reserve", "unsatisfiable"};
constexpr std::array failure_names = {"none",      "exit",        "signal", "time_limit", "out_of_memory",
                                      "gpu_error", "server_lost", "image",  "setup",      "rejected"};
constexpr std::array refusal_names = {
    "none",           "unknown_job",     "not_waiting", "not_running",   "not_interruptible",
    "too_soon",       "wrong_gpu_count", "gpus_taken",  "server_not_up", "spans_servers",
    "type_or_memory", "resources_taken", "world_cannot"};
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

bool may_follow(JobState from, JobState to) {
  using enum JobState;
  switch (from) {
    case pending:
      return to == held || to == starting || to == failed || to == cancelled;
    case held:
      return to == pending || to == cancelled;
    case starting:
      return to == running || to == pending || to == stopping || is_finished(to);
    case running:
      return to == suspended || to == migrating || to == resizing || to == stopping || to == pending || is_finished(to);
    case suspended:
      return to == starting || to == stopping || to == pending || is_finished(to);
    case migrating:
    case resizing:
      return to == running || to == pending || to == stopping || is_finished(to);
    case stopping:
      return to == pending || to == suspended || is_finished(to);
    case succeeded:
    case failed:
    case cancelled:
      return false;
  }
  return false;
}

}  // namespace sl
