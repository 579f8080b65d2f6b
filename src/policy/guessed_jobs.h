// Waiting jobs that are ranked by a guess of their run time, in groups with the same guess. When a job has ended, only the
// groups whose guess has changed are ranked anew: ranking thousands of jobs at every end would cost more than everything
// else.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <limits>
#include <vector>

#include "policy/policy.h"
#include "policy/run_times.h"

namespace sl {

class GuessedJobs {
 public:
  // As Policy::attach and notice are told.
  void attach(const View& view);
  void notice(const View& view, NoticeKind kind, JobIndex job);
  // The jobs whose guess is another one than when this was asked last; all of a group that was not there then.
  std::vector<JobIndex> changed(const View& view, RunTimes& run_times);

 private:
  struct Group {
    RunTimeHistory::Kind kind;
    double guess_s = std::numeric_limits<double>::quiet_NaN();  // when it was asked for last; not yet: equal to none
    std::vector<JobIndex> jobs;
  };
  struct Place {
    std::uint32_t group = none;
    std::uint32_t at = 0;  // in its jobs
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  void enter(const View& view, JobIndex job);
  void leave(JobIndex job);

  std::vector<Group> groups_;  // never forgotten: there are few kinds of jobs
  boost::unordered_flat_map<RunTimeHistory::Kind, std::uint32_t> group_of_;
  IndexedVector<JobIndex, Place> places_;
};

}  // namespace sl
