// How far the trainings have come and how fast they run. Code that changes a training's speed settles it first.
#pragma once

#include <utility>
#include <vector>

#include "base/large_vector.h"
#include "estimate/estimates.h"
#include "sim/cluster.h"
#include "trace/trace.h"

namespace sl::sim {

struct Training {
  Duration left;                // run time left at full speed on the GPUs it asked for
  Duration left_at_checkpoint;  // what it falls back to if it is lost
  Instant checkpoint;           // time of that checkpoint; one in every interval of running, whatever the speed
  Instant since;    // the time `left` refers to; in the future while it comes back; never happened: it stands still
  Instant ends;     // at its current speed; a completion with another time is out of date
  Instant awaited;  // when the completion that counts comes, perhaps before it ends; never happened: there is none
  float speed = 0;  // 1: as on the GPUs it asked for, alone
  std::uint32_t job = 0;  // in the trace
  ServerIndex stands_on;  // suspended: where its process is, which may go on there; none: nowhere

  bool runs() const { return since.happened(); }
  // What is left at `now`, exact at full speed.
  Duration left_at(Instant now) const {
    if (!runs() || now <= since) return left;
    const Duration passed = now - since;
    const Duration done =
        speed == 1.0F ? passed : Duration{static_cast<std::int64_t>(static_cast<double>(passed.us) * speed)};
    return done < left ? left - done : Duration{0};
  }
  // `checkpoint_every`: time between checkpoints; 0: it makes none.
  void settle(Instant now, Duration checkpoint_every) {
    if (now <= since) return;
    if (checkpoint_every.us > 0 && now - checkpoint >= checkpoint_every) {
      checkpoint = now - Duration{(now - checkpoint).us % checkpoint_every.us};
      left_at_checkpoint = left_at(checkpoint);
    }
    left = left_at(now);
    since = now;
  }
  void go_on(Instant from, float at_speed) {
    stands_on = ServerIndex::none();
    since = checkpoint = from;
    left_at_checkpoint = left;
    set_speed(at_speed);
  }
  void set_speed(float at_speed) {
    speed = at_speed;
    ends =
        since +
        (speed == 1.0F ? left : Duration{static_cast<std::int64_t>(std::ceil(static_cast<double>(left.us) / speed))});
  }
  void stand_still() { since = ends = {}; }
  // As on a cluster, only on a single server.
  void stand_on(const Allocation& gpus) {
    stands_on = gpus.parts().size() == 1 ? gpus.parts().front().server : ServerIndex::none();
  }
};

// The trainings of jobs that have started and not yet left, by their number in the trace. They lie together, so those
// that run stay in the processor's cache.
class Trainings {
 public:
  explicit Trainings(std::size_t jobs) { places_.reserve(jobs); }

  // Job number `job` of the trace starts for the first time.
  Training& enter(std::size_t job, Duration length) {
    if (job >= places_.size()) places_.resize(job + 1, nowhere);
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(trainings_.size()));
      trainings_.emplace_back();
    }
    places_[job] = free_.back();
    free_.pop_back();
    return trainings_[places_[job]] = {.left = length, .job = static_cast<std::uint32_t>(job)};
  }
  void leave(std::size_t job) {
    Training* const training = find(job);
    if (!training) return;
    *training = {};
    free_.push_back(std::exchange(places_[job], nowhere));
  }
  // Suspended processes are lost with the server that they stand on: visit(training) of each.
  template <typename Visit>
  void lose_those_on(ServerIndex server, Visit visit) {
    for (Training& training : trainings_) {
      if (training.stands_on != server) continue;
      training.stands_on = ServerIndex::none();
      visit(training);
    }
  }
  // Null: it has not started, or has left.
  Training* find(std::size_t job) {
    return job < places_.size() && places_[job] != nowhere ? &trainings_[places_[job]] : nullptr;
  }
  const Training* find(std::size_t job) const { return const_cast<Trainings&>(*this).find(job); }
  void fetch(std::size_t job) const { __builtin_prefetch(&places_[job]); }  // of one that has started

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;
  LargeVector<Training> trainings_;
  std::vector<std::uint32_t> free_;    // places in it
  LargeVector<std::uint32_t> places_;  // by job
};

// It has GPUs that others are about to leave; nothing of it runs.
inline bool stands_by(const Job& job) { return job.state == JobState::starting && job.gpus_awaited > 0; }

inline std::size_t index_of(JobId id) { return static_cast<std::size_t>(id.value - 1); }

// The time a training takes to continue from its checkpoint: its own figure, else its profile's, else the cluster's.
Duration restart_cost(const trace::Trace& trace, std::size_t job, const Costs& costs);
// The time a job takes to stand still where it is, and to go on again there. Where it cannot it stops, and is started
// again wherever its allocation is now.
Duration suspend_cost(const Job& at, const Costs& costs);
Duration resume_cost(const trace::Trace& trace, const Training& training, const Allocation& on, const Costs& costs);

// What policies are told about lengths: the truth. The time left includes what a job still owes for its last
// interruption if it runs, and what it will owe for continuing if it waits. So a job that was stopped for another is
// never ahead of it just because it was stopped (policies.md 14a.2).
class KnownDurations : public Estimates {
 public:
  // `steady`: trainings run at the speed of their GPUs, whatever else runs.
  KnownDurations(const trace::Trace& trace, const Trainings& trainings, const Costs& costs, bool steady,
                 bool knows_speeds)
      : trace_(trace), trainings_(trainings), costs_(costs), steady_(steady), knows_speeds_(knows_speeds) {}
  Figure run_time_s(const Job& job, int gpus) const override;
  Figure remaining_s(const Job& job, int gpus, Instant now) const override;
  const SpeedCurve& speed_curve(const Job& job) const override {
    return knows_speeds_ ? job.request.speed_curve() : unmeasured_speed_curve;
  }
  bool steady() const override { return steady_; }

 private:
  const trace::Trace& trace_;
  const Trainings& trainings_;
  const Costs& costs_;
  bool steady_, knows_speeds_;
};

}  // namespace sl::sim
