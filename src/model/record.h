// What the core has decided or accepted, in order: the audit log and the source of every statistic. A record says how a
// job stands, never what it runs.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/command.h"
#include "model/event.h"
#include "model/ids.h"

namespace sl {

enum class RecordKind : std::uint8_t {
  job_submitted,
  job_state,
  job_edited,
  job_progress,
  server_state,
  policy_changed,
  decision_refused
};

// Why a decision of a policy was dropped (policies.md 0.3.4). Counted per kind and shown.
enum class Refusal : std::uint8_t {
  none,
  unknown_job,
  not_waiting,
  not_running,
  not_interruptible,
  wrong_gpu_count,
  gpus_taken,
  server_not_up,
  spans_servers,
  type_or_memory,
  resources_taken,
  world_cannot,
};
const char* to_string(Refusal refusal);

struct Record {
  RecordKind kind = RecordKind::job_state;
  JobState from = JobState::pending;
  JobState to = JobState::pending;
  Refusal refusal = Refusal::none;
  StopReason why = StopReason::none;     // if it is being stopped
  ReasonCode reason = ReasonCode::none;  // if the policy rejected the job
  int attempt = 0;
  JobIndex index;  // valid until the core's next step
  JobId job;
  ServerIndex server;
  Instant at;
  Exit exit;  // if job_state is final
};

}  // namespace sl
