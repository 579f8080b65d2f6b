#include "controller/recent_jobs.h"

#include <algorithm>

#include "forecast/present.h"

namespace sl::controller {

void NewJobs::skip() {
  const JobEntry* newest = logic_.book().newest_below(JobId(INT64_MAX));
  if (newest) newest_ = JobId(newest->row.id);
}

std::vector<JobCopy> NewJobs::take(std::size_t most) {
  std::vector<JobCopy> jobs;
  JobId below(INT64_MAX);
  const JobId seen = newest_;
  for (const JobEntry* entry;
       jobs.size() < most && (entry = logic_.book().newest_below(below)) && JobId(entry->row.id) > seen;) {
    below = JobId(entry->row.id);
    newest_ = std::max(newest_, below);
    const JobIndex index = logic_.core().find(below);
    if (index.valid()) jobs.push_back(std::make_shared<const Job>(forecast::copy_of(logic_.core().job(index))));
  }
  std::reverse(jobs.begin(), jobs.end());
  return jobs;
}

void RecentJobs::look() {
  for (JobCopy& job : new_.take(kept_most)) jobs_.push_back(std::move(job));
  while (jobs_.size() > kept_most) jobs_.pop_front();
}

std::vector<JobCopy> RecentJobs::since(Instant from) const {
  std::vector<JobCopy> jobs;
  for (const JobCopy& job : jobs_) {
    if (job->request.submitted > from) jobs.push_back(job);
  }
  return jobs;
}

}  // namespace sl::controller
