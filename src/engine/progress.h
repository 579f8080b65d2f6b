// Notices a policy that only interrupts: a job is stopped, moved or resized again and again, none of its work is done in
// between, and no job comes or goes. The clock may stand still meanwhile or not. Worlds report what happens here; the
// simulator ends such a run, which would never end by itself, and the controller replaces the policy.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace sl {

class Progress {
 public:
  // One job may be interrupted in vain `fruitless_most` times in a row; less work than `work_least` counts as none.
  explicit Progress(int fruitless_most = 1'000, Duration work_least = Duration{1'000})
      : fruitless_most_(fruitless_most), work_least_(work_least) {}

  // A job was submitted or has left, a server came or went: all interruptions until now may have been useful.
  void restart() { ++era_; }
  // A running job is interrupted while `left` of its work remains. Returns false once this is hopeless.
  bool interrupt(JobId job, Duration left) {
    Interrupted& known = jobs_[job.value];
    const bool fruitless = known.era == era_ && known.left - left < work_least_;
    known = {era_, left, fruitless ? known.fruitless + 1 : 0};
    return known.fruitless < fruitless_most_;
  }
  void forget(JobId job) {
    if (!jobs_.empty()) jobs_.erase(job.value);
  }
  // The jobs that were interrupted in vain at least half as often as one may be, by id.
  std::vector<JobId> stuck() const;
  int fruitless_most() const { return fruitless_most_; }

 private:
  struct Interrupted {
    std::uint64_t era = 0;
    Duration left;
    int fruitless = 0;  // in a row
  };
  boost::unordered_flat_map<std::int64_t, Interrupted> jobs_;
  std::uint64_t era_ = 1;
  int fruitless_most_;
  Duration work_least_;
};

}  // namespace sl
