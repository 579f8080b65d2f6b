// A copy of a core's state, from which possible futures begin: servers, jobs, and everything that a policy which is
// attached to it may ask for. Making it only reads the core.
//
// What a copy does not continue but begins again: a job that was about to start on GPUs that others still hold waits
// once more, and one that was moving runs where it is; the policy decides about both again at once.
#pragma once

#include <vector>

#include "core/core.h"

namespace sl::forecast {

// A server that will take jobs again without anybody's doing: the end of its quarantine.
struct ServerReturn {
  Instant at;
  ServerIndex server;
};

struct Present {
  Instant now;
  // When the policy is asked next if nothing happens; now: it would be asked at once, as a new one is. A question too many
  // may change what it does.
  Instant next_wake;
  CoreSettings settings;
  Names<UserIndex> users;
  Names<FamilyIndex> families;
  Names<GpuTypeIndex> gpu_types;
  std::vector<Server> servers;  // in the core's order
  std::vector<ServerReturn> returns;
  std::vector<Job> jobs;  // unfinished, by id
  std::vector<FinishedJob> history;
  PolicyMemory memory;

  // The position of the job in `jobs`; jobs.size() if it is not there.
  std::size_t find(JobId job) const;
};

Present copy_of(const Core& core, Instant now);
Present copy_of(const Present& present);
Job copy_of(const Job& job);

// Makes `core`, which must be new and have the settings of the copy, equal to it, without a policy. Jobs that share GPUs
// with others may be missing: nothing else about them is known to a core that is being restored.
void restore(const Present& present, Core& core, Effects& effects);

}  // namespace sl::forecast
