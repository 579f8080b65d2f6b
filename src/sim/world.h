// The virtual world: the production engine and policies under a clock that jumps from event to event. A job's
// completion follows from its length and its speed where it runs; servers and jobs fail at random, from the seed.
// Deterministic: equal inputs give equal results.
//
// Jobs that fit on one server stay on one; wider ones take whole servers first. Every job can be stopped at a
// checkpoint, moved and, within gpus_min and gpus_max, resized. A job's length applies to the GPUs it asked for; on
// other numbers it follows its model's speed curve (model/speed_curve.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "sim/cluster.h"
#include "trace/trace.h"

namespace sl {
class Core;
}

namespace sl::sim {

// What happened, reported as it happens.
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
  std::size_t job = 0;               // index in the trace; unused for server events
  const Allocation* gpus = nullptr;  // those it has from now on, or had
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
  // Policies see true durations and measurements of trainings; else only what users state and running jobs report.
  bool knows_durations = true;
  // Behaves like a live cluster of today: jobs run to their end where they started, and policies know no speed on other
  // numbers of GPUs.
  bool like_live = false;
  std::uint64_t seed = 1;
  // Gives up if jobs wait on an idle cluster for a month, or the policy has been woken this often in the meantime.
  std::int64_t idle_wakes_most = 10'000'000;
  // For the user who waits: counts finished jobs, sixteen at a time; setting `cancelled` stops the simulation early. Both may be null.
  std::atomic<std::int64_t>* finished = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  WorldObserver* observer = nullptr;
  // Sees the core after each instant. Empty: nobody looks.
  std::function<void(const Core&, Instant)> watch = {};
  // Asked after each instant; the policy that it returns takes over at once. Empty: nobody advises.
  std::function<std::optional<PolicySwitch>(const Core&, Instant)> advise = {};
};

struct Outcome {    // of one trace job, same index
  Instant started;  // first start
  Instant finished;
  Duration run;  // time it held GPUs, not counting the time to stop
  std::int32_t preemptions = 0, resizes = 0, migrations = 0, failures = 0;
};

struct SimulationResult {
  LargeVector<Outcome> outcomes;
  std::vector<std::uint32_t> finished;  // indices of the jobs that finished, in order of their ends
  double gpu_s_allocated = 0;           // integral of GPUs held by jobs, without those that wait for others of a job
  Instant busy_until;                   // when the last job gave its GPUs back; not set: not known
  double gpu_s_given = 0;               // the same, a GPU that jobs share counted for each of them
  double gpu_s_lost = 0;                // of those: coming back after an interruption, and work done twice
  double free_gpu_s = 0;                // integral of free GPUs while some server is up
  double fragmented_gpu_s = 0;          // of those: not on the server that has most of them
  double fragmented_demand_gpu_s = 0;  // of those: on servers with too few free GPUs for a request drawn from the trace
  std::uint64_t decisions_refused = 0;
  std::uint64_t decisions = 0;   // calls of the policy
  std::int64_t failed = 0;       // jobs that failed for good or were rejected by the policy
  std::int64_t unfinished = 0;   // jobs that never ran to their end
  std::string first_unfinished;  // of them, and why, if it waits (sim/unfinished.h)
  Duration idle_at_end;  // how long nothing ran before the simulation gave up on unfinished jobs; 0: it did not give up
  // Why the simulation gave up on a policy that only interrupts jobs (engine/progress.h), in words; empty: it did not.
  std::string standstill;
  std::int64_t server_losses = 0;
  bool cancelled = false;

  void finish(std::size_t job, Instant at) {
    outcomes[job].finished = at;
    finished.push_back(static_cast<std::uint32_t>(job));
  }
};

SimulationResult simulate(const trace::Trace& trace, std::unique_ptr<Policy> policy, const SimulationSettings& settings,
                          std::vector<PolicySwitch> switches = {});

}  // namespace sl::sim
