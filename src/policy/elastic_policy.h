// The one mechanism of policies that give jobs more or fewer GPUs than they ask for (policies.md 0.3.8, 0.4, 3):
//
//   1 all jobs that may change, running and waiting, in order of rank, with least and most GPUs; a job that cannot be
//     interrupted, is on its way, or (re)started less than `resize_min_run_s` ago keeps what it has
//   2 the policy divides the GPUs among them: a count for each, 0 for none
//   3 counts become GPUs: running jobs shrink and grow where they are, waiting ones go where they fit best, with fewer
//     GPUs (not below their least) where they do not; what was taken from a job and turns out not to be needed goes
//     back
//   4 a job is not resized when less than `resize_min_rem_s` is left of it, nor grown when that saves less than it
//   costs
//     to restart
#pragma once

#include <vector>

#include "policy/queue_policy.h"
#include "policy/rank.h"
#include "policy/run_times.h"

namespace sl {

struct ElasticSettings {
  Duration resize_min_run = Duration::whole_seconds(120);
  Duration resize_min_rem = Duration::whole_seconds(120);
  Duration restart_cost = Duration::whole_seconds(30);  // where the job's own is unknown
  Duration default_estimate = Duration::whole_seconds(300);
};

// One job's part of the division.
struct Share {
  JobIndex job;
  RankKey key;
  int least = 1;
  int most = 1;
  int has = 0;   // 0: it waits
  int gpus = 0;  // what it shall have: 0, or least to most
  bool started = false;
};

// Speed-up by count, 1 GPU = 1; in proportion to GPUs where unknown.
double speedup_of(const Snapshot& snapshot, JobIndex job, int gpus);

// policies.md 3: in order, everybody the least (`strict`: up to the first who does not fit); then one more each in
// turn while that brings more than `min_gain`.
void elastic_fill(const Snapshot& snapshot, std::vector<Share>& shares, int gpus, bool strict = false,
                  double min_gain = 0);

class ElasticPolicy : public QueuePolicy<RankKey> {
 public:
  explicit ElasticPolicy(const ElasticSettings& settings)
      : run_times_(settings.default_estimate), settings_(settings) {}
  void attach(const Snapshot& snapshot) override;
  void decide(const Snapshot& snapshot, Plan& plan) override;

  static std::vector<ParameterInfo> parameters();
  static ElasticSettings settings(const Parameters& given);

 protected:
  virtual Rank rank_of(const Snapshot& snapshot, const Job& job) = 0;
  // Sets Share::gpus of each, in sum at most `gpus`. `shares` come in order of rank.
  virtual void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) = 0;
  // Whether ranks of waiting jobs change by anything but an edit.
  virtual bool ranks_change(const Snapshot& snapshot) const { return !snapshot.estimates.steady(); }
  // Whether a job the division gave nothing to may start when GPUs are left because others did not fit anywhere.
  virtual bool may_pass() const { return true; }
  // Before anything is decided.
  virtual void prepare(const Snapshot&, Plan&) {}
  virtual Instant wake_besides(const Snapshot&) { return Instant::never(); }

  RankKey key_of(const Snapshot& snapshot, const Job& job) override { return RankKey::of(rank_of(snapshot, job), job); }
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }

  RunTimes run_times_;

 private:
  bool may_change(const Snapshot& snapshot, const Job& job) const;
  int gather(const Snapshot& snapshot);  // into shares_; returns the GPUs there are for them
  void carry_out(const Snapshot& snapshot, Trial& trial, Plan& plan);
  void take_away(const Snapshot& snapshot, Trial& trial);
  void start(const Snapshot& snapshot, Trial& trial, Plan& plan);
  bool start(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan);
  void start_on_leftovers(const Snapshot& snapshot, Trial& trial, Plan& plan);
  void give_back_unneeded(const Snapshot& snapshot, Trial& trial);
  void grow(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan);
  std::optional<Allocation> room_to_grow(const Snapshot& snapshot, const Share& share, Trial& trial) const;
  bool worth_resizing(const Snapshot& snapshot, const Job& job, int gpus);
  void wake(const Snapshot& snapshot, Plan& plan);

  ElasticSettings settings_;
  std::vector<Share> shares_;
  std::vector<Allocation> kept_;  // by share: what a running job goes on with
};

}  // namespace sl
