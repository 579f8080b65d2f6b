// Whether a job can ever run on some servers, and if not, what it lacks: the one rule about names and labels of servers,
// GPU types, memory of GPUs, CPUs, memory, disk, network, containers, several servers and roles. It is used where jobs
// are submitted, by the simulator, by the core (which keeps jobs that cannot run now out of the line that policies see)
// and where a job's user asks why.
//
// A job can run where the placer would place it if no other job ran anywhere.
#pragma once

#include <string>
#include <vector>

#include "policy/snapshot.h"

namespace sl {

enum class Lack : std::uint8_t {
  nothing,
  member,
  gpu_type,
  gpu_memory,
  gpus,
  cpu,
  memory,
  disk,
  network,
  together,
  containers,
  server
};
inline constexpr std::size_t lack_count = 12;

struct Verdict {
  Lack lack = Lack::nothing;
  double needs = 0;  // of what it lacks: GPUs, cores, bytes, bits per second
  double most = 0;   // what the `servers` that have most of it have together
  int servers = 1;   // over how many the job may be divided
  bool possible() const { return lack == Lack::nothing; }
};

// On these servers, all of them up and with all their GPUs, whatever their state: they may come back. `gpus`: on that
// many GPUs.
Verdict could_ever_run(const ServerTable& servers, const JobRequest& request, int gpus);
inline bool is_satisfiable(const ServerTable& servers, const JobRequest& request, int gpus) {
  return could_ever_run(servers, request, gpus).possible();
}
// On the servers that take jobs now, with those of their GPUs that are not broken and where frozen jobs leave enough
// memory.
Verdict could_run_now(const ServerTable& servers, const JobRequest& request, int gpus);
// Whether one of these servers alone, or that server alone, could run it now if no other job were there.
bool could_be_on_one(const ServerTable& servers, const JobRequest& request, int gpus);
bool could_hold(const ServerTable& servers, ServerIndex server, const JobRequest& request, int gpus);
// Whether that memory is all it lacks.
bool awaits_frozen_memory(const ServerTable& servers, const JobRequest& request, int gpus);

// What the job lacks, for its user: "needs 120 CPUs, the largest server has 96".
std::string lack_text(const Verdict& verdict);
// The same for a table of many jobs: "CPUs".
const char* lack_name(Lack lack);

// The servers of which each, if it took jobs again, would let the job run. None: it takes more than one of them.
std::vector<ServerIndex> awaited_servers(const ServerTable& servers, const JobRequest& request, int gpus);

}  // namespace sl
