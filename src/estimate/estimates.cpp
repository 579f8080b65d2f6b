#include "estimate/estimates.h"

#include <algorithm>

namespace sl {
namespace {

const std::vector<double>* table(const Job& job, std::vector<double> JobModel::*member) {
  if (!job.request.model) return nullptr;
  const std::vector<double>& values = job.request.model.get()->*member;
  return values.empty() ? nullptr : &values;
}

Figure at(const std::vector<double>& values, int gpus) {
  if (gpus < 1 || static_cast<std::size_t>(gpus) > values.size()) return Figure::unknown();
  return {values[static_cast<std::size_t>(gpus - 1)], Confidence::high};
}

}  // namespace

Figure RequestEstimates::speedup(const Job& job, int gpus) const {
  if (gpus <= 0) return {0, Confidence::high};
  if (gpus == 1) return {1, Confidence::high};
  if (const auto* speedups = table(job, &JobModel::speedup)) return at(*speedups, gpus);
  if (const auto* times = table(job, &JobModel::run_time_s)) {
    const Figure there = at(*times, gpus);
    if (there.known() && there.value > 0) return {times->front() / there.value, Confidence::high};
  }
  return Figure::unknown();
}

Figure RequestEstimates::run_time_s(const Job& job, int gpus) const {
  if (const auto* times = table(job, &JobModel::run_time_s)) return at(*times, gpus);
  const auto base = job.request.estimate ? job.request.estimate : job.request.time_limit;
  if (!base) return Figure::unknown();
  const Confidence confidence = job.request.estimate ? Confidence::medium : Confidence::low;
  if (gpus == job.request.gpus) return {base->to_seconds(), confidence};
  const Figure asked = speedup(job, job.request.gpus);
  const Figure given = speedup(job, gpus);
  if (!asked.known() || !given.known() || given.value <= 0) return Figure::unknown();
  return {base->to_seconds() * asked.value / given.value, Confidence::low};
}

// A job that outlives its estimate does not stay "about to finish" for ever: at least a tenth of what it ran is left
// (policies.md 4.1).
Figure RequestEstimates::remaining_s(const Job& job, int gpus, Instant now) const {
  const Figure whole = run_time_s(job, gpus);
  if (!whole.known()) return whole;
  const double ran = job.run_at(now).to_seconds();
  return {std::max(whole.value - ran, 0.1 * ran), whole.confidence};
}

}  // namespace sl
