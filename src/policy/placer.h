// From a count of GPUs to GPUs (policies.md 0.4). Pure: it looks at the free GPUs and changes nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/snapshot.h"

namespace sl {

enum class Fit : std::uint8_t { best, first, worst };

// May this job run on that server at all, whatever is free there: GPU type, memory of each GPU.
bool is_eligible(const Server& server, const JobRequest& request);
bool is_eligible(const Server& server, const std::vector<GpuTypeIndex>& types, std::optional<std::int64_t> gpu_memory);

// Whether all these GPUs could be given to somebody else once their job leaves them: none is broken or used by a
// process that is not ours.
bool all_usable(const Snapshot& snapshot, const Allocation& gpus);

// Whether these servers take jobs and are of the kind this one asks for: both may have changed since it started there.
bool may_stay_on(const Snapshot& snapshot, const Job& job, const Allocation& gpus);

// All on one server. Best: fewest free that suffice; first: lowest index; worst: most free. Ties: lowest index.
// The GPUs taken are those of lowest index.
std::optional<Allocation> place_single(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                       int count, Fit fit = Fit::best);
// On this server, or nothing.
std::optional<Allocation> place_on(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                   int count, ServerIndex server);
// One server if possible, else as few as possible: fullest free servers first, the remainder where it fits best.
std::optional<Allocation> place_consolidated(const FreeGpus& free, const ServerTable& servers,
                                             const JobRequest& request, int count);
// Fragments first: servers by (free ascending, index), so that whole servers stay free.
std::optional<Allocation> place_anywhere(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                         int count);

// By the job's own rule: single_server -> place_single best fit, else consolidated.
std::optional<Allocation> place(const FreeGpus& free, const ServerTable& servers, const JobRequest& request, int count);

// Could it ever run on these servers if they were all empty? Servers that are down or draining count: they may come
// back.
bool is_satisfiable(const ServerTable& servers, const JobRequest& request, int count);

}  // namespace sl
