// Jobs that need no GPU. Policies share out GPUs, so they neither see nor order these jobs; one rule starts them,
// whichever policy is in force, once it has decided:
//
//   in order of priority, then of submission, each on the server with the fewest free GPUs that has room for its CPUs
//   and memory: the CPUs beside free GPUs are for jobs that need both
//   a job with GPUs that comes before them and asks for CPUs or memory keeps what it needs, and where it lacks nothing
//   else, all that is left there
//   the first that finds no room keeps a server for itself, the one that has most free CPUs; all others may be passed
#pragma once

#include <utility>
#include <vector>

#include "core/jobs.h"
#include "core/ledger.h"
#include "core/line_gate.h"

namespace sl {

class WithoutGpus {
 public:
  WithoutGpus(const Jobs& jobs, const Ledger& ledger, LineGate& gate) : jobs_(jobs), ledger_(ledger), gate_(gate) {}

  // Those that start now, and where. `policy` says how many GPUs the others need; null: there is none yet.
  std::vector<std::pair<JobIndex, Allocation>> starts(const Snapshot& snapshot, const Policy* policy);
  // Those that could start if there was room, in the order in which they are considered.
  std::vector<JobIndex> line(Instant now, const Policy* policy);

 private:
  void add_those_before(JobIndex last, std::vector<JobIndex>& line) const;
  void sort(std::vector<JobIndex>& line) const;
  bool comes_before(JobIndex a, JobIndex b) const;
  void keep_server_for(const Job& job, Trial& trial) const;
  void keep_room_for(const Job& job, int gpus, Trial& trial) const;

  const Jobs& jobs_;
  const Ledger& ledger_;
  LineGate& gate_;
};

}  // namespace sl
