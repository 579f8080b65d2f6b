// The numbers of jobs, in ascending order. A database restored from a backup does not know all numbers that were given
// out; agents remember the highest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "model/ids.h"

namespace sl::controller {

// The setting that keeps numbers which no row of a job tells of from being given out again: those that only agents know,
// and those of members that have not come up.
inline constexpr const char* last_job_key = "last_job";

class JobNumbers {
 public:
  void restore(std::int64_t next) { next_ = next, last_durable_ = next - 1; }
  // The first of so many numbers in a row.
  JobId take(std::int64_t count = 1) { return JobId(std::exchange(next_, next_ + count)); }
  std::int64_t next() const { return next_; }
  // Numbers up to `last` have been given out before. Returns whether this was unknown.
  bool skip(std::int64_t last) {
    if (last < next_ || last > next_ + skipped_most) return false;
    restore(last + 1);
    return true;
  }
  // The highest number of a job that is durably in the database, as agents are told.
  std::int64_t last_durable() const { return last_durable_; }
  void on_durable(JobId job) { last_durable_ = std::max(last_durable_, job.value); }

 private:
  static constexpr std::int64_t skipped_most = 10'000'000;  // more than a backup can lack: it was misread, or is a lie
  std::int64_t next_ = 1, last_durable_ = 0;
};

}  // namespace sl::controller
