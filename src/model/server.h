// A GPU machine as the core and the policies see it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/gpu_set.h"
#include "model/ids.h"
#include "model/resources.h"

namespace sl {

// Jobs start only on a server that is `up`. `quarantined`: it has failed jobs; what runs there runs on. `removed`: it is
// not part of the cluster any more and has no GPUs, until it joins again.
enum class ServerState : std::uint8_t { joining, up, draining, drained, down, quarantined, removed };
const char* to_string(ServerState state);

struct GpuFacts {
  std::optional<double> utilization_pct;
  std::optional<std::int64_t> memory_total_bytes;
  std::optional<std::int64_t> memory_used_bytes;
  Instant sampled;  // when the figures above were taken; default: never
};

// What a server is, as it states when it joins.
struct ServerDescription {
  std::string name;
  int gpus = 0;           // at most GpuSet::capacity
  GpuTypeIndex gpu_type;  // none: unknown
  std::optional<std::int64_t> gpu_memory_bytes;
  bool runs_containers = false;
  ResourceVector capacity;  // zero in a dimension: unknown, not enforced
  bool simulated = false;
  bool in_pool = false;  // its GPUs and those of all other servers of the pool are one to every job; only in simulations
  std::optional<double> bandwidth_inside_bytes_per_s;   // between its GPUs
  std::optional<double> bandwidth_network_bytes_per_s;  // of its network card

  // What jobs may use of it: without limit where the capacity is unknown.
  ResourceVector limits() const {
    ResourceVector limits = capacity;
    for (double& amount : limits.amount) amount = amount == 0 ? std::numeric_limits<double>::infinity() : amount;
    return limits;
  }
};

struct Server {
  ServerDescription description;
  ServerState state = ServerState::up;
  ResourceVector used;  // by our jobs
  GpuSet outside;       // used by processes we did not start
  GpuSet unavailable;   // broken
  int affinity = 0;     // Gandiva: GPUs per job that the server is dedicated to; 0: unset
  std::vector<GpuFacts> gpus;

  GpuSet all() const { return GpuSet::first(description.gpus); }
};

}  // namespace sl
