// Tiresias, discretized 2D-LAS (policies.md 5.1): jobs that have had little GPU time go first, without knowing how long
// anybody runs.
//
//   1 a job's queue is the number of thresholds its attained GPU-seconds have reached; lower queues go first
//   2 within a queue: earlier first start, then (submission, id); never-started jobs last, so that an old waiting job
//     does not preempt one that runs
//   3 a waiting job that has waited `promote_knob` times as long as it has run goes back to the first queue, and its
//     service counts anew from there
//   4 jobs run in that order, preempting those behind them (policy/preemptive_policy.h)
//
// Attained service counts over the whole life (since the last promotion), not since the last start, else a job that is
// preempted often would never fall. Wakes up when a running job reaches a threshold and when a waiting one is due for
// promotion. Source: Gu et al., NSDI 2019, thresholds as in Voda.
#pragma once

#include <memory>
#include <vector>

#include "policy/policy.h"

namespace sl {

struct TiresiasSettings {
  std::vector<std::int64_t> thresholds_gpu_us;  // ascending
  double promote_knob = 0;                      // 0: no promotion
};

// The queues of 2D-LAS, for the policies that build on them.
class TiresiasQueues {
 public:
  explicit TiresiasQueues(const TiresiasSettings& settings) : settings_(settings) {}
  static std::int64_t service(const Job& job, Instant now) {
    return job.attained_at(now) - job.attained_at_promotion_gpu_us;
  }
  int queue(const Job& job, Instant now) const;
  // When a job that runs on `gpus` GPUs from now on falls to the next queue.
  Instant falls_at(const Job& job, Instant now, int gpus) const;
  // When a waiting job is due for promotion; never() when it is not to be promoted.
  Instant promotion_at(const Job& job, Instant now) const;

  static std::vector<ParameterInfo> parameters();
  static TiresiasSettings settings(const Parameters& given);

 private:
  TiresiasSettings settings_;
};

PolicyEntry tiresias_entry();

}  // namespace sl
