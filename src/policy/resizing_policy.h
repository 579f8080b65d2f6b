// What policies that give running jobs more or fewer GPUs share: which jobs may be resized, and when that is worth its
// cost. A job is not resized if less than `resize_min_rem_s` is left of it, and not grown if that saves less time than
// its restart costs.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/queue_policy.h"
#include "policy/rank.h"
#include "policy/run_times.h"

namespace sl {

struct ElasticSettings {
  Duration resize_min_run = Duration::whole_seconds(120);
  Duration resize_min_rem = Duration::whole_seconds(120);
  Duration restart_cost = Duration::whole_seconds(30);  // if the job states none
  Duration default_estimate = Duration::whole_seconds(300);
};

// Speed of the job on `gpus` GPUs relative to one, by its speed curve.
double speedup_of(const Snapshot& snapshot, JobIndex job, int gpus);
// The first `count` of these GPUs: the lowest indexes on the first servers. All if there are fewer.
Allocation first_of(const Allocation& gpus, int count);

class ResizingPolicy : public QueuePolicy<RankKey> {
 public:
  explicit ResizingPolicy(const ElasticSettings& settings)
      : run_times_(settings.default_estimate), settings_(settings) {}
  void attach(const Snapshot& snapshot) override;
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override;
  std::string standing(const View& view, JobIndex job) const override;

  static std::vector<ParameterInfo> parameters();
  static ElasticSettings settings(const Parameters& given);

 protected:
  virtual Rank rank_of(const Snapshot& snapshot, const Job& job) = 0;
  virtual Instant wake_besides(const Snapshot&) { return Instant::never(); }
  // What the worth of a resize depends on: the time left on the GPUs the job has, and its speed on `gpus` GPUs relative
  // to one. A policy that learns them from reports returns what it learned.
  virtual Duration time_left(const Snapshot& snapshot, JobIndex job);
  virtual double speedup_on(const Snapshot& snapshot, JobIndex job, int gpus);
  // The same in words, for standing(). Changes nothing.
  virtual std::string prospects(const View& view, JobIndex job, int gpus) const;

  RankKey key_of(const Snapshot& snapshot, const Job& job) override { return RankKey::of(rank_of(snapshot, job), job); }

  // Whether it runs, can be stopped, and could be started again on the same GPUs.
  bool may_interrupt(const Snapshot& snapshot, JobIndex job);
  // Whether it (re)started at least `resize_min_run_s` ago.
  bool is_settled(const Snapshot& snapshot, const Job& job) const {
    return snapshot.now >= job.last_start + settings_.resize_min_run;
  }
  virtual bool worth_resizing(const Snapshot& snapshot, JobIndex index, int gpus);
  // Asks to be woken when the next job is settled, if any job could use GPUs then, and at wake_besides().
  void wake(const Snapshot& snapshot, Plan& plan);

  RunTimes run_times_;

 private:
  ElasticSettings settings_;
  // By job: the generation of the free GPUs (so of the servers) in which it could be interrupted, if nothing has
  // happened to it since.
  IndexedVector<JobIndex, std::optional<std::uint64_t>> interruptible_in_;
};

}  // namespace sl
