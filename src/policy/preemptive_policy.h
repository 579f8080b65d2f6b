// The shared mechanism of policies that order all jobs, running and waiting, and let the most urgent ones run
// (policies.md 4.1, preemptive_list):
//
//   1 in order of rank: a waiting job that fits among free GPUs starts
//   2 one that does not fit takes the place of less urgent running jobs, if stopping them makes room for it; on the
//     server where the least urgent jobs have to go, and as few of them as suffice
//   3 one for which neither works is passed over or, with `head_blocks`, ends the decision
//
// A running job keeps its GPUs against waiting jobs of equal rank. It is stopped only for a job whose rank is lower by
// more than `preempt_margin`, only after running for `min_quantum`, and only if it can continue from a checkpoint. The
// quantum is at least a microsecond: of the jobs that start at one instant, none is stopped at the same instant.
//
// The cost of a decision depends on what changed since the last one, not on how many jobs run or wait.
#pragma once

#include <deque>
#include <queue>

#include "policy/closed_lines.h"
#include "policy/queue_policy.h"
#include "policy/rank.h"
#include "policy/victims.h"

namespace sl {

struct PreemptionSettings {
  Duration margin;           // by how much more urgent a job must be; only for ranks that are times (`ages`)
  Duration min_quantum;      // how long a job runs before it may be stopped
  bool ages = false;         // Rank::minor of a running job falls by at least a microsecond per microsecond
  bool ages_evenly = true;   // by exactly that
  bool drifts = false;       // it rises and falls as rank_until() says; not `ages_evenly` then
  bool may_preempt = true;   // false: ranks order the queue only
  bool head_blocks = false;  // no job starts before one that is more urgent
};

// GPU-microseconds that are lost when this running job is stopped and continues later, as stated or measured; 0: unknown.
inline std::int64_t interruption_loss_us(const Job& job) {
  const JobModel* model = job.request.model.get();
  return model && model->restart_cost ? model->restart_cost->us * job.allocation.count() : 0;
}

class PreemptivePolicy : public QueuePolicy<RankKey> {
 public:
  explicit PreemptivePolicy(const PreemptionSettings& settings) : settings_(settings) {
    settings_.min_quantum = std::max(settings_.min_quantum, Duration{1});
  }
  void attach(const Snapshot& snapshot) override;
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override;
  void decide(const Snapshot& snapshot, Plan& plan) override;

  static std::vector<ParameterInfo> parameters(bool with_margin);
  static PreemptionSettings settings(const Parameters& given, bool ages = false);
  // For policies that never preempt: whether the first job in line lets others pass.
  static ParameterInfo head_parameter();
  static PreemptionSettings queue_settings(const Parameters& given);

 protected:
  virtual Rank waiting_rank(const Snapshot& snapshot, const Job& job) = 0;
  virtual Rank running_rank(const Snapshot& snapshot, const Job& job) = 0;
  // With `drifts`: the least urgent rank of a running job until some time from now; then it is asked for again.
  struct RankUntil {
    Rank rank;
    Instant until;
  };
  virtual RankUntil rank_until(const Snapshot& snapshot, const Job& job) {
    return {running_rank(snapshot, job), Instant::never()};
  }
  // When time alone changes the rank of a waiting job (`gpus` is 0), or raises the rank of one that runs or is about to
  // run on `gpus` GPUs (then: at the earliest); never() if it does not.
  virtual Instant next_change(const Snapshot&, const Job&, int /*gpus*/) { return Instant::never(); }
  // Called when that instant has come for a waiting job. Returns its rank from now on.
  virtual Rank changed(const Snapshot& snapshot, JobIndex job, Plan&) {
    return waiting_rank(snapshot, snapshot.job(job));
  }
  // Called before anything is decided. Returns whether ranks may have changed for reasons other than time.
  virtual bool prepare(const Snapshot&, Plan&) { return false; }
  // Called after prepare() has returned true: ranks those waiting jobs anew for which that goes. There may be thousands
  // of them.
  virtual void rank_waiting_anew(const Snapshot& snapshot) { rekey_all(snapshot); }
  virtual void before_attach(const Snapshot&) {}
  // An instant to be woken at, in addition to those of next_change().
  virtual Instant wake_besides(const Snapshot&) { return Instant::never(); }

  RankKey key_of(const Snapshot& snapshot, const Job& job) override {
    return RankKey::of(waiting_rank(snapshot, job), job);
  }

 private:
  struct Timer {
    Instant at;
    JobId id;
    JobIndex job;
    friend bool operator>(const Timer& a, const Timer& b) { return std::tie(a.at, a.id) > std::tie(b.at, b.id); }
  };

  // The jobs of a plan, and how many of its decisions the core has carried out.
  struct Ordered {
    std::vector<JobIndex> jobs;
    std::size_t carried_out = 0;
    void note(JobIndex job);
    bool is_carried_out() const { return carried_out == jobs.size(); }
    void clear() {
      jobs.clear();
      carried_out = 0;
    }
  };

  Instant ripe_at(const Job& job) const { return job.last_start + settings_.min_quantum; }
  std::int64_t ageing(const Snapshot& snapshot) const { return settings_.ages ? snapshot.now.us : 0; }
  Rank aged_rank(const Snapshot& snapshot, const Job& job);
  Rank rank_now(const Snapshot& snapshot, JobIndex job);
  Rank rank_to_keep(const Snapshot& snapshot, JobIndex job);
  void keep_ranks_anew(const Snapshot& snapshot);
  void rank_again(const Snapshot& snapshot, JobIndex job);
  Rank claim(const Snapshot& snapshot, const Rank& waiting) const;
  void set_timer(const Snapshot& snapshot, JobIndex job);
  void ripens(const Snapshot& snapshot, JobIndex job);
  bool is_current(const Snapshot& snapshot, const Timer& timer) const;
  bool will_be_ripe(const Snapshot& snapshot, const Timer& timer) const;
  void run_timers(const Snapshot& snapshot, Plan& plan);
  bool was_carried_out() const { return started_.is_carried_out() && interrupted_.is_carried_out(); }
  void look_for_room(const Snapshot& snapshot, JobIndex index);
  void take_place(const Snapshot& snapshot, JobIndex job);
  void start_over(const Snapshot& snapshot);
  void serve(const Snapshot& snapshot, Plan& plan);
  bool start_on_free(const Snapshot& snapshot, JobIndex job, const Shape& shape, Trial& trial, Plan& plan);
  std::optional<ServerIndex> may_give_way(const Victims::Context& context, std::uint32_t line, const Rank& wanted);
  bool start_by_preempting(const Victims::Context& context, Walk& walk, Trial& trial, Plan& plan);
  bool interrupt(const Snapshot& snapshot, const Victims::Jobs& victims, Walk& walk, ServerIndex only_on, Trial& trial,
                 Plan& plan);
  bool stop(const Snapshot& snapshot, const Victims::Jobs& victims, const Allocation& gpus, Plan& plan);
  void expect_change(const Snapshot& snapshot, const Job& job, int gpus);
  void recall_starting(const Snapshot& snapshot);
  void start(const Snapshot& snapshot, JobIndex job, Allocation gpus, Trial& trial, Plan& plan);
  void wake(const Snapshot& snapshot, Plan& plan);

  PreemptionSettings settings_;
  Victims victims_;
  ClosedLines closed_;
  std::uint64_t generation_ = 0;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  IndexedVector<JobIndex, Instant> timer_of_;  // the valid timer; others in timers_ are out of date
  std::deque<Timer> ripening_;  // running jobs in order of the time from which they may be stopped, which is that of
                                // their starts
  struct RankIn {
    std::uint64_t decision = 0;
    Rank rank;
  };
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> limits_;  // when ranks are to be kept anew
  IndexedVector<JobIndex, Instant> limit_of_;                              // the valid one, likewise
  IndexedVector<JobIndex, RankIn> rank_in_;                                // as last worked out
  std::uint64_t decision_ = 0;
  Ordered started_, interrupted_;     // by the last plan
  std::vector<ServerIndex> changed_;  // by the last plan
  bool leaves_room_ = false;          // the last plan stops jobs that hold more than the jobs that replace them need
  std::vector<std::pair<JobIndex, JobId>> starting_;  // jobs that decisions at this instant start and do not run yet
  Instant starting_since_;                            // that instant
  Instant first_change_ = Instant::never();           // the earliest of their changes
};

}  // namespace sl
