// Turns a count of GPUs into GPUs (policies.md 0.4). Pure: it looks at the free GPUs and changes nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/gpu_counts.h"
#include "policy/snapshot.h"

namespace sl {

enum class Fit : std::uint8_t { best, first, worst };

// Whether this job may run on that server at all, whatever is free there: its name and labels, GPU type, memory of
// each GPU.
bool is_eligible(const Server& server, const JobRequest& request);
bool is_eligible(const Server& server, const std::vector<GpuTypeIndex>& types, std::optional<std::int64_t> gpu_memory,
                 bool needs_containers, const ServerChoice& chosen);

// Those of these GPUs of a server in whose memory frozen jobs leave enough for a job that says how much it needs.
inline GpuSet roomy(const Server& server, GpuSet gpus, std::optional<std::int64_t> gpu_memory) {
  return server.frozen_bytes.empty() || !gpu_memory ? gpus : gpus - server.without_memory(*gpu_memory);
}
// The free ones among them.
inline GpuSet free_for(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                       ServerIndex server) {
  return roomy(servers[server], free.on(server), request.gpu_memory_bytes);
}
// So many GPUs of that server for the job, those of lowest index: first those on which no job is frozen. `among`: at
// least `count` of what free_for() returned.
GpuSet lowest(const Server& server, GpuSet among, int count);

// As many free GPUs of each server as `found` has there: one that each of these jobs leaves, then others of theirs. A job
// that waits for a GPU of another waits for the CPUs and the memory that this one leaves too.
Allocation rather_on(const std::vector<Allocation>& left, const FreeGpus& free, const ServerTable& servers,
                     const JobRequest& request, const Allocation& found);

// Whether all these GPUs could be given to another job once theirs leaves them: none is broken or used by a process
// that is not ours.
bool all_usable(const Snapshot& snapshot, const Allocation& gpus);

// Whether these servers take jobs and are of the kind this job asks for: both may have changed since it started there.
bool may_stay_on(const Snapshot& snapshot, const Job& job, const Allocation& gpus);

// All GPUs on one server. Best: the fewest free that suffice; first: lowest index; worst: most free. Ties: lowest
// index. The GPUs taken are those of `lowest`.
std::optional<Allocation> place_single(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                       int count, Fit fit = Fit::best);
// On this server, or nothing.
std::optional<Allocation> place_on(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                   int count, ServerIndex server);
// One server if possible, else as few as possible: servers with the most free GPUs first, the remainder where it fits
// best.
std::optional<Allocation> place_consolidated(const FreeGpus& free, const ServerTable& servers,
                                             const JobRequest& request, int count);
// Fragments first: servers by (free GPUs ascending, index), so that whole servers stay free.
std::optional<Allocation> place_anywhere(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                         int count);

// Whether a policy may suspend this running job. One without a checkpoint only if all of it is on one server, since a
// job frozen on several cannot continue on all of them at once.
bool may_be_suspended(const Job& job);
// Whether this running job, suspended, would be frozen in place: its processes stay in the memory of its GPUs.
inline bool would_freeze(const Job& job) { return job.request.freezable && job.allocation.parts().size() == 1; }
// The bytes of them there, on each GPU: what was measured or asked for, whichever is more; 0: unknown.
inline std::int64_t memory_if_frozen(const Job& job) {
  return std::max(gpu_memory_of(job).value_or(0), job.request.gpu_memory_bytes.value_or(0));
}
// Whether this waiting job is suspended with its processes: it can only continue on the GPUs that it had.
inline bool is_frozen(const Job& job) { return job.state == JobState::suspended && job.frozen_on; }

// By the job's own rule: place_single with best fit if it must stay on one server, else place_consolidated.
std::optional<Allocation> place(const FreeGpus& free, const ServerTable& servers, const JobRequest& request, int count);
// The same for a waiting job; a frozen one continues on the GPUs that it had, however many are asked for.
std::optional<Allocation> place(const FreeGpus& free, const ServerTable& servers, const Job& job, int count);

// Where a running job can continue with more GPUs without moving: on its servers, with as many GPUs as are free there,
// up to `most`, and a number that it allows. Without room for more: the GPUs it has.
Allocation grown_in_place(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                          const Allocation& has, int most);

}  // namespace sl
