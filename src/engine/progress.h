// Notices a policy that only interrupts: a job is stopped, moved or resized again and again, none of its work is done in
// between, and no job comes or goes. The clock may stand still meanwhile or not. Worlds report what happens here and end
// such a run (sim/world.cpp); it would never end by itself.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace sl {

class Progress {
 public:
  static constexpr int fruitless_most = 1'000;             // interruptions of one job
  static constexpr Duration work_least = Duration{1'000};  // less than this counts as none

  // A job was submitted or has left, a server came or went: all interruptions until now may have been useful.
  void restart() { ++era_; }
  // A running job is interrupted while `left` of its work remains. Returns false once this is hopeless.
  bool interrupt(JobId job, Duration left) {
    Interrupted& known = jobs_[job.value];
    const bool fruitless = known.era == era_ && known.left - left < work_least;
    known = {era_, left, fruitless ? known.fruitless + 1 : 0};
    return known.fruitless < fruitless_most;
  }
  void forget(JobId job) {
    if (!jobs_.empty()) jobs_.erase(job.value);
  }
  // The jobs that were interrupted in vain at least half as often as one may be, by id.
  std::vector<JobId> stuck() const;

 private:
  struct Interrupted {
    std::uint64_t era = 0;
    Duration left;
    int fruitless = 0;  // in a row
  };
  boost::unordered_flat_map<std::int64_t, Interrupted> jobs_;
  std::uint64_t era_ = 1;
};

}  // namespace sl
