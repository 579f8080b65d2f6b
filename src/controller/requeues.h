// Jobs that ask to be started again (exit code 75). One that asks right after its start would only keep its GPUs busy
// with starts: it waits longer each time, and finally fails. And jobs that failed and want to wait before they are tried
// again.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "wire/job_spec.h"

namespace sl::controller {

class Requeues {
 public:
  static constexpr int quick_max = 10;                                // quick ends in a row
  static constexpr Duration quick = Duration::whole_seconds(60);      // an attempt shorter than this counts as quick
  static constexpr Duration wait_first = Duration::whole_seconds(1);  // doubles from end to end
  static constexpr Duration wait_max = Duration::whole_seconds(60);

  // How long a job waits before it is tried again, after so many failures.
  static Duration wait_before_retry(const wire::RetrySpec& retry, int failures);
  // An attempt that ran for that long has asked to start again. Returns until when the job waits (`now`: not at all);
  // empty: it has asked too often.
  std::optional<Instant> ask(JobId job, Duration ran, Instant now);
  // The job is held until then.
  void hold(JobId job, Instant until) { jobs_[job].until = until; }
  // After a restart: so many quick ends were on record. `held_since`: when it was last made to wait, if it waits; without
  // quick ends, before a retry.
  void restore(JobId job, int quick_ends, std::optional<Instant> held_since, Duration before_retry);
  void forget(JobId job) { jobs_.erase(job); }
  Instant next_due() const;
  // Held jobs whose time has come.
  std::vector<JobId> take_due(Instant now);
  int quick_ends(JobId job) const;
  // Until when the job is held; never: it is not.
  Instant until(JobId job) const;

 private:
  static Duration wait_after(int quick_ends);
  struct Entry {
    int quick_ends = 0;
    Instant until = Instant::never();  // never: it is not held
  };
  std::map<JobId, Entry> jobs_;
};

}  // namespace sl::controller
