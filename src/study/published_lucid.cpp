// S-Lab-System-Group/Lucid: servers of 8 GPUs, a clock that ticks every second.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "study/published_worlds.h"

namespace sl::study {
namespace {

constexpr int gpus_per_server = 8;

// Placement: up to 8 GPUs on the fullest server that has room. More on empty servers, and what is left of the number
// divided by 8 on the server with the most free GPUs after those. Lowest index first.
class Servers {
 public:
  Servers(int servers, std::size_t jobs) : free_(static_cast<std::size_t>(servers), gpus_per_server), where_(jobs) {}

  bool place(std::size_t job, int gpus) {
    if (gpus > gpus_per_server) return place_on_empty(job, gpus);
    std::optional<std::size_t> best;
    for (std::size_t s = 0; s < free_.size(); ++s) {
      if (free_[s] >= gpus && (!best || free_[s] < free_[*best])) best = s;
    }
    if (best) take(job, *best, gpus);
    return best.has_value();
  }
  void release(std::size_t job) {
    for (const auto& [server, gpus] : where_[job]) free_[server] += gpus;
    where_[job].clear();
  }

 private:
  bool place_on_empty(std::size_t job, int gpus) {
    std::vector<std::size_t> order(free_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{}, [this](std::size_t server) { return free_[server]; });
    std::vector<std::pair<std::size_t, int>> parts;
    for (int left = gpus; left > 0; left -= gpus_per_server) {
      const int wanted = std::min(left, gpus_per_server);
      if (parts.size() == order.size() || free_[order[parts.size()]] < wanted) return false;
      parts.emplace_back(order[parts.size()], wanted);
    }
    for (const auto& [server, part] : parts) take(job, server, part);
    return true;
  }
  void take(std::size_t job, std::size_t server, int gpus) {
    free_[server] -= gpus;
    where_[job].emplace_back(server, gpus);
  }
  std::vector<int> free_;
  std::vector<std::vector<std::pair<std::size_t, int>>> where_;
};

// First come, first served; the first job that does not fit blocks those behind it. Exact end times, no ticks.
class LucidFifo {
 public:
  LucidFifo(const SecondsTrace& trace, const Shape& shape) : trace_(trace), servers_(shape.servers, trace.size()) {
    result_.outcomes.resize(trace.size());
  }
  sim::SimulationResult run() {
    for (std::size_t arrived = 0, next = 0; next < trace_.size() || !running_.empty();) {
      std::int64_t now = arrived < trace_.size() ? trace_[arrived].submitted : never;
      for (const auto& [end, job] : running_) now = std::min(now, end);
      if (now == never) break;
      finish(now);
      while (arrived < trace_.size() && trace_[arrived].submitted <= now) ++arrived;
      for (; next < arrived && servers_.place(next, trace_[next].gpus); ++next) start(next, now);
    }
    return std::move(result_);
  }

 private:
  void finish(std::int64_t now) {
    std::erase_if(running_, [&](const auto& item) {
      if (item.first > now) return false;
      servers_.release(item.second);
      result_.finish(item.second, at_second(now));
      return true;
    });
  }
  void start(std::size_t job, std::int64_t now) {
    running_.emplace_back(now + trace_[job].duration, job);
    result_.outcomes[job].started = at_second(now);
    result_.gpu_s_allocated += static_cast<double>(trace_[job].duration * trace_[job].gpus);
  }
  const SecondsTrace& trace_;
  Servers servers_;
  std::vector<std::pair<std::int64_t, std::size_t>> running_;
  sim::SimulationResult result_;
};

// Its preemptive schedulers. At each tick: ends, arrivals, then decisions; derived classes define the order.
class Ticking {
 public:
  Ticking(const SecondsTrace& trace, const Shape& shape)
      : trace_(trace), jobs_(trace.size()), gpus_(shape.gpus()), servers_(shape.servers, trace.size()) {
    result_.outcomes.resize(trace.size());
    for (std::size_t j = 0; j < trace.size(); ++j) jobs_[j].remaining = trace[j].duration;
  }
  virtual ~Ticking() = default;

  sim::SimulationResult run() {
    for (now_ = trace_.empty() ? never : trace_.front().submitted; finished_ < trace_.size(); ++now_) {
      tick();
      const std::int64_t idle = idle_ticks();
      for (const std::size_t job : running_) work(job, idle);
      now_ += idle;
    }
    return std::move(result_);
  }

 protected:
  struct Standing {
    std::int64_t remaining = 0, service = 0;  // seconds, GPU-seconds
  };
  virtual bool decides_at(std::int64_t second) const = 0;
  // Whether to decide, with the jobs as they are: something has arrived, ended or been preempted since the last time.
  virtual bool has_reason() const { return changed_; }
  virtual std::vector<std::size_t> in_order() const = 0;

  static std::vector<std::size_t> joined(std::vector<std::size_t> first, const std::vector<std::size_t>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  const SecondsTrace& trace_;
  std::vector<Standing> jobs_;
  std::vector<std::size_t> waiting_, running_;
  bool changed_ = false;

 private:
  void work(std::size_t job, std::int64_t seconds) {
    jobs_[job].remaining -= seconds;
    jobs_[job].service += seconds * trace_[job].gpus;
    result_.gpu_s_allocated += static_cast<double>(seconds * trace_[job].gpus);
  }

  void tick() {
    std::vector<std::size_t> still;
    for (const std::size_t job : running_) jobs_[job].remaining == 0 ? finish(job) : still.push_back(job);
    running_ = std::move(still);
    for (const std::size_t job : running_) work(job, 1);
    for (; next_arrival_ < trace_.size() && trace_[next_arrival_].submitted <= now_; ++next_arrival_) {
      waiting_.push_back(next_arrival_);
      changed_ = true;
    }
    if (has_reason() && decides_at(now_)) decide();
  }

  void finish(std::size_t job) {
    servers_.release(job);
    result_.finish(job, at_second(now_));
    ++finished_;
    changed_ = true;
  }

  // The first jobs in order, up to all GPUs by count, wherever those are; a job that does not fit wastes its part until
  // the next tick.
  void decide() {
    changed_ = false;
    const std::vector<std::size_t> unfinished = in_order();
    std::vector<bool> inside(trace_.size(), false);
    int quota = gpus_;
    for (const std::size_t job : unfinished) {
      if (trace_[job].gpus > quota) continue;
      quota -= trace_[job].gpus;
      inside[job] = true;
    }
    preempt_outside(inside);
    for (const std::size_t job : unfinished) {
      if (inside[job] && is_waiting(job)) try_start(job);
    }
  }

  bool is_waiting(std::size_t job) const { return std::find(waiting_.begin(), waiting_.end(), job) != waiting_.end(); }

  void preempt_outside(const std::vector<bool>& inside) {
    std::vector<std::size_t> still;
    for (const std::size_t job : running_) {
      if (inside[job]) {
        still.push_back(job);
        continue;
      }
      servers_.release(job);
      jobs_[job].remaining += trace_[job].gpus <= gpus_per_server ? 40 : 60;
      ++result_.outcomes[job].preemptions;
      waiting_.push_back(job);
      changed_ = true;
    }
    running_ = std::move(still);
  }

  void try_start(std::size_t job) {
    if (!servers_.place(job, trace_[job].gpus)) return;
    std::erase(waiting_, job);
    running_.push_back(job);
    if (!result_.outcomes[job].started.happened()) result_.outcomes[job].started = at_second(now_);
  }

  // Ticks after this one in which nothing can happen but work.
  std::int64_t idle_ticks() const {
    std::int64_t next = next_arrival_ < trace_.size() ? trace_[next_arrival_].submitted : never;
    for (const std::size_t job : running_) next = std::min(next, now_ + jobs_[job].remaining + 1);
    next = std::min(next, next_decision());
    return next == never ? 0 : std::max<std::int64_t>(next - now_ - 1, 0);
  }
  std::int64_t next_decision() const {
    if (!has_reason()) return never;
    std::int64_t second = now_ + 1;
    while (!decides_at(second)) ++second;
    return second;
  }

  int gpus_;
  Servers servers_;
  std::size_t next_arrival_ = 0, finished_ = 0;
  std::int64_t now_ = 0;
  sim::SimulationResult result_;
};

class LucidSrtf : public Ticking {
 public:
  using Ticking::Ticking;

 private:
  bool decides_at(std::int64_t) const override { return true; }
  std::vector<std::size_t> in_order() const override {
    std::vector<std::size_t> order = joined(waiting_, running_);
    std::ranges::stable_sort(order, {}, [this](std::size_t job) { return jobs_[job].remaining; });
    return order;
  }
};

// Two queues by service, decided anew every minute: service grows without an event.
class TwoQueues : public Ticking {
 public:
  using Ticking::Ticking;

 private:
  static constexpr std::int64_t limit = 18'000;  // GPU-seconds
  bool decides_at(std::int64_t second) const override { return second % 60 == 0; }
  bool has_reason() const override { return !waiting_.empty(); }
  std::vector<std::size_t> in_order() const override {
    std::vector<std::size_t> order = joined(running_, waiting_);
    std::ranges::stable_sort(order, {}, [this](std::size_t job) {
      return std::pair(jobs_[job].service > limit, trace_[job].submitted);
    });
    return order;
  }
};

}  // namespace

Result<sim::SimulationResult> lucid_fifo(const SecondsTrace& jobs, const Shape& shape) { return LucidFifo(jobs, shape).run(); }
Result<sim::SimulationResult> lucid_srtf(const SecondsTrace& jobs, const Shape& shape) { return LucidSrtf(jobs, shape).run(); }
Result<sim::SimulationResult> lucid_tiresias(const SecondsTrace& jobs, const Shape& shape) {
  return TwoQueues(jobs, shape).run();
}

}  // namespace sl::study
