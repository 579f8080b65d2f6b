// SymbioticLab/Tiresias, run_sim.py, with all GPUs as one pool and free preemption.
#include <algorithm>
#include <array>
#include <iterator>

#include "study/published_worlds.h"

namespace sl::study {
namespace {

// What its schedulers share: jobs that arrive, run and finish; derived classes decide who runs.
class Pool {
 public:
  Pool(const SecondsTrace& trace, const Shape& shape) : trace_(trace), gpus_(shape.gpus()), jobs_(trace.size()) {
    result_.outcomes.resize(trace.size());
    for (std::size_t j = 0; j < trace.size(); ++j) jobs_[j].remaining = trace[j].duration;
  }
  virtual ~Pool() = default;

  sim::SimulationResult run() {
    for (;;) {
      const std::int64_t arrival = next_arrival_ < trace_.size() ? trace_[next_arrival_].submitted : never;
      std::int64_t end = never;
      for (const std::size_t job : running_) end = std::min(end, now_ + jobs_[job].remaining);
      const std::int64_t next = std::min({arrival, end, forced_event()});
      if (next == never) break;
      choose(arrival, end, next);
      pass(next - now_);
      now_ = next;
      finish();
      for (; next_arrival_ < trace_.size() && trace_[next_arrival_].submitted <= now_; ++next_arrival_)
        arrive(next_arrival_);
      schedule();
    }
    result_.unfinished = static_cast<std::int64_t>(trace_.size() - finished_);
    return std::move(result_);
  }

 protected:
  struct Standing {
    std::int64_t remaining = 0, executed = 0;
    bool running = false, finished = false;
  };
  virtual void arrive(std::size_t job) = 0;
  virtual void leave(std::size_t job) = 0;  // it has finished
  virtual void schedule() = 0;
  virtual std::int64_t forced_event() const { return never; }
  // Called when the next event has been chosen, with what it was chosen from.
  virtual void choose(std::int64_t /*arrival*/, std::int64_t /*end*/, std::int64_t /*next*/) {}

  // Exactly these jobs run from now on.
  void let_run(const std::vector<std::size_t>& chosen) {
    std::vector<bool> is_chosen(jobs_.size(), false);
    for (const std::size_t job : chosen) is_chosen[job] = true;
    for (const std::size_t job : running_) {
      if (is_chosen[job]) continue;
      jobs_[job].running = false;
      ++result_.outcomes[job].preemptions;
    }
    for (const std::size_t job : chosen) start(job);
    running_ = chosen;
  }
  void start(std::size_t job) {
    jobs_[job].running = true;
    if (!result_.outcomes[job].started.happened()) result_.outcomes[job].started = at_second(now_);
  }
  // Runs, in this order, every job that fits into the rest of the pool.
  template <typename Jobs>
  void take(const Jobs& jobs, int& free, std::vector<std::size_t>& chosen) const {
    for (const std::size_t job : jobs) {
      if (trace_[job].gpus > free) continue;
      free -= trace_[job].gpus;
      chosen.push_back(job);
    }
  }

  const SecondsTrace& trace_;
  int gpus_;
  std::int64_t now_ = 0;
  std::vector<Standing> jobs_;
  std::vector<std::size_t> running_;
  std::vector<std::size_t> cut_short_;  // jobs that the event chosen ends whatever they have left
  sim::SimulationResult result_;

 private:
  void pass(std::int64_t seconds) {
    for (const std::size_t job : running_) {
      jobs_[job].remaining -= seconds;
      jobs_[job].executed += seconds;
      result_.gpu_s_allocated += static_cast<double>(seconds * trace_[job].gpus);
    }
  }
  void finish() {
    const std::vector<std::size_t> ran = running_;
    for (const std::size_t job : ran) {
      if (jobs_[job].remaining == 0) end(job);
    }
    for (const std::size_t job : cut_short_) end(job);
    cut_short_.clear();
    std::erase_if(running_, [this](std::size_t job) { return jobs_[job].finished; });
  }
  void end(std::size_t job) {
    jobs_[job].running = false;
    jobs_[job].finished = true;
    result_.finish(job, at_second(now_));
    ++finished_;
    leave(job);
  }

  std::size_t next_arrival_ = 0, finished_ = 0;
};

// Strict: the first job that does not fit blocks those behind it.
class TiresiasFifo : public Pool {
 public:
  using Pool::Pool;

 private:
  void arrive(std::size_t job) override { waiting_.push_back(job); }
  void leave(std::size_t) override {}
  void schedule() override {
    int free = gpus_;
    for (const std::size_t job : running_) free -= trace_[job].gpus;
    std::size_t started = 0;
    for (; started < waiting_.size() && trace_[waiting_[started]].gpus <= free; ++started) {
      free -= trace_[waiting_[started]].gpus;
      start(waiting_[started]);
      running_.push_back(waiting_[started]);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(started));
  }
  std::vector<std::size_t> waiting_;
};

// The list keeps its order between events and is sorted again only at events.
class TiresiasSrtf : public Pool {
 public:
  using Pool::Pool;

 private:
  void arrive(std::size_t job) override { list_.push_back(job); }
  void leave(std::size_t job) override { std::erase(list_, job); }
  void schedule() override {
    std::stable_sort(list_.begin(), list_.end(),
                     [this](std::size_t a, std::size_t b) { return jobs_[a].remaining < jobs_[b].remaining; });
    int free = gpus_;
    std::vector<std::size_t> chosen;
    take(list_, free, chosen);
    let_run(chosen);
  }
  std::vector<std::size_t> list_;
};

// The original keeps a stale event: if a job is expected to end just when another arrives, the arrival ends it, even if
// a job that falls to the next queue before then has preempted it. `keeps_stale_ends`: so does this.
class DlasGpu : public Pool {
 public:
  DlasGpu(const SecondsTrace& trace, const Shape& shape, bool keeps_stale_ends)
      : Pool(trace, shape), keeps_stale_ends_(keeps_stale_ends) {}

 private:
  static constexpr std::array<std::int64_t, 2> limits = {3'250, 7'200};  // GPU-seconds

  void arrive(std::size_t job) override {
    if (queue_of_.size() <= job) queue_of_.resize(job + 1, 0);
    queues_[0].push_back(job);
  }
  void leave(std::size_t job) override { std::erase(queues_[queue_of_[job]], job); }

  void schedule() override {
    std::vector<std::size_t> in_order = running_;
    std::sort(in_order.begin(), in_order.end());
    for (const std::size_t job : in_order) fall(job);
    int free = gpus_;
    std::vector<std::size_t> chosen;
    for (const auto& queue : queues_) take(queue, free, chosen);
    let_run(chosen);
    for (auto& queue : queues_)
      std::stable_partition(queue.begin(), queue.end(), [this](std::size_t job) { return jobs_[job].running; });
  }

  void choose(std::int64_t arrival, std::int64_t end, std::int64_t next) override {
    if (arrival == end) {
      ending_at_arrival_.clear();
      std::ranges::copy_if(running_, std::back_inserter(ending_at_arrival_),
                           [&](std::size_t job) { return now_ + jobs_[job].remaining == end; });
    }
    if (next != arrival) return;
    if (arrival < end && keeps_stale_ends_) cut_short_ = ending_at_arrival_;
    ending_at_arrival_.clear();
  }

  // By at most one queue.
  void fall(std::size_t job) {
    std::size_t& queue = queue_of_[job];
    if (queue >= limits.size() || jobs_[job].executed * trace_[job].gpus < limits[queue]) return;
    std::erase(queues_[queue], job);
    queues_[++queue].push_back(job);
  }

  // The original divides (limit - executed seconds), although the seconds are not multiplied by GPUs, by the number of
  // GPUs.
  std::int64_t forced_event() const override {
    std::int64_t next = never;
    for (const std::size_t job : running_) {
      if (queue_of_[job] >= limits.size()) continue;
      const std::int64_t gpus = trace_[job].gpus;
      next = std::min(next, now_ + (limits[queue_of_[job]] - jobs_[job].executed + gpus - 1) / gpus);
    }
    return next;
  }

  std::array<std::vector<std::size_t>, limits.size() + 1> queues_;
  std::vector<std::size_t> queue_of_;
  std::vector<std::size_t> ending_at_arrival_;  // as was expected when this was last so
  bool keeps_stale_ends_;
};

}  // namespace

Result<sim::SimulationResult> tiresias_fifo(const SecondsTrace& jobs, const Shape& shape) {
  return TiresiasFifo(jobs, shape).run();
}
Result<sim::SimulationResult> tiresias_srtf(const SecondsTrace& jobs, const Shape& shape) {
  return TiresiasSrtf(jobs, shape).run();
}
Result<sim::SimulationResult> tiresias_dlas_gpu(const SecondsTrace& jobs, const Shape& shape) {
  return DlasGpu(jobs, shape, true).run();
}
Result<sim::SimulationResult> tiresias_dlas_gpu_mended(const SecondsTrace& jobs, const Shape& shape) {
  return DlasGpu(jobs, shape, false).run();
}

}  // namespace sl::study
