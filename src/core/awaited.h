// Which jobs wait for the end of which others, and which for a time (Prerequisites). Only an index, so that nobody has to
// look at all waiting jobs: whether a job may start is asked of the line gate.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "model/job.h"

namespace sl {

class Awaited {
 public:
  void add(const JobRequest& request);  // of a job that is submitted or restored
  bool is_awaited(JobId job) const { return dependents_.contains(job); }
  // The jobs from `first` to before `end` that others wait for.
  std::vector<JobId> between(JobId first, JobId end) const;
  // The jobs that wait for this one, which has ended, by id: they are not named again.
  std::vector<JobId> take_dependents(JobId job);
  // The jobs whose time has come, by time.
  std::vector<JobId> take_due(Instant now);
  Instant next_due() const { return times_.empty() ? Instant::never() : times_.begin()->first; }

 private:
  std::map<JobId, std::set<JobId>> dependents_;  // by the job that they wait for
  std::set<std::pair<Instant, JobId>> times_;
};

}  // namespace sl
