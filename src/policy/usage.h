// GPU time by user, halved every half-life (policies.md 12, fair share), computed from the finished jobs the core
// remembers and from the current ones, so that it survives a restart and a change of policy. A job's service counts as
// spread evenly over its run, which ends when the job ended or now.
#pragma once

#include <map>
#include <set>

#include "policy/history_reader.h"

namespace sl {

class Usage {
 public:
  explicit Usage(Duration half_life) : half_life_(half_life) {}

  // Reads what has finished. Call before by_user() at every decision.
  void learn(const View& view);
  // Decayed GPU-seconds of every user who has any, at the time of the view.
  std::map<UserIndex, double> by_user(const View& view) const;
  void reset();

  // Waiting jobs that have run before count too. Which do is kept here, because hardly any do.
  void enters(const View& view, JobIndex job) {
    if (view.job(job).attained_gpu_us > 0) ran_before_.insert(job);
  }
  void leaves(JobIndex job) { ran_before_.erase(job); }

 private:
  struct Sum {
    double gpu_s = 0;
    Instant at;
  };
  void add(const FinishedJob& job);
  double decay(Duration by) const;
  double decayed(double gpu_s, Duration run) const;

  Duration half_life_;
  std::map<UserIndex, Sum> finished_;
  HistoryReader reader_;
  std::set<JobIndex> ran_before_;
};

}  // namespace sl
