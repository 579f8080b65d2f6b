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
  // Its GPUs and those of all other servers of the pool are one to every job; only in simulations.
  bool in_pool = false;
  std::optional<double> bandwidth_inside_bytes_per_s;   // between its GPUs
  std::optional<double> bandwidth_network_bytes_per_s;  // of its network card
  std::vector<std::string> labels = {};                 // "rack=a"

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
  ResourceVector used;          // by our jobs
  GpuSet outside;               // used by processes we did not start
  GpuSet unavailable;           // broken
  bool had_containers = false;  // its description has said so once: an engine that has gone may come back
  int affinity = 0;             // Gandiva: GPUs per job that the server is dedicated to; 0: unset
  std::vector<GpuFacts> gpus;
  // What processes of frozen jobs hold in the memory of each GPU, in bytes, as far as known; empty: nothing anywhere.
  std::vector<std::int64_t> frozen_bytes;

  GpuSet all() const { return GpuSet::first(description.gpus); }
  // The GPUs in whose memory frozen jobs leave fewer bytes than that.
  GpuSet without_memory(std::int64_t bytes) const {
    GpuSet gpus_without;
    for (std::size_t gpu = 0; gpu < frozen_bytes.size(); ++gpu) {
      if (frozen_bytes[gpu] > 0 && description.gpu_memory_bytes.value_or(0) - frozen_bytes[gpu] < bytes)
        gpus_without |= GpuSet::only(static_cast<int>(gpu));
    }
    return gpus_without;
  }
};

}  // namespace sl
