// Tiresias, discretized 2D-LAS (policies.md 5.1): jobs that have had little GPU time go first, without knowing how long
// any job runs.
//
//   1 a job's queue is the number of thresholds its attained GPU-seconds have reached; lower queues go first
//   2 within a queue: earlier first start, then (submission, id); never-started jobs last, so that an old waiting job
//     does not preempt one that runs
//   3 a waiting job that has waited `promote_knob` times as long as it has run goes back to the first queue, and its
//     service starts again from zero
//   4 for a job that may span servers: if its skew, the largest tensor's fraction of the model, exceeds `skew_limit`,
//     it runs on the fewest servers that could hold it, or waits; with less skew it takes fragments, since it loses
//     little by them; with unknown skew it takes as few servers as are free now (policies.md 5.3)
//   5 jobs run in that order, preempting those behind them (policy/preemptive_policy.h)
//
// Attained service counts over the whole life (since the last promotion), not since the last start; otherwise a job
// that is preempted often would never fall. Wakes up when a running job reaches a threshold and when a waiting one is
// due for promotion. Source: Gu et al., NSDI 2019, which publishes no thresholds: the default is Voda's, the released
// simulator has 3250 and 7200.
#pragma once

#include <memory>
#include <vector>

#include "policy/policy.h"
#include "policy/spread.h"

namespace sl {

struct TiresiasSettings {
  std::vector<std::int64_t> thresholds_gpu_us;  // ascending
  double promote_knob = 0;                      // 0: no promotion
  double skew_limit = 1;
};

// policies.md 5.3. `skew_limit`: see above.
Spread spread_by_skew(const JobRequest& request, double skew_limit);
Need skew_or_few_servers();

// The queues of 2D-LAS, for the policies that build on them.
class TiresiasQueues {
 public:
  explicit TiresiasQueues(const TiresiasSettings& settings) : settings_(settings) {}
  static std::int64_t service(const Job& job, Instant now) {
    return job.attained_at(now) - job.attained_at_promotion_gpu_us;
  }
  int queue(const Job& job, Instant now) const { return queue_of(service(job, now)); }
  int queue_of(std::int64_t service_gpu_us) const;
  // "queue 2 of 3, 1200 GPU-seconds of service".
  std::string standing(const Job& job, Instant now) const;
  // When a job that runs on `gpus` GPUs from now on will fall to the next queue.
  Instant falls_at(const Job& job, Instant now, int gpus) const;
  bool promotes() const { return settings_.promote_knob > 0; }
  // When a waiting job is due for promotion; never() if it is not to be promoted.
  Instant promotion_at(const Job& job, Instant now) const;

  // Those of the queues; tiresias and tiresias_gittins add the one for placement.
  static std::vector<ParameterInfo> parameters();
  static ParameterInfo skew_parameter();
  static TiresiasSettings settings(const Parameters& given);

 private:
  TiresiasSettings settings_;
};

PolicyEntry tiresias_entry();

}  // namespace sl
