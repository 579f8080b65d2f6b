// The jobs that were submitted lately, as they were soon afterwards, whatever has become of them since. Used by the core's
// thread.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "controller/logic.h"

namespace sl::controller {

using JobCopy = std::shared_ptr<const Job>;

// Finds new jobs; one that has ended by the next look is missed.
class NewJobs {
 public:
  explicit NewJobs(const Logic& logic) : logic_(logic) {}
  void skip();                                  // those so far are not new
  std::vector<JobCopy> take(std::size_t most);  // since the last call, the oldest first; of more than that the latest

 private:
  const Logic& logic_;
  JobId newest_{0};
};

// Since the program started.
class RecentJobs {
 public:
  static constexpr std::size_t kept_most = 1'000;

  explicit RecentJobs(const Logic& logic) : new_(logic) { new_.skip(); }
  void look();
  std::vector<JobCopy> since(Instant from) const;

 private:
  NewJobs new_;
  std::deque<JobCopy> jobs_;  // oldest first
};

}  // namespace sl::controller
