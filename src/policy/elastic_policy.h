// The shared mechanism of policies that give jobs more or fewer GPUs than they ask for (policies.md 0.3.8, 0.4, 3):
//
//   1 all jobs that may change, running and waiting, in order of rank, each with its minimum and maximum of GPUs; a job
//     that cannot be interrupted, is starting or stopping, or (re)started less than `resize_min_run_s` ago keeps what
//     it has
//   2 the policy divides the GPUs among them: a count for each, 0 for none; those of a server only among jobs that may
//     use it (policy/supply.h); a count that the job may not have (model/gpu_counts.h) becomes the next lower one that it
//     may
//   3 counts become GPUs: running jobs shrink and grow where they are; waiting jobs go where they fit best, with fewer
//     GPUs (but at least their minimum) if the count does not fit; GPUs taken from a job that turn out not to be needed
//     go back to it
//   4 a job is not resized if that is not worth its cost (policy/resizing_policy.h)
#pragma once

#include <limits>
#include <vector>

#include "policy/resizing_policy.h"
#include "policy/supply.h"

namespace sl {

// policies.md 3, of jobs that got their first GPUs in order: one more of what is left for each in turn while it gains by
// that.
void elastic_fill(const Snapshot& snapshot, std::vector<Share>& shares, Supply& supply);
// The parameter of policies that use elastic_fill: `strict` or not.
ParameterInfo admit_parameter();
bool admits_strictly(const Parameters& given);

class ElasticPolicy : public ResizingPolicy {
 public:
  using ResizingPolicy::ResizingPolicy;
  void attach(const Snapshot& snapshot) override;
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override;
  void decide(const Snapshot& snapshot, Plan& plan) override;

 protected:
  // Gives `supply` to `shares`. They come in order of rank, with 0 GPUs; of the waiting jobs there are only those that
  // get some in order, and with !may_pass() the first that does not. It may add others, by new_share(), where their rank
  // puts them.
  virtual void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) = 0;
  // What the job gets in order when `left` GPUs are left for it; the less is left, the less. At least its minimum, or 0.
  virtual int gpus_in_order(const Snapshot&, const Share& share, int left) const {
    return share.least <= left ? share.least : 0;
  }
  // Gives each share in turn gpus_in_order(), with !may_pass() up to the first that gets none.
  void serve_in_order(const Snapshot& snapshot, std::vector<Share>& shares, Supply& supply) const;
  // Of a waiting job.
  Share new_share(const Snapshot& snapshot, JobIndex job, const RankKey& key) const;
  // Where jobs of this line may run.
  KindSet kinds_of_line(std::uint32_t line) const { return kinds_.of_shape(line); }
  // Until when neither time nor anything else but an edit changes the rank of a running job.
  virtual Instant rank_lasts_until(const Snapshot& snapshot, const Job&) { return snapshot.now; }
  // The same, kept; never(): as long as it runs.
  Instant rank_of_running_lasts_until(const Snapshot& snapshot, JobIndex job) { return ranked(snapshot, job).until; }
  // Whether anything but an edit changes the ranks of waiting jobs.
  virtual bool ranks_change(const Snapshot&) const { return run_times_.has_guessed(); }
  // Whether jobs may pass one that gets no GPUs in order. Then jobs that the division gave nothing may also start on GPUs
  // that are left because others did not fit anywhere.
  virtual bool may_pass() const { return true; }
  // Whether divide() begins with serve_in_order() if these take part: the running jobs, then also those that wait and get
  // some in order. Then jobs that are too late in order need not be looked at.
  virtual bool serves_in_order(const std::vector<Share>&) const { return true; }
  // Whether a running job may be spread over several servers by growing to a count that fits on one. A policy that chose
  // the count by the speed on one server says no; the job then grows as far as one server goes.
  virtual bool may_spread() const { return true; }
  // Whether the division may change a running job now, which is settled and may be interrupted; else it keeps its GPUs.
  virtual bool may_change(const Snapshot&, const Job&) const { return true; }
  // Called before anything is decided.
  virtual void prepare(const Snapshot&, Plan&) {}

  int gpus_of(const Job& job) const override { return job.request.gpus_min; }

 private:
  Supply gather(const Snapshot& snapshot);  // fills shares_; returns what there is to divide
  void gather_running(const Snapshot& snapshot, Supply& supply);
  void gather_waiting(const Snapshot& snapshot, const Supply& supply);
  void gather_served(const Snapshot& snapshot, Supply supply);
  void keep_to_allowed_counts(const Snapshot& snapshot, Supply supply);
  void carry_out(const Snapshot& snapshot, Trial& trial, Plan& plan);
  void take_away(const Snapshot& snapshot, Trial& trial);
  void start(const Snapshot& snapshot, Trial& trial, Plan& plan);
  bool start(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan);
  void start_on_leftovers(const Snapshot& snapshot, Trial& trial, Plan& plan);
  void give_back_unneeded(const Snapshot& snapshot, Trial& trial);
  void grow(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan);
  std::optional<Allocation> room_to_grow(const Snapshot& snapshot, const Share& share, Trial& trial) const;
  std::optional<Allocation> room_for(const Snapshot& snapshot, const Job& job, int gpus, Trial& trial) const;

  struct Ranked {
    RankKey key;
    Instant until{std::numeric_limits<std::int64_t>::min()};
  };
  const Ranked& ranked(const Snapshot& snapshot, JobIndex job);
  struct Shrunk {
    std::size_t share;
    Allocation kept;  // empty: it stops
  };
  void note_running(const Snapshot& snapshot, JobIndex job);

  std::vector<JobIndex> running_;  // and some that no longer run; by rank as of the last decision, then others
  IndexedVector<JobIndex, std::uint8_t> is_running_;  // whether it is in running_
  IndexedVector<JobIndex, Ranked> ranked_;            // of running jobs
  IndexedVector<JobIndex, std::uint32_t> shape_of_;   // of running jobs
  ServerKinds kinds_;
  std::vector<Share> shares_;
  int to_divide_ = 0;
  std::vector<Shrunk> shrunk_;  // the running jobs that give up GPUs, in order
};

}  // namespace sl
