#include "policy/guessed_jobs.h"

namespace sl {

void GuessedJobs::attach(const View& view) {
  groups_.clear();
  group_of_.clear();
  places_.clear();
  for (const JobIndex job : view.waiting) enter(view, job);
}

void GuessedJobs::notice(const View& view, NoticeKind kind, JobIndex job) {
  if (kind == NoticeKind::waiting) enter(view, job);
  if (kind == NoticeKind::active || kind == NoticeKind::ended) leave(job);
}

void GuessedJobs::enter(const View& view, JobIndex index) {
  leave(index);
  const Job& job = view.job(index);
  // One whose run time is known is of no concern here.
  if (view.estimates.remaining_s(job, job.request.gpus, view.now).known()) return;
  const RunTimeHistory::Kind kind = RunTimes::kind_of(job);
  const auto [found, is_new] = group_of_.try_emplace(kind, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({.kind = kind, .jobs = {}});
  Group& group = groups_[found->second];
  if (!places_.contains(index)) places_.resize(index.value + 1);
  places_[index] = {found->second, static_cast<std::uint32_t>(group.jobs.size())};
  group.jobs.push_back(index);
}

void GuessedJobs::leave(JobIndex index) {
  if (!places_.contains(index) || places_[index].group == none) return;
  const Place place = std::exchange(places_[index], {});
  std::vector<JobIndex>& jobs = groups_[place.group].jobs;
  const JobIndex last = jobs.back();
  jobs.pop_back();
  if (last == index) return;
  jobs[place.at] = last;
  places_[last].at = place.at;
}

std::vector<JobIndex> GuessedJobs::changed(const View& view, RunTimes& run_times) {
  std::vector<JobIndex> jobs;
  for (Group& group : groups_) {
    if (group.jobs.empty()) continue;
    const double guess_s = run_times.guess_s(view, group.kind);
    if (std::exchange(group.guess_s, guess_s) != guess_s) jobs.insert(jobs.end(), group.jobs.begin(), group.jobs.end());
  }
  return jobs;
}

}  // namespace sl
