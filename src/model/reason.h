// Why a job waits, or why a policy rejected it. Codes are those of the explain document (docs/guide/rest.md) and never
// change meaning.
#pragma once

#include <cstdint>

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
  quarantined,
  used_outside,
  gang_incomplete,
  quota,
  held,
  retry_backoff,
  unsatisfiable,
  server_away,
  dependency,     // a job that it was to start after has not ended
  not_before,     // the time from which on it may start has not come
  max_running,    // of a group: as many of its members run as may
  frozen_memory,  // GPUs are free, but frozen jobs hold too much of their memory
};
const char* to_string(ReasonCode code);

}  // namespace sl
