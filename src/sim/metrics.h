// The figures of a simulation by their definitions, and what no schedule could beat.
//
//   wait = first start - submit; JCT = finish - submit; makespan = last finish - first submit
//   GPU allocation = integral of allocated GPUs / (GPUs * makespan)
#pragma once

#include "sim/world.h"

namespace sl::sim {

struct Metrics {
  std::int64_t jobs = 0;
  double avg_wait_s = 0;
  double avg_jct_s = 0, p50_jct_s = 0, p95_jct_s = 0, p99_jct_s = 0;
  double makespan_s = 0;
  double gpu_allocation_pct = 0;
  std::int64_t preemptions = 0;
};
Metrics measure(const Trace& trace, const SimulationResult& result, const Shape& shape);

struct LowerBounds {
  double makespan_s =
      0;  // no schedule ends before the last possible end of any job, nor does more work than the GPUs can
  double avg_jct_s =
      0;  // all GPUs as one pool that any job may use whole, shortest remaining work first; or alone at once
};
LowerBounds lower_bounds(const Trace& trace, const Shape& shape);

}  // namespace sl::sim
