#include "sim/trainings.h"

namespace sl::sim {
namespace {

// Converts a length on the GPUs asked for to one on `gpus`.
Figure on_gpus(const Job& job, int gpus, double seconds) {
  if (gpus == job.request.gpus) return {seconds, Confidence::high};
  if (gpus < 1) return Figure::unknown();
  return {seconds / job.request.speed_curve().speed_on(gpus, job.request.gpus), Confidence::high};
}

}  // namespace

Duration restart_cost(const trace::Trace& trace, std::size_t job, const Costs& costs) {
  const trace::TraceDetails* details = trace.details_of(trace.jobs[job]);
  if (details && details->model && details->model->restart_cost) return *details->model->restart_cost;
  if (details && details->profile && details->profile->restart_s)
    return Duration::seconds(*details->profile->restart_s);
  return costs.restart;
}

Duration suspend_cost(const Job& at, const Costs& costs) {
  return at.allocation.parts().size() == 1 ? costs.suspend.value_or(costs.stop) : costs.stop;
}

Duration resume_cost(const trace::Trace& trace, const Training& training, const Allocation& on, const Costs& costs) {
  const bool in_place = on.parts().size() == 1 && on.parts().front().server == training.stands_on;
  return in_place && costs.resume ? *costs.resume : restart_cost(trace, training.job, costs);
}

Figure KnownDurations::run_time_s(const Job& job, int gpus) const {
  return on_gpus(job, gpus, trace_.jobs[index_of(job.request.id)].duration.to_seconds());
}

Figure KnownDurations::remaining_s(const Job& job, int gpus, Instant now) const {
  const std::size_t index = index_of(job.request.id);
  const Training* training = trainings_.find(index);
  if (!training) return run_time_s(job, gpus);  // it has not started
  const Figure left = on_gpus(job, gpus, training->left_at(now).to_seconds());
  Duration owed = training->stands_on.valid() && costs_.resume ? *costs_.resume : restart_cost(trace_, index, costs_);
  if (training->runs()) owed = training->since > now ? training->since - now : Duration{0};
  return {left.value + owed.to_seconds(), left.confidence};
}

}  // namespace sl::sim
