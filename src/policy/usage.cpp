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

void Usage::forget_finished() {
  finished_.clear();
  finished_of_all_ = {};
}

void Usage::reset() {
  forget_finished();
  reader_.reset();
  ran_before_.clear();
}

void Usage::learn(const View& view) {
  reader_.read(
      view.history, [this] { forget_finished(); }, [this](const FinishedJob& job) { add(job); });
  now_ = view.now;
  current_.clear();
  of_all_ = at_view(finished_of_all_);
  users_ = finished_.size();
  for (const JobIndex job : view.active) add_current(view, job);
  for (const JobIndex job : ran_before_) add_current(view, job);
}

void Usage::add(const FinishedJob& job) {
  const double gpu_s = decayed(static_cast<double>(job.attained_gpu_us) * 1e-6, job.run);
  add(finished_[job.user], gpu_s, job.ended);
  add(finished_of_all_, gpu_s, job.ended);
}

void Usage::add(Sum& sum, double gpu_s, Instant at) const {
  if (sum.at.happened()) sum.gpu_s *= decay(at - sum.at);
  sum.gpu_s += gpu_s;
  sum.at = at;
}

void Usage::add_current(const View& view, JobIndex index) {
  const Job& job = view.job(index);
  const std::int64_t attained = job.attained_at(view.now);
  if (attained == 0) return;
  const double until_it_stopped = decayed(static_cast<double>(attained) * 1e-6, job.run_at(view.now));
  const double service = until_it_stopped * (job.is_waiting() ? decay(view.now - job.waiting_since) : 1.0);
  const auto [at, is_new] = current_.try_emplace(job.request.user, 0);
  if (is_new && !finished_.contains(job.request.user)) ++users_;
  at->second += service;
  of_all_ += service;
}

double Usage::of(UserIndex user) const {
  const auto finished = finished_.find(user);
  const auto current = current_.find(user);
  return (finished == finished_.end() ? 0 : at_view(finished->second)) +
         (current == current_.end() ? 0 : current->second);
}

}  // namespace sl
