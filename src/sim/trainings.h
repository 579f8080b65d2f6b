// How far the trainings are and how fast they go. Whoever changes a training's speed settles it first.
#pragma once

#include <utility>
#include <vector>

#include "estimate/estimates.h"
#include "sim/profiles.h"
#include "sim/trace.h"

namespace sl::sim {

struct Training {
  Duration left;                // to run at full speed on the GPUs it asked for
  Duration left_at_checkpoint;  // what it falls back to when it is lost
  Instant since;    // `left` is of this instant, which lies ahead while it comes back; never happened: stands still
  Instant ends;     // at its present speed; a completion of another time is out of date
  Instant awaited;  // when the completion that counts comes, perhaps before it ends; never happened: none does
  float speed = 0;  // 1: as on the GPUs it asked for, alone

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

// Of the jobs in the system, by their index in the trace: as many as are there at a time, not as the trace has.
class Trainings {
 public:
  explicit Trainings(std::size_t jobs) { places_.reserve(jobs); }

  void enter(Duration length) {  // the next job of the trace
    if (free_.empty()) free_.push_back(static_cast<std::uint32_t>(trainings_.size())), trainings_.emplace_back();
    places_.push_back(free_.back());
    free_.pop_back();
    trainings_[places_.back()] = {.left = length};
  }
  void leave(std::size_t job) { free_.push_back(std::exchange(places_[job], 0)); }
  bool contains(std::size_t job) const { return places_[job] != 0; }
  // Of a job that has left: one with nothing left to do.
  Training& operator[](std::size_t job) { return trainings_[places_[job]]; }
  const Training& operator[](std::size_t job) const { return trainings_[places_[job]]; }

 private:
  std::vector<std::uint32_t> places_;  // in trainings_, by job; 0: it has left
  LargeVector<Training> trainings_ = LargeVector<Training>(1);
  std::vector<std::uint32_t> free_;  // places
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
