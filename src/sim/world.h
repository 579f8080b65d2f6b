// The virtual world: the production engine and policies under a clock that jumps from event to event. A start becomes a
// completion by the job's length and its speed where it runs; servers and jobs fail by the seed. Deterministic: equal
// inputs give equal results.
//
// Jobs that fit on one server stay on one; wider ones take whole servers first. Every job can be stopped at a
// checkpoint, moved and, within gpus_min and gpus_max, resized. Its length is that on the GPUs it asked for; on others
// it follows its model's speed-up, linearly where it has none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "sim/cluster.h"
#include "sim/trace.h"

namespace sl::sim {

// What happened, told as it happens.
enum class WorldEventKind : std::uint8_t {
  server,
  server_lost,
  submit,
  start,
  resume,
  resize,
  migrate,
  suspend,
  stop,
  finish,
  fail,
  reject,
  policy
};
struct WorldEvent {
  WorldEventKind kind;
  Instant at;
  std::size_t job = 0;               // index in the trace; of server events nothing
  const Allocation* gpus = nullptr;  // that it has from now on, or had
  int count = 0;                     // GPUs asked for, or of the server
  std::string_view name;             // of a server or policy
};
class WorldObserver {
 public:
  virtual ~WorldObserver() = default;
  virtual void happened(const WorldEvent& event) = 0;
};

struct PolicySwitch {
  Instant at;
  std::string name;
  std::unique_ptr<Policy> policy;
};

struct SimulationSettings {
  Cluster cluster;
  bool knows_durations = true;  // policies see true durations; else the users' estimates, where the trace has them
  // As on a live cluster of today: jobs run to their end where they started, and policies know no speed on other
  // numbers of GPUs.
  bool like_live = false;
  std::uint64_t seed = 1;
  // For the impatient: counts finished jobs; stops early when told to. Both may be null.
  std::atomic<std::int64_t>* finished = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  WorldObserver* observer = nullptr;
};

struct Outcome {    // of one trace job, same index
  Instant started;  // first start
  Instant finished;
  Duration run;  // time it held GPUs, being stopped excluded
  std::int32_t preemptions = 0, resizes = 0, migrations = 0, failures = 0;
};

struct SimulationResult {
  LargeVector<Outcome> outcomes;
  std::vector<std::uint32_t> finished;  // indices of the jobs that finished, in order of their ends
  double gpu_s_allocated = 0;           // integral of GPUs that some job holds
  double gpu_s_lost = 0;                // of those: coming back after an interruption, and work done twice
  double free_gpu_s = 0;                // integral of GPUs nobody holds, while some server is up
  double fragmented_gpu_s = 0;          // of those: not on the server that has most of them
  double fragmented_demand_gpu_s = 0;   // of those: too few on their server for a request as the trace makes them
  std::uint64_t decisions_refused = 0;
  std::uint64_t decisions = 0;  // calls of the policy
  std::int64_t failed = 0;      // jobs that failed for good or were turned away by the policy
  std::int64_t unfinished = 0;  // jobs the policy never ran to their end
  std::int64_t server_losses = 0;
  bool cancelled = false;

  void finish(std::size_t job, Instant at) {
    outcomes[job].finished = at;
    finished.push_back(static_cast<std::uint32_t>(job));
  }
};

SimulationResult simulate(const Trace& trace, std::unique_ptr<Policy> policy, const SimulationSettings& settings,
                          std::vector<PolicySwitch> switches = {});

}  // namespace sl::sim
