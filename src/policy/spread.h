// Over how many servers a job is placed that may span several (policies.md 0.4, 5.3).
#pragma once

#include <cstdint>
#include <optional>

#include "policy/snapshot.h"

namespace sl {

enum class Spread : std::uint8_t {
  few,     // as few as possible with the GPUs that are free now
  fewest,  // no more than it would need if all servers were empty; else the job waits
  any,     // fragments first, so that whole servers stay free
};

// GPUs for a waiting job. A job that may run on one server only, or is frozen on its last one, goes there whatever
// `spread` says.
std::optional<Allocation> place(const FreeGpus& free, const ServerTable& servers, const Job& job, int count,
                                Spread spread);

}  // namespace sl
