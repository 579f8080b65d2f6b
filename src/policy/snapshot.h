// What a policy sees: the core's state, read where the core keeps it, so that showing it costs nothing. It is as it is
// during one call. Live and simulated are the same. All facts of policies.md 13.1 are here or reachable from here; what
// nobody supplies is unknown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "estimate/estimates.h"
#include "model/job.h"
#include "model/names.h"
#include "model/server.h"
#include "policy/free_gpus.h"
#include "policy/tenants.h"

namespace sl {

using JobTable = IndexedVector<JobIndex, Job>;
using ServerTable = IndexedVector<ServerIndex, Server>;

// A job that has ended, for estimators and fair shares.
struct FinishedJob {
  JobId job;
  UserIndex user;
  FamilyIndex family;
  int gpus = 1;
  bool succeeded = true;
  Duration run;  // time spent running
  std::int64_t attained_gpu_us = 0;
  Instant ended;
};

// Why the policy is asked now.
enum class Trigger : std::uint8_t { arrival, ending, cluster, timer, policy, progress };

// What the core keeps for policies across decisions, restarts and hot swaps.
struct PolicyMemory {
  ServerIndex last_server;  // round robin: where the last job went; none before the first
  std::string blob;         // a policy's own, versioned by itself
};

struct Snapshot {
  const Instant& now;
  const Trigger& trigger;
  const JobTable& jobs;
  const std::vector<JobIndex>& waiting;  // pending and suspended, in no particular but reproducible order
  const std::vector<JobIndex>& active;   // starting .. stopping, suspended excluded; likewise
  const ServerTable& servers;
  FreeGpus& free;  // change it only inside a Trial
  const Tenants& tenants;
  const Estimates& estimates;
  const std::vector<FinishedJob>& history;  // the latest, oldest first; bounded by the core
  const PolicyMemory& memory;
  const Names<UserIndex>& users;
  Random& random;                                        // the only source of chance; the core owns the seed
  Duration solver_budget = Duration::milliseconds(100);  // wall time a slow solver may use

  const Job& job(JobIndex index) const { return jobs[index]; }
  int gpus_total() const {  // on servers that take jobs
    int total = 0;
    for (const Server& s : servers) {
      if (s.state == ServerState::up) total += (s.all() - s.unavailable - s.outside).count();
    }
    return total;
  }
};

// The end of every comparison: earlier submitted first, then the lower id (policies.md 0.3.1).
inline bool submitted_before(const Job& a, const Job& b) {
  if (a.request.submitted != b.request.submitted) return a.request.submitted < b.request.submitted;
  return a.request.id < b.request.id;
}

}  // namespace sl
