#include "estimate/estimates.h"

#include <algorithm>
#include <cmath>

namespace sl {
namespace {

// How long the job would have run on the GPUs it asks for to get as far as it is. For the GPUs it has had so far, their
// mean counts.
double run_as_asked_s(const Job& job, const SpeedCurve& curve, Instant now) {
  const double ran_s = job.run_at(now).to_seconds();
  if (!job.request.is_elastic() || ran_s <= 0) return ran_s;
  const double gpus_mean = static_cast<double>(job.attained_at(now)) * 1e-6 / ran_s;
  return ran_s * curve.speed_on(static_cast<int>(std::lround(gpus_mean)), job.request.gpus);
}

}  // namespace

double remaining_s(const Job& job, const SpeedCurve& curve, double whole_s, int gpus, Instant now) {
  const double ran_s = run_as_asked_s(job, curve, now);
  return std::max(whole_s - ran_s, 0.1 * ran_s) / curve.speed_on(gpus, job.request.gpus);
}

Figure RequestEstimates::run_time_s(const Job& job, int gpus) const {
  const JobRequest& request = job.request;
  const auto base = request.estimate ? request.estimate : request.time_limit;
  if (!base || gpus < 1) return Figure::unknown();
  const bool is_told = request.estimate && gpus == request.gpus;
  const Confidence confidence = is_told ? Confidence::medium : Confidence::low;
  return {base->to_seconds() / request.speed_curve().speed_on(gpus, request.gpus), confidence};
}

Figure RequestEstimates::remaining_s(const Job& job, int gpus, Instant now) const {
  const Figure whole = run_time_s(job, job.request.gpus);
  if (!whole.known() || gpus < 1) return Figure::unknown();
  return {sl::remaining_s(job, job.request.speed_curve(), whole.value, gpus, now), whole.confidence};
}

}  // namespace sl
