#include "sim/trainings.h"

namespace sl::sim {
namespace {

// A length on the GPUs asked for, on `gpus`.
Figure on_gpus(const Job& job, int gpus, double seconds) {
  if (gpus == job.request.gpus) return {seconds, Confidence::high};
  const double speed = speed_on(job.request.model.get(), gpus) / speed_on(job.request.model.get(), job.request.gpus);
  return speed > 0 ? Figure{seconds / speed, Confidence::high} : Figure::unknown();
}

}  // namespace

Figure KnownDurations::run_time_s(const Job& job, int gpus) const {
  return on_gpus(job, gpus, trace_.jobs[index_of(job.request.id)].duration.to_seconds());
}

Figure KnownDurations::remaining_s(const Job& job, int gpus, Instant now) const {
  const Training* training = trainings_.find(index_of(job.request.id));
  if (!training) return run_time_s(job, gpus);  // it has not started
  const Figure left = on_gpus(job, gpus, training->left_at(now).to_seconds());
  const Duration still_coming_back = training->runs() && training->since > now ? training->since - now : Duration{0};
  return {left.value + still_coming_back.to_seconds(), left.confidence};
}

}  // namespace sl::sim
