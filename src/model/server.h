// A GPU machine as the core and the policies see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/gpu_set.h"
#include "model/ids.h"
#include "model/resources.h"

namespace sl {

enum class ServerState : std::uint8_t { joining, up, draining, drained, down };
const char* to_string(ServerState state);

struct GpuFacts {
  std::optional<double> utilization_pct;
  std::optional<std::int64_t> memory_total_bytes;
  std::optional<std::int64_t> memory_used_bytes;
  Instant sampled;  // when the figures above were taken; default: never
};

// What a server is, told when it joins.
struct ServerDescription {
  std::string name;
  int gpus = 0;           // at most GpuSet::capacity
  GpuTypeIndex gpu_type;  // none: unknown
  std::optional<std::int64_t> gpu_memory_bytes;
  ResourceVector capacity;  // zero in a dimension: unknown, not enforced
  bool simulated = false;
  std::string rack;                                     // servers with equal, non-empty names share a switch
  std::optional<double> bandwidth_inside_bytes_per_s;   // between its GPUs
  std::optional<double> bandwidth_network_bytes_per_s;  // of its network card
};

struct Server {
  ServerDescription description;
  ServerState state = ServerState::up;
  ResourceVector used;  // by jobs of ours
  GpuSet outside;       // used by processes we did not start
  GpuSet unavailable;   // broken
  int affinity = 0;     // Gandiva: GPUs per job it is dedicated to; 0: unset
  std::vector<GpuFacts> gpus;

  GpuSet all() const { return GpuSet::first(description.gpus); }
};

}  // namespace sl
