// What would have become of the jobs of the last hours under another policy: a shadow. It follows what happens from
// outside (jobs come, are cancelled, turn out to be of some length) and decides nothing.
//
// A window begins with a copy of the present. At any later time it is continued twice from there in virtual time, under the
// policy in force and under the shadow, with the same jobs at the times when they were submitted. A job that has ended has
// its true length; of the others a length is drawn in each future. So both sides are simulated, know the same and
// are compared job by job; what a simulation gets wrong is wrong on both.
//
// Left out: jobs that were cancelled before they ran, held ones, and those of which nothing is known. Members of arrays that
// come up in the window draw their lengths. A window does not know servers that come and go; whoever leads it begins
// another one then.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "forecast/what_if.h"

namespace sl::forecast {

class ShadowWindow {
 public:

  explicit ShadowWindow(const Present& base);

  // A job that was submitted, as it was soon afterwards. Members of arrays that the window knows are ignored.
  void submitted(const Job& job);
  // It has ended after running for so long, as if on the GPUs that it asked for; 0: it never ran.
  void ended(JobId job, double run_s) { ended_[job] = run_s; }

  Instant since() const { return base_.now; }
  std::size_t jobs() const { return base_.jobs.size(); }

  // The window as a present that can be continued: its jobs come when they were submitted. `now`: the state of the jobs that
  // have not ended, with `facts` as now.jobs.
  struct Replay {
    Present present;
    std::vector<Lengths::Prospect> prospects;
  };
  Replay replay(const Present& now, const std::vector<JobFacts>& facts, const Lengths& lengths) const;

 private:
  Lengths::Prospect prospect_of(const Job& job, const Present& now, const std::vector<JobFacts>& facts,
                                const Lengths& lengths) const;
  Present base_;  // and the jobs that came since
  std::map<JobId, double> ended_;
};

// GPUs that jobs may use, by server; -1: none is up there. A window ends when it changes.
std::vector<int> usable_gpus(const ServerTable& servers);

// By how much the policy in force does worse than the shadow.
struct Regret {
  Instant at, since;  // of the question; of the window
  std::size_t jobs = 0, draws = 0;
  double in_force_s = 0, shadow_s = 0;      // mean time from the window's beginning, or the job's arrival, to its end
  double mean_s = 0, p10_s = 0, p90_s = 0;  // of the difference, over the futures; above 0: the shadow does better
};
// `trials`: of the policy in force and of the shadow, in the same futures. Nothing: one failed, or no job counts.
std::optional<Regret> regret_of(const std::vector<Trial>& trials, Instant at, Instant since);

}  // namespace sl::forecast
