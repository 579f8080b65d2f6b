#include "sim/metrics.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace sl::sim {
namespace {

// Nearest rank.
double percentile(const std::vector<double>& sorted, double fraction) {
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

// The mean completion time of shortest-remaining-work-first on one pool of `gpus`: optimal for it, and the pool can do
// whatever servers can, so no schedule has a lower mean.
double pooled_mean_jct(const Trace& trace, int gpus) {
  using Work = std::pair<double, double>;  // remaining GPU-seconds, submitted
  std::priority_queue<Work, std::vector<Work>, std::greater<>> waiting;
  double now = 0, sum = 0;
  std::size_t next = 0;
  while (next < trace.jobs.size() || !waiting.empty()) {
    if (waiting.empty()) now = std::max(now, trace.jobs[next].submitted.to_seconds());
    for (; next < trace.jobs.size() && trace.jobs[next].submitted.to_seconds() <= now; ++next) {
      waiting.emplace(trace.jobs[next].duration.to_seconds() * trace.jobs[next].gpus,
                      trace.jobs[next].submitted.to_seconds());
    }
    auto [work, submitted] = waiting.top();
    waiting.pop();
    const double end = now + work / gpus;
    const double arrival = next < trace.jobs.size() ? trace.jobs[next].submitted.to_seconds() : end;
    if (arrival < end) {
      waiting.emplace(work - (arrival - now) * gpus, submitted);
      now = arrival;
    } else {
      now = end;
      sum += now - submitted;
    }
  }
  return sum / static_cast<double>(trace.jobs.size());
}

}  // namespace

Metrics measure(const Trace& trace, const SimulationResult& result, const Shape& shape) {
  Metrics m;
  std::vector<double> jct;
  Instant last = trace.jobs.front().submitted;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const Outcome& outcome = result.outcomes[i];
    m.preemptions += outcome.preemptions;
    if (!outcome.finished.happened()) continue;
    jct.push_back((outcome.finished - trace.jobs[i].submitted).to_seconds());
    m.avg_jct_s += jct.back();
    m.avg_wait_s += (outcome.started - trace.jobs[i].submitted).to_seconds();
    last = std::max(last, outcome.finished);
  }
  m.jobs = static_cast<std::int64_t>(jct.size());
  if (jct.empty()) return m;
  std::sort(jct.begin(), jct.end());
  m.avg_jct_s /= static_cast<double>(jct.size());
  m.avg_wait_s /= static_cast<double>(jct.size());
  m.p50_jct_s = percentile(jct, 0.5), m.p95_jct_s = percentile(jct, 0.95), m.p99_jct_s = percentile(jct, 0.99);
  m.makespan_s = (last - trace.jobs.front().submitted).to_seconds();
  if (m.makespan_s > 0)
    m.gpu_allocation_pct = 100e-6 * static_cast<double>(result.gpu_us_allocated) / (m.makespan_s * shape.gpus());
  return m;
}

LowerBounds lower_bounds(const Trace& trace, const Shape& shape) {
  LowerBounds bounds;
  double work = 0, alone = 0;
  for (const TraceJob& job : trace.jobs) {
    work += job.duration.to_seconds() * job.gpus;
    alone += job.duration.to_seconds();
    bounds.makespan_s =
        std::max(bounds.makespan_s, (job.submitted + job.duration - trace.jobs.front().submitted).to_seconds());
  }
  bounds.makespan_s = std::max(bounds.makespan_s, work / shape.gpus());
  bounds.avg_jct_s = std::max(alone / static_cast<double>(trace.jobs.size()), pooled_mean_jct(trace, shape.gpus()));
  return bounds;
}

}  // namespace sl::sim
