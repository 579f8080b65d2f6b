// Jobs that need no GPU. Policies share out GPUs, so they neither see nor order these jobs; one rule starts them,
// whichever policy is in force, once it has decided:
//
//   in order of priority, then of submission, each on the server with the fewest free GPUs that has room for its CPUs
//   and memory: the CPUs beside free GPUs are for jobs that need both
//   a job with GPUs that comes before them and asks for CPUs or memory keeps what it needs, and where it lacks nothing
//   else, all that is left there
//   the first that finds no room keeps a server for itself, the one that has most free CPUs; all others may be passed
//
// They stand in one line for each demand, and the first that finds no room closes its line: a turn costs as much as what
// starts, what the jobs with GPUs before them keep, and what may not start yet, however many wait for room.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <utility>
#include <vector>

#include "core/jobs.h"
#include "core/ledger.h"
#include "core/line_gate.h"
#include "policy/waiting_lines.h"

namespace sl {

class WithoutGpus {
 public:
  WithoutGpus(const Jobs& jobs, const Ledger& ledger, LineGate& gate) : jobs_(jobs), ledger_(ledger), gate_(gate) {}

  bool none_waits() const { return jobs_.aside_without_gpus().empty(); }
  // Those that start now, and where. `policy` says how many GPUs the others need; null: there is none yet.
  std::vector<std::pair<JobIndex, Allocation>> starts(const Snapshot& snapshot, const Policy* policy);
  // Those that could start if there was room, in the order in which they are considered.
  std::vector<JobIndex> line(Instant now, const Policy* policy) const;

 private:
  using Lines = WaitingLines<ArrivalKey>;
  // Waiting jobs with GPUs that ask for something else too, and have not been looked at; a heap, the first on top.
  struct Others {
    std::vector<JobIndex> in_order;
    Shapes shapes;
    boost::unordered_flat_set<std::uint32_t> without_room;  // less is free for each job than for those before it
    JobIndex take_first(const WithoutGpus& rule);
  };
  Others others_with_demand() const;
  void keep_for(JobIndex index, Others& others, const Policy* policy, Trial& trial) const;
  bool comes_before(JobIndex a, JobIndex b) const;
  void keep_server_for(const Job& job, Trial& trial) const;
  void keep_room_for(const Job& job, int gpus, Trial& trial) const;

  const Jobs& jobs_;
  const Ledger& ledger_;
  LineGate& gate_;
};

}  // namespace sl
