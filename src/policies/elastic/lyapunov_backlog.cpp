#include "policies/elastic/lyapunov_backlog.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sl {

void ExactSeconds::change(double seconds, int sign) {
  constexpr double longest_s = 1e12;
  const double bounded = seconds > 0 ? std::min(seconds, longest_s) : 0, whole = std::floor(bounded);
  whole_ += sign * static_cast<std::int64_t>(whole);
  rest_us_ += sign * std::llround((bounded - whole) * 1e6);
}

// Relative to its length, the most that the penalty can take from the worth of a start.
double LyapunovBacklog::penalty_of(const LyapunovJob& figures) const {
  const auto [least, most] = std::minmax_element(figures.time.begin(), figures.time.end());
  if (figures.length <= 0) return std::numeric_limits<double>::infinity();
  return std::max(0.0, absolute_ ? *most : *most - *least) / figures.length;
}

void LyapunovBacklog::insert(JobIndex index, const Job& job, std::uint32_t shape, const LyapunovJob& figures) {
  erase(index);
  if (!kept_.contains(index)) kept_.resize(index.value + 1);
  const int least = figures.least, most = least + static_cast<int>(figures.time.size()) - 1;
  const auto [at, is_new] = known_groups_.try_emplace({shape, least, most}, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({shape, least, most});
  const JobRequest& request = job.request;
  kept_[index] = {figures, job.waiting_since, request.submitted, request.id, at->second, 0, true};
  groups_[at->second].longest_first.insert(index, {-figures.length, request.submitted, request.id});
  groups_[at->second].first_come_first.insert(index, {job.waiting_since, request.submitted, request.id});
  if (const double penalty = penalty_of(figures); penalty > 0) penalties_.insert(index, {-penalty, request.id});
  lengths_.add(figures.length);
  since_us_ += static_cast<std::uint64_t>(job.waiting_since.us);
  arrived_.push_back(index);
  ++size_;
}

void LyapunovBacklog::erase(JobIndex index) {
  if (!contains(index)) return;
  Kept& kept = kept_[index];
  groups_[kept.group].longest_first.erase(index, {-kept.figures.length, kept.submitted, kept.id});
  groups_[kept.group].first_come_first.erase(index, {kept.since, kept.submitted, kept.id});
  if (const double penalty = penalty_of(kept.figures); penalty > 0) penalties_.erase(index, {-penalty, kept.id});
  lengths_.remove(kept.figures.length);
  since_us_ -= static_cast<std::uint64_t>(kept.since.us);
  kept.waits = false;
  --size_;
}

double LyapunovBacklog::waited_s(Instant slot) {
  std::erase_if(arrived_, [&](JobIndex job) { return !contains(job) || kept_[job].since <= slot; });
  std::sort(arrived_.begin(), arrived_.end());  // a place may have been taken twice
  arrived_.erase(std::unique(arrived_.begin(), arrived_.end()), arrived_.end());
  std::uint64_t waited_us = size_ * static_cast<std::uint64_t>(slot.us) - since_us_;
  for (const JobIndex job : arrived_) waited_us += static_cast<std::uint64_t>(kept_[job].since.us - slot.us);
  return Duration{static_cast<std::int64_t>(waited_us)}.to_seconds();
}

}  // namespace sl
