#include "controller/requeues.h"

#include <algorithm>

namespace sl::controller {

std::optional<Instant> Requeues::ask(JobId job, Duration ran, Instant now) {
  if (ran >= quick) return forget(job), now;
  Entry& entry = jobs_[job];
  if (++entry.quick_ends > quick_max) return forget(job), std::nullopt;
  return now + wait_after(entry.quick_ends);
}

Duration Requeues::wait_after(int quick_ends) {
  Duration wait = wait_first;
  for (int i = 1; i < quick_ends; ++i) wait = std::min(wait * 2, wait_max);
  return wait;
}

Duration Requeues::wait_before_retry(const wire::RetrySpec& retry, int failures) {
  constexpr Duration longest = Duration::whole_seconds(86'400);
  Duration wait = Duration::seconds(retry.backoff_s);
  for (int i = 1; i < failures && wait < longest; ++i) wait = wait * 2;
  return std::min(wait, longest);
}

void Requeues::restore(JobId job, int quick_ends, std::optional<Instant> held_since, Duration before_retry) {
  if (quick_ends == 0 && !held_since) return;
  const Duration wait = quick_ends > 0 ? wait_after(quick_ends) : before_retry;
  jobs_[job] = {quick_ends, held_since ? *held_since + wait : Instant::never()};
}

Instant Requeues::next_due() const {
  Instant due = Instant::never();
  for (const auto& [job, entry] : jobs_) due = std::min(due, entry.until);
  return due;
}

std::vector<JobId> Requeues::take_due(Instant now) {
  std::vector<JobId> due;
  for (auto& [job, entry] : jobs_) {
    if (now < entry.until) continue;
    entry.until = Instant::never();
    due.push_back(job);
  }
  return due;
}

Instant Requeues::until(JobId job) const {
  const auto at = jobs_.find(job);
  return at == jobs_.end() ? Instant::never() : at->second.until;
}

int Requeues::quick_ends(JobId job) const {
  const auto at = jobs_.find(job);
  return at == jobs_.end() ? 0 : at->second.quick_ends;
}

}  // namespace sl::controller
