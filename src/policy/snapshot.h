// What a policy sees: the core's state, read in place, so that providing it costs nothing. A view or snapshot is valid
// during one call, and is the same in the live cluster and in the simulator. Every fact that a policy may use
// (policies.md 13.1) is reachable from here; what nobody provides is unknown.
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
  double serial_s = 0;  // what its run would have taken on one GPU, according to its speed curve
};

// Why the policy is asked now.
enum class Trigger : std::uint8_t { arrival, ending, cluster, timer, policy, progress };

// What the core keeps for policies across decisions, restarts and hot swaps.
struct PolicyMemory {
  ServerIndex last_server;  // round robin: where the last job went; none before the first
  std::string blob;         // a policy's own data, with its own version number
};

// For questions: a view can change nothing.
struct View {
  Instant now;
  Trigger trigger;
  const JobTable& jobs;
  const std::vector<JobIndex>& waiting;  // pending and suspended, in no particular but a reproducible order
  const std::vector<JobIndex>& active;   // starting .. stopping, except suspended; likewise
  const ServerTable& servers;
  const FreeGpus& free;
  const Tenants& tenants;
  const Estimates& estimates;
  const std::vector<FinishedJob>& history;  // the latest, oldest first; bounded by the core
  const PolicyMemory& memory;
  const Names<UserIndex>& users;

  const Job& job(JobIndex index) const { return jobs[index]; }
  int gpus_total() const {  // on servers that take jobs
    int total = 0;
    for (const Server& s : servers) {
      if (s.state == ServerState::up) total += (s.all() - s.unavailable - s.outside).count();
    }
    return total;
  }
};

// For decisions: a view plus what a policy needs to try things out.
struct Snapshot : View {
  FreeGpus& free;  // the same GPUs; change them only inside a Trial
  Random& random;  // the only source of randomness; the core owns the seed
};

// The last step of every comparison: earlier submitted first, then the lower id (policies.md 0.3.1).
inline bool submitted_before(const Job& a, const Job& b) {
  if (a.request.submitted != b.request.submitted) return a.request.submitted < b.request.submitted;
  return a.request.id < b.request.id;
}

}  // namespace sl
