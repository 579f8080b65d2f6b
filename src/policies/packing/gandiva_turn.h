// One decision of Gandiva in the making: the plan, the GPUs that are free in the trial, and which running jobs have had
// their slice. Each mechanism of gandiva.h has its own file: free GPUs (gandiva_start.cpp), grow-shrink
// (gandiva_grow.cpp), migration (gandiva_migration.cpp), packing (gandiva_packing.cpp), slicing (gandiva_slicing.cpp)
// and the epoch ring (gandiva_ring.cpp).
#pragma once

#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "policies/packing/gandiva_packing.h"
#include "policy/placer.h"
#include "policy/plan.h"
#include "policy/snapshot.h"

namespace sl {

struct GandivaSettings {
  bool epoch_ring = false;
  bool packing = true, migration = true, grow_shrink = true;
  Duration slice = Duration::whole_seconds(600);  // the paper: 60 s, with continuations of 0.1 s
  Duration grow_idle = Duration::whole_seconds(60);
  Duration restart_cost = Duration::whole_seconds(30);
};

// How long one of the job's epochs takes; the length of a slice where that is not known.
Duration gandiva_epoch(const View& view, const GandivaSettings& settings, const Job& job);
// How long a job runs before it makes room for others.
inline Duration gandiva_quantum(const View& view, const GandivaSettings& settings, const Job& job) {
  return settings.epoch_ring ? gandiva_epoch(view, settings, job) : settings.slice;
}
// The time from which a waiting job may claim a slice.
Instant gandiva_ready_at(const View& view, const GandivaSettings& settings, const Job& job);

// By job: when it will have had its slice, if a turn has nothing to do with it before unless it changes. Most running
// jobs are such, so turns need not read them. A turn notes the ends; Gandiva forgets that of a job that has changed.
using SliceEnds = IndexedVector<JobIndex, Instant>;

class GandivaTurn {
 public:
  GandivaTurn(const GandivaSettings& settings, SliceEnds& slice_ends, const Snapshot& snapshot, Plan& plan);

  // Serves the job by the first mechanism that works; returns whether it was served.
  bool serve(JobIndex index);
  // Serves it on the first server where there is room or a job's epoch has ended.
  bool serve_in_ring(JobIndex index);
  // Ring: jobs that made room continue elsewhere if there is room.
  void settle_displaced();
  // Jobs that may grow get the free GPUs of their server.
  void grow();
  // Of every pair that is slower together than one after the other, the job that started later goes back to waiting.
  void unpack();
  // Of the other pairs, the job that started later moves to free GPUs of the same type.
  void spread();

  Instant ready_at(const Job& job) const { return gandiva_ready_at(snapshot_, settings_, job); }
  Instant next() const { return next_; }  // when the next job has had its slice or may claim one

 private:
  Duration quantum(const Job& job) const { return gandiva_quantum(snapshot_, settings_, job); }
  void look_again_at(Instant at) {
    if (at > snapshot_.now) next_ = std::min(next_, at);
  }
  bool ran_longer(JobIndex a, JobIndex b) const {
    const Job &ja = snapshot_.job(a), &jb = snapshot_.job(b);
    return std::tie(ja.last_start, ja.request.id) < std::tie(jb.last_start, jb.request.id);
  }
  bool is_ripe(JobIndex index) const {
    const Job& job = snapshot_.job(index);
    return ripe_.contains({job.last_start, job.request.id, index});
  }
  Instant slice_end(JobIndex index) const { return slice_ends_.contains(index) ? slice_ends_[index] : Instant{}; }
  void note(JobIndex index);
  void decided(JobIndex index);  // this plan changes the running job: no other mechanism may change it too

  void start(JobIndex index, Allocation gpus);
  bool start_on_free(JobIndex index, const Job& job);
  ServerIndex choose_server(const Job& job) const;
  int affinity(ServerIndex server) const;

  bool start_by_shrinking(JobIndex index, const Job& job);
  std::vector<JobIndex> to_grow();

  bool start_by_migrating(JobIndex index, const Job& job);
  bool make_room_by_moving(ServerIndex target, int gpus, Duration worth);

  bool pack(JobIndex index, const Job& job);

  bool slice(JobIndex index, const Job& job);
  std::optional<Allocation> place_there(const Job& job, ServerIndex server) const;
  bool slice_on(JobIndex index, const Job& job, ServerIndex server);
  bool slice_anywhere(JobIndex index, const Job& job);
  void spare_unneeded(const Job& job, ServerIndex server, std::vector<JobIndex>& victims, Allocation& gpus);
  bool can_leave_memory_to(const Job& next, const Job& victim) const;
  bool leaves_memory_if_frozen(const Job& next, const Job& victim) const;
  void make_way(const std::vector<JobIndex>& victims, const Job& next, const Allocation& gpus);
  void displace(JobIndex index, const Job& next);
  void suspend(JobIndex index);

  struct Move {
    JobIndex job;
    Allocation gpus;  // from now on
  };
  void migrate(std::vector<Move> moves);
  std::optional<Allocation> place_displaced(JobIndex index);
  std::optional<Allocation> succeed_on(JobIndex index, ServerIndex server);

  const GandivaSettings& settings_;
  SliceEnds& slice_ends_;
  const Snapshot& snapshot_;
  Plan& plan_;
  Trial trial_;
  std::vector<JobIndex> sharing_;                        // run on GPUs of others too
  std::vector<JobIndex> movable_;                        // may be migrated; those that ran longest first
  std::vector<JobIndex> grown_;                          // have more than they asked for
  std::set<std::tuple<Instant, JobId, JobIndex>> ripe_;  // have had their slice; those that ran longest first
  std::vector<std::vector<JobIndex>> ripe_on_;           // by server
  std::vector<JobIndex> displaced_;
  std::set<JobIndex> unfreezable_;  // of these: whose memory is needed, so they stop at a checkpoint
  std::set<JobIndex> changed_;      // by this plan
  std::optional<Partners> partners_;
  Instant next_ = Instant::never();
};

// Whether the job may be moved to other GPUs and may make room for others.
inline bool is_movable(const Job& job) {
  return job.state == JobState::running && job.request.preemptible && job.request.capability == Capability::checkpoint;
}
inline bool has_tenants_besides(const Snapshot& snapshot, const Job& job) {
  return job.request.shareable && are_shared(snapshot.tenants, job.allocation);
}

}  // namespace sl
