// What the controller knows of jobs beside scheduling: what they run, where they ran, how they ended. One entry a job;
// unfinished jobs and the latest finished ones are in memory, so that reads never wait for a disk.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "core/core.h"
#include "store/store.h"
#include "wire/job_spec.h"

namespace sl::controller {

struct JobEntry {
  store::JobRow row;     // as it stands, and as it is written
  std::int64_t pid = 0;  // of the present attempt, on its server
  StopReason stopping = StopReason::none;
  Refusal refused = Refusal::none;  // the last decision about it that was, in its present state
  std::string progress_unit;
  std::optional<double> loss, accuracy;  // last reported
};

class JobBook {
 public:
  explicit JobBook(std::size_t finished_max = 20'000) : finished_max_(finished_max) {}

  JobEntry& add(store::JobRow row);
  JobEntry* find(JobId job);
  const JobEntry* find(JobId job) const;
  void forget(JobId job) { entries_.erase(job); }
  // The job has ended: the oldest finished ones make room.
  void mark_finished(JobId job);
  // Newest first.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) visit(at->second);
  }
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<JobId, JobEntry> entries_;
  std::deque<JobId> finished_;
  std::size_t finished_max_;
};

// The request the core schedules by, from the normalised submission.
JobRequest make_request(const wire::JobSpec& spec, JobId id, Instant submitted, Core& core);

// Brings the row up to what the core says of the job.
void copy_state(const Core& core, const Job& job, store::JobRow& row);

// The unfinished job as the core knew it when the row was written. The server of a job that holds GPUs must be known.
Result<RestoredJob> restore_job(const store::JobRow& row, Core& core);

}  // namespace sl::controller
