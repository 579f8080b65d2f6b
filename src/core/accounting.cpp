#include "core/accounting.h"

#include <algorithm>

namespace sl {
namespace {

// How long its run would have taken on one GPU instead of those it held on average.
double serial_s(const Job& job, const SpeedCurve& curve) {
  if (job.run.us <= 0) return 0;
  const auto held = static_cast<int>((job.attained_gpu_us + job.run.us / 2) / job.run.us);
  return job.run.to_seconds() * curve.speed_on(std::max(1, held));
}

}  // namespace

void accrue_by_gpu_type(Job& job, const ServerTable& servers, Instant now) {
  if (!job.is_accruing() || !job.request.needs_gpus()) return;
  if (!job.run_by_gpu_type) job.run_by_gpu_type = std::make_unique<std::vector<GpuTypeTime>>();
  std::vector<GpuTypeTime>& times = *job.run_by_gpu_type;
  const Duration passed = now - job.accounted;
  for (const ServerGpus& part : job.allocation.parts()) {
    const GpuTypeIndex type = servers[part.server].description.gpu_type;
    auto time = std::find_if(times.begin(), times.end(), [&](const GpuTypeTime& t) { return t.gpu_type == type; });
    if (time == times.end()) time = times.insert(time, {type, {}});
    time->run = time->run + Duration{passed.us * part.gpus.count() / job.allocation.count()};
  }
}

void TimeLimits::set(const Job& job, Instant now) {
  if (job.request.time_limit)
    limits_.push({now + (*job.request.time_limit - job.run_at(now)), job.request.id, job.attempt});
}

JobIndex TimeLimits::pop_overdue(Jobs& jobs, Instant now) {
  while (!limits_.empty() && limits_.top().at <= now) {
    const Limit limit = limits_.top();
    limits_.pop();
    JobIndex index;
    const Job* job = jobs.find_attempt(limit.job, limit.attempt, &index);
    if (!job || job->state != JobState::running || !job->request.time_limit) continue;
    if (*job->request.time_limit <= job->run_at(now)) return index;
    set(*job, now);
  }
  return JobIndex::none();
}

void History::add(const Job& job, bool succeeded, const SpeedCurve& curve, Instant now) {
  if (max_ == 0 || !job.request.needs_gpus()) return;
  if (jobs_.size() >= max_)
    jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(jobs_.size() / 2 + 1));
  jobs_.push_back({.job = job.request.id,
                   .user = job.request.user,
                   .family = job.request.family,
                   .gpus = job.request.gpus,
                   .succeeded = succeeded,
                   .run = job.run,
                   .attained_gpu_us = job.attained_gpu_us,
                   .ended = now,
                   .serial_s = serial_s(job, curve)});
}

}  // namespace sl
