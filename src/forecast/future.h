// One possible future: what the policy does with the present if each job runs for a certain time. Whoever can run a
// virtual world provides it (sim/continuation.h); the controller only declares that it wants one.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "forecast/present.h"

namespace sl::forecast {

inline constexpr double endless_s = std::numeric_limits<double>::infinity();

// GPUs of one server that a job holds for a while.
struct Hold {
  JobId job;
  ServerIndex server;
  GpuSet gpus;
  Instant from, to;  // to: never, if it holds them at the end of the future
  friend bool operator==(const Hold&, const Hold&) = default;
};

struct Future {
  struct Of {
    Instant start = Instant::never();   // of its next attempt, if it waits; never: not in this future
    Instant finish = Instant::never();  // likewise
    ServerIndex server;                 // where it starts; none: it does not
    int gpus = 0;                       // on how many
  };
  std::vector<Of> jobs;                     // as Present::jobs; of a group: its next start, and its end
  std::vector<std::vector<int>> held = {};  // GPUs that jobs hold, at each of FutureSettings::moments, on each server
  std::vector<Hold> holds = {};       // by time and job, if FutureSettings::notes_holds; of a shared GPU, one job's
  double gpu_s = 0;                   // GPU-seconds that jobs held from the present on
  int preemptions = 0;                // times that the policy interrupted a job
  int migrations = 0;                 // and moved one
  bool is_cut = false;                // `stop` ended it early
  std::optional<Error> failure = {};  // of the policy
};

struct FutureSettings {
  std::vector<double>
      left_s;  // as Present::jobs: time that each would still run on the GPUs it asked for, or endless_s
  // Of members of groups (struct Group) that come up in this future: of the n-th of them, of the group at this position of
  // Present::jobs. Empty: as left_s says of the group.
  std::function<double(std::size_t group, std::uint64_t nth)> left_s_of_member = {};
  Instant until = Instant::never();  // what has not ended by then has no end
  // The future is over when the job at this position has ended: of the others it says what has happened by then.
  std::optional<std::size_t> until_end_of = {};
  std::vector<Instant> moments = {};  // ascending; see Future::held
  bool notes_holds = false;
  std::uint64_t seed = 1;
  std::function<bool()> stop = {};  // asked now and then; empty: never
};

// Jobs that have no end run for ever. No jobs arrive, nothing fails.
using Continue = std::function<Future(const Present&, std::unique_ptr<Policy>, const FutureSettings&)>;

}  // namespace sl::forecast
