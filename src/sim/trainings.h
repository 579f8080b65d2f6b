// How far the trainings are and how fast they go. Whoever changes a training's speed settles it first.
#pragma once

#include <vector>

#include "estimate/estimates.h"
#include "sim/profiles.h"
#include "sim/trace.h"

namespace sl::sim {

struct Training {
  static constexpr std::uint32_t no_job = UINT32_MAX;

  Duration left;                // to run at full speed on the GPUs it asked for
  Duration left_at_checkpoint;  // what it falls back to when it is lost
  Instant since;    // `left` is of this instant, which lies ahead while it comes back; never happened: stands still
  Instant ends;     // at its present speed; a completion of another time is out of date
  Instant awaited;  // when the completion that counts comes, perhaps before it ends; never happened: none does
  float speed = 0;  // 1: as on the GPUs it asked for, alone
  std::uint32_t job = no_job;  // in the trace

  bool runs() const { return since.happened(); }
  // What is left at `now`, exactly at full speed.
  Duration left_at(Instant now) const {
    if (!runs() || now <= since) return left;
    const Duration passed = now - since;
    const Duration done =
        speed == 1.0F ? passed : Duration{static_cast<std::int64_t>(static_cast<double>(passed.us) * speed)};
    return done < left ? left - done : Duration{0};
  }
  void settle(Instant now) {
    if (now <= since) return;
    left = left_at(now);
    since = now;
  }
  void go_on(Instant from, float at_speed) {
    since = from;
    set_speed(at_speed);
  }
  void set_speed(float at_speed) {
    speed = at_speed;
    ends =
        since +
        (speed == 1.0F ? left : Duration{static_cast<std::int64_t>(std::ceil(static_cast<double>(left.us) / speed))});
  }
  void stand_still() { since = ends = {}; }
};

// Of the jobs that have started and not yet left, where the core keeps them: as many as there are at a time, not as the
// trace has.
class Trainings {
 public:
  explicit Trainings(std::size_t jobs) { places_.reserve(jobs); }

  // The trace's `job` starts for the first time.
  Training& enter(JobIndex place, std::size_t job, Duration length) {
    if (job >= places_.size()) places_.resize(job + 1);
    places_[job] = place;
    while (!trainings_.contains(place)) trainings_.push_back({});
    return trainings_[place] = {.left = length, .job = static_cast<std::uint32_t>(job)};
  }
  void leave(JobIndex place, std::size_t job) {
    if (Training* training = find(place, job)) training->job = Training::no_job;
  }
  // Null: it has not started, or has left, and the core may keep another job there.
  Training* find(JobIndex place, std::size_t job) {
    return trainings_.contains(place) && trainings_[place].job == job ? &trainings_[place] : nullptr;
  }
  const Training* find(std::size_t job) const {
    return job < places_.size() ? const_cast<Trainings&>(*this).find(places_[job], job) : nullptr;
  }
  // For whoever fetches it before it is needed.
  const Training* address(JobIndex place) const { return &trainings_[place]; }

 private:
  IndexedVector<JobIndex, Training> trainings_;
  LargeVector<JobIndex> places_;  // by job: where it was last
};

inline std::size_t index_of(JobId id) { return static_cast<std::size_t>(id.value - 1); }

// What policies are told of lengths: the truth.
class KnownDurations : public Estimates {
 public:
  // `steady`: trainings go at the speed of their GPUs, whatever else runs.
  KnownDurations(const Trace& trace, const Trainings& trainings, bool steady, bool knows_speeds)
      : trace_(trace), trainings_(trainings), steady_(steady), knows_speeds_(knows_speeds) {}
  Figure run_time_s(const Job& job, int gpus) const override;
  Figure remaining_s(const Job& job, int gpus, Instant now) const override;
  Figure speedup(const Job& job, int gpus) const override {
    return knows_speeds_ ? RequestEstimates().speedup(job, gpus) : Figure::unknown();
  }
  bool steady() const override { return steady_; }

 private:
  const Trace& trace_;
  const Trainings& trainings_;
  bool steady_, knows_speeds_;
};

}  // namespace sl::sim
