#include "policy/usage.h"

#include <cmath>

namespace sl {

double Usage::decay(Duration by) const { return std::exp2(-by.to_seconds() / half_life_.to_seconds()); }

// Service spread evenly over `run`, as it counts at the end of the run: the integral of its rate times the decay.
double Usage::decayed(double gpu_s, Duration run) const {
  const double lives = run.to_seconds() / half_life_.to_seconds();
  if (lives < 1e-6) return gpu_s;
  return gpu_s * (1 - std::exp2(-lives)) / (lives * std::log(2.0));
}

void Usage::reset() {
  finished_.clear();
  reader_.reset();
  ran_before_.clear();
}

void Usage::learn(const View& view) {
  reader_.read(
      view.history, [this] { finished_.clear(); }, [this](const FinishedJob& job) { add(job); });
}

void Usage::add(const FinishedJob& job) {
  Sum& sum = finished_[job.user];
  if (sum.at.happened()) sum.gpu_s *= decay(job.ended - sum.at);
  sum.gpu_s += decayed(static_cast<double>(job.attained_gpu_us) * 1e-6, job.run);
  sum.at = job.ended;
}

std::map<UserIndex, double> Usage::by_user(const View& view) const {
  std::map<UserIndex, double> usage;
  for (const auto& [user, sum] : finished_) usage[user] = sum.gpu_s * decay(view.now - sum.at);
  const auto add = [&](JobIndex index) {
    const Job& job = view.job(index);
    const std::int64_t attained = job.attained_at(view.now);
    if (attained == 0) return;
    const double service = decayed(static_cast<double>(attained) * 1e-6, job.run_at(view.now));
    usage[job.request.user] += service * (job.is_waiting() ? decay(view.now - job.waiting_since) : 1.0);
  };
  for (const JobIndex job : view.active) add(job);
  if (ran_before_.empty()) return usage;
  for (const JobIndex job : view.waiting) add(job);
  return usage;
}

}  // namespace sl
