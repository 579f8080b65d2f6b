#include "reproduce/epoch_ring.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace sl::reproduce {
namespace {

constexpr int nobody = -1;
constexpr double never = std::numeric_limits<double>::infinity();

class Ring {
 public:
  Ring(const std::vector<RingJob>& jobs, int workers, double fetch_s)
      : jobs_(jobs), fetch_s_(fetch_s), states_(jobs.size()), workers_(static_cast<std::size_t>(workers)) {
    outcome_.finished_s.resize(jobs.size(), never);
    for (std::size_t j = 0; j < jobs.size(); ++j) ring_.push_back(static_cast<int>(j));
  }

  RingOutcome run() {
    while (!ring_.empty()) {
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        if (workers_[w].job != nobody && workers_[w].free_at <= now_) end_epoch(workers_[w]);
        if (workers_[w].job == nobody) begin_epoch(w);
      }
      now_ = next_end();
    }
    return std::move(outcome_);
  }

 private:
  struct State {
    int epochs_done = 0, last_worker = nobody;
    bool running = false;
  };
  struct Worker {
    int job = nobody;
    double free_at = 0;
  };

  void end_epoch(Worker& worker) {
    const auto j = static_cast<std::size_t>(worker.job);
    states_[j].running = false;
    if (++states_[j].epochs_done == jobs_[j].epochs) {
      outcome_.finished_s[j] = now_;
      std::erase(ring_, worker.job);
    }
    worker.job = nobody;
  }

  void begin_epoch(std::size_t w) {
    const auto first = std::find_if(ring_.begin(), ring_.end(),
                                    [&](int job) { return !states_[static_cast<std::size_t>(job)].running; });
    if (first == ring_.end()) return;
    const int job = *first;
    ring_.erase(first);
    ring_.push_back(job);
    State& state = states_[static_cast<std::size_t>(job)];
    const bool fetches = state.last_worker != nobody && state.last_worker != static_cast<int>(w);
    outcome_.fetches += fetches ? 1 : 0;
    state.running = true;
    state.last_worker = static_cast<int>(w);
    workers_[w] = {job, now_ + (fetches ? fetch_s_ : 0) + jobs_[static_cast<std::size_t>(job)].epoch_s};
  }

  double next_end() const {
    double next = never;
    for (const Worker& worker : workers_) {
      if (worker.job != nobody) next = std::min(next, worker.free_at);
    }
    return next;
  }

  const std::vector<RingJob>& jobs_;
  double fetch_s_;
  double now_ = 0;
  std::vector<State> states_;
  std::vector<Worker> workers_;
  std::deque<int> ring_;
  RingOutcome outcome_;
};

}  // namespace

RingOutcome run_epoch_ring(const std::vector<RingJob>& jobs, int workers, double fetch_s) {
  return Ring(jobs, workers, fetch_s).run();
}

}  // namespace sl::reproduce
