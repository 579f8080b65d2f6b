// A set of jobs that is emptied in a step, for decisions that mark the jobs they have seen.
#pragma once

#include <cstdint>

#include "model/job.h"

namespace sl {

class JobSet {
 public:
  // Whether it was not there.
  bool insert(JobIndex job) {
    if (contains(job)) return false;
    if (!inserted_in_.contains(job)) inserted_in_.resize(job.value + 1);
    inserted_in_[job] = round_;
    return true;
  }
  bool contains(JobIndex job) const { return inserted_in_.contains(job) && inserted_in_[job] == round_; }
  void clear() { ++round_; }

 private:
  IndexedVector<JobIndex, std::uint64_t> inserted_in_;
  std::uint64_t round_ = 1;
};

}  // namespace sl
