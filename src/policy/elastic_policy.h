// The shared mechanism of policies that give jobs more or fewer GPUs than they ask for (policies.md 0.3.8, 0.4, 3):
//
//   1 all jobs that may change, running and waiting, in order of rank, each with its minimum and maximum of GPUs; a job
//     that cannot be interrupted, is starting or stopping, or (re)started less than `resize_min_run_s` ago keeps what
//     it has
//   2 the policy divides the GPUs among them: a count for each, 0 for none; a count that the job may not have
//     (model/gpu_counts.h) becomes the next lower one that it may
//   3 counts become GPUs: running jobs shrink and grow where they are; waiting jobs go where they fit best, with fewer
//     GPUs (but at least their minimum) if the count does not fit; GPUs taken from a job that turn out not to be needed
//     go back to it
//   4 a job is not resized if that is not worth its cost (policy/resizing_policy.h)
#pragma once

#include <vector>

#include "policy/resizing_policy.h"

namespace sl {

// One job's part of the division.
struct Share {
  JobIndex job;
  RankKey key;
  int least = 1;
  int most = 1;
  int has = 0;   // 0: it waits
  int gpus = 0;  // its part: 0, or least to most
  bool started = false;
};

// policies.md 3: in order, every job gets its minimum (`strict`: up to the first that does not fit); then one more GPU
// each in turn while that gains more than `min_gain`.
void elastic_fill(const Snapshot& snapshot, std::vector<Share>& shares, int gpus, bool strict = false,
                  double min_gain = 0);
// Hands out GPUs step by step where the speed grows most: one more for a job that has some, the whole minimum for a job
// that has none (its gain counts per GPU). Ties: Rank::major, then (submission, id).
void hand_out_by_gain(const Snapshot& snapshot, std::vector<Share>& shares, int gpus);
// The parameter of policies that use elastic_fill: `strict` or not.
ParameterInfo admit_parameter();
bool admits_strictly(const Parameters& given);

class ElasticPolicy : public ResizingPolicy {
 public:
  using ResizingPolicy::ResizingPolicy;
  void decide(const Snapshot& snapshot, Plan& plan) override;

 protected:
  // Sets Share::gpus of each share, at most `gpus` in total. `shares` come in order of rank.
  virtual void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) = 0;
  // Whether anything but an edit changes the ranks of waiting jobs.
  virtual bool ranks_change(const Snapshot& snapshot) const { return !snapshot.estimates.steady(); }
  // Whether jobs that the division gave nothing may start if GPUs are left because others did not fit anywhere.
  virtual bool may_pass() const { return true; }
  // Whether divide() is elastic_fill(): then jobs that are too late in order to get their minimum need not be looked at.
  virtual bool fills_in_order() const { return false; }
  // Whether a running job may be spread over several servers by growing to a count that fits on one. A policy that chose
  // the count by the speed on one server says no; the job then grows as far as one server goes.
  virtual bool may_spread() const { return true; }
  // Whether the division may change a running job now, which is settled and may be interrupted; else it keeps its GPUs.
  virtual bool may_change(const Snapshot&, const Job&) const { return true; }
  // Called before anything is decided.
  virtual void prepare(const Snapshot&, Plan&) {}

  int gpus_of(const Job& job) const override { return job.request.gpus_min; }

 private:
  int gather(const Snapshot& snapshot);  // fills shares_; returns the number of GPUs to divide
  void gather_waiting(const Snapshot& snapshot, int gpus);
  void gather_admitted(const Snapshot& snapshot, int gpus);
  void keep_to_allowed_counts(const Snapshot& snapshot);
  void carry_out(const Snapshot& snapshot, Trial& trial, Plan& plan);
  void take_away(const Snapshot& snapshot, Trial& trial);
  void start(const Snapshot& snapshot, Trial& trial, Plan& plan);
  bool start(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan);
  void start_on_leftovers(const Snapshot& snapshot, Trial& trial, Plan& plan);
  void start_others_on_leftovers(const Snapshot& snapshot, Trial& trial, Plan& plan);
  void give_back_unneeded(const Snapshot& snapshot, Trial& trial);
  void grow(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan);
  std::optional<Allocation> room_to_grow(const Snapshot& snapshot, const Share& share, Trial& trial) const;
  std::optional<Allocation> room_for(const Snapshot& snapshot, const Job& job, int gpus, Trial& trial) const;

  std::vector<Share> shares_;
  int to_divide_ = 0;
  std::vector<Allocation> kept_;  // by share: the GPUs a running job keeps
};

}  // namespace sl
