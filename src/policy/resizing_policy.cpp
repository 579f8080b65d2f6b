#include "policy/resizing_policy.h"

#include <algorithm>

#include "policy/placer.h"

namespace sl {

Allocation first_of(const Allocation& gpus, int count) {
  Allocation result;
  for (const ServerGpus& part : gpus.parts()) {
    const int here = std::min(count, part.gpus.count());
    result.append(part.server, part.gpus.lowest(here));
    count -= here;
  }
  return result;
}

double speedup_of(const Snapshot& snapshot, JobIndex job, int gpus) {
  return snapshot.estimates.speed_curve(snapshot.job(job)).speed_on(gpus);
}

std::vector<ParameterInfo> ResizingPolicy::parameters() {
  return {
      {"resize_min_run_s",
       ParameterType::number,
       "s",
       "120",
       0,
       86400,
       {},
       "a job that (re)started less than this ago is not resized"},
      {"resize_min_rem_s",
       ParameterType::number,
       "s",
       "120",
       0,
       86400,
       {},
       "a job with less run time left than this is not resized"},
      {"restart_cost_s",
       ParameterType::number,
       "s",
       "30",
       0,
       86400,
       {},
       "cost of a resize for jobs that do not state it; growing must save more"},
      {"default_est_s",
       ParameterType::number,
       "s",
       "300",
       1,
       1e9,
       {},
       "run time assumed for a job without an estimate if nothing like it has finished"},
  };
}

ElasticSettings ResizingPolicy::settings(const Parameters& given) {
  return {Duration::seconds(given.number("resize_min_run_s")), Duration::seconds(given.number("resize_min_rem_s")),
          Duration::seconds(given.number("restart_cost_s")), Duration::seconds(given.number("default_est_s"))};
}

void ResizingPolicy::attach(const Snapshot& snapshot) {
  run_times_.reset();
  interruptible_in_.clear();
  QueuePolicy::attach(snapshot);
}

void ResizingPolicy::notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) {
  QueuePolicy::notice(snapshot, kind, job);
  if (interruptible_in_.contains(job)) interruptible_in_[job].reset();
}

bool ResizingPolicy::may_interrupt(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  if (job.state != JobState::running) return false;
  if (!interruptible_in_.contains(index)) interruptible_in_.resize(index.value + 1);
  std::optional<std::uint64_t>& known = interruptible_in_[index];
  if (known == snapshot.free.generation()) return true;
  const bool may = job.request.preemptible && job.request.capability == Capability::checkpoint &&
                   all_usable(snapshot, job.allocation) && may_stay_on(snapshot, job, job.allocation);
  if (may) known = snapshot.free.generation();
  return may;
}

Duration ResizingPolicy::time_left(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  return run_times_.remaining(snapshot, job, job.allocation.count());
}

double ResizingPolicy::speedup_on(const Snapshot& snapshot, JobIndex job, int gpus) {
  return speedup_of(snapshot, job, gpus);
}

std::string ResizingPolicy::standing(const View& view, JobIndex index) const {
  const Job& job = view.job(index);
  const JobRequest& request = job.request;
  const int has = job.allocation.count();
  const std::string range = std::to_string(request.gpus_min) + " to " + std::to_string(request.gpus_max) + " GPUs";
  const std::string size = !request.is_elastic() ? ""
                           : has == 0            ? range + "; "
                                                 : std::to_string(has) + " of " + range + "; ";
  return size + prospects(view, index, has == 0 ? request.gpus_min : has);
}

std::string ResizingPolicy::prospects(const View& view, JobIndex job, int gpus) const {
  return run_times_.standing(view, view.job(job), gpus);
}

bool ResizingPolicy::worth_resizing(const Snapshot& snapshot, JobIndex index, int gpus) {
  const Job& job = snapshot.job(index);
  const int has = job.allocation.count();
  const Duration left = time_left(snapshot, index);
  if (left < settings_.resize_min_rem) return false;
  if (gpus < has) return true;
  const JobModel* model = job.request.model.get();
  const Duration cost = model && model->restart_cost ? *model->restart_cost : settings_.restart_cost;
  const double speed_now = speedup_on(snapshot, index, has), speed_then = speedup_on(snapshot, index, gpus);
  return speed_then > speed_now && left.to_seconds() * (1 - speed_now / speed_then) >= cost.to_seconds();
}

void ResizingPolicy::wake(const Snapshot& snapshot, Plan& plan) {
  Instant at = wake_besides(snapshot);
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    const bool on_its_way = job.state != JobState::running;
    const Instant ripe = (on_its_way ? snapshot.now : job.last_start) + settings_.resize_min_run;
    if (job.request.capability != Capability::checkpoint || !job.request.preemptible || ripe <= snapshot.now) continue;
    if (!lines_.empty() || job.request.is_elastic()) at = std::min(at, ripe);
  }
  if (!at.is_never()) plan.wake_at(at);
}

}  // namespace sl
