// Why a job waits. Codes are those of the explain document (docs/guide/rest.md) and never change meaning.
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"

namespace sl {

enum class ReasonCode : std::uint8_t {
  none,
  no_free_gpus,
  fragmented,
  behind_others,
  gpu_type,
  gpu_memory,
  cpu_or_memory,
  server_down,
  draining,
  used_outside,
  gang_incomplete,
  quota,
  dependency,
  not_before,
  held,
  retry_backoff,
  cooldown,
  image_pull,
  policy_reserve,
  unsatisfiable,
};
const char* to_string(ReasonCode code);

struct Reason {
  ReasonCode code = ReasonCode::none;
  JobId blocker;  // the job that is in the way, where there is one
  friend bool operator==(const Reason&, const Reason&) = default;
};

}  // namespace sl
