// GPU time by user, halved every half-life (policies.md 12, fair share), computed from the finished jobs the core
// remembers and from the current ones, so that it survives a restart and a change of policy. A job's service counts as
// spread evenly over its run, which ends when the job ended or now.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <set>

#include "policy/history_reader.h"

namespace sl {

class Usage {
 public:
  explicit Usage(Duration half_life) : half_life_(half_life) {}

  // Reads what has finished and adds what the current jobs have had. Call at every decision, before the others.
  void learn(const View& view);
  // Decayed GPU-seconds at the time of that view.
  double of(UserIndex user) const;
  double of_all() const { return of_all_; }
  bool has_any(UserIndex user) const { return finished_.contains(user) || current_.contains(user); }
  std::size_t users() const { return users_; }  // who have any
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
  void forget_finished();
  void add(const FinishedJob& job);
  void add(Sum& sum, double gpu_s, Instant at) const;
  void add_current(const View& view, JobIndex index);
  double at_view(const Sum& sum) const { return sum.at.happened() ? sum.gpu_s * decay(now_ - sum.at) : 0; }
  double decay(Duration by) const;
  double decayed(double gpu_s, Duration run) const;

  Duration half_life_;
  boost::unordered_flat_map<UserIndex, Sum, std::hash<UserIndex>> finished_;
  Sum finished_of_all_;
  boost::unordered_flat_map<UserIndex, double, std::hash<UserIndex>>
      current_;  // of jobs that run, or have run and wait
  Instant now_;
  double of_all_ = 0;
  std::size_t users_ = 0;
  HistoryReader reader_;
  std::set<JobIndex> ran_before_;
};

}  // namespace sl
