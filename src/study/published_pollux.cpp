// petuum/adaptdl, branch osdi21-artifact, simulator.py with its policy tiresias: a round every minute, two queues, how
// fast a training is follows from measurements of its placement and batch (trace/pollux).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "study/published_worlds.h"
#include "trace/pollux/training.h"

namespace sl::study {
namespace {

constexpr std::int64_t round_s = 60;
constexpr std::int64_t threshold_gpu_s = 57'600;  // of service, after which a job is in the second queue

class PolluxRounds {
 public:
  PolluxRounds(const SecondsTrace& trace, const Shape& shape)
      : trace_(trace), shape_(shape), free_(static_cast<std::size_t>(shape.servers), shape.gpus_per_server) {
    result_.outcomes.resize(trace.size());
  }

  Result<sim::SimulationResult> run() {
    for (std::size_t j = 0; j < trace_.size(); ++j) {
      if (trace_[j].gpus > shape_.gpus())
        return refused(j, fmt::format("asks for {} of {} GPUs", trace_[j].gpus, shape_.gpus()));
      Result<trace::PolluxTraining> training = trace::PolluxTraining::of(trace_[j].application, trace_[j].batch);
      if (!training.ok()) return refused(j, training.error());
      jobs_.emplace_back(std::move(*training));
    }
    while (result_.finished.size() < trace_.size()) {
      skip_to_next_arrival();
      pass_round();
      if (Status decided = decide(); !decided.ok()) return decided.error();
    }
    return std::move(result_);
  }

 private:
  struct Job {
    explicit Job(trace::PolluxTraining made) : training(std::move(made)) {}
    trace::PolluxTraining training;
    std::vector<std::pair<std::size_t, int>> where;  // server, GPUs
    bool is_running = false, is_demoted = false;
    std::int64_t run_s = 0;  // rounds in which it ran
    std::int64_t held_since = 0;
  };

  Error refused(std::size_t job, Error why) const {
    why.message = fmt::format("job {}: {}", trace_[job].id, why.message);
    return why;
  }
  Error refused(std::size_t job, const std::string& why) const {
    return invalid("semantics-trace", fmt::format("job {} {}", trace_[job].id, why));
  }

  // Nothing happens in rounds without jobs.
  void skip_to_next_arrival() {
    if (active_.empty()) now_ = std::max(now_, (trace_[arrived_].submitted - 1) / round_s * round_s);
  }

  // Everybody trains for a minute.
  void pass_round() {
    now_ += round_s;
    std::vector<std::pair<std::int64_t, std::size_t>> ended;
    for (const std::size_t j : active_) {
      jobs_[j].training.run(round_s);
      if (const auto end = jobs_[j].training.done_after_s()) ended.emplace_back(*end, j);
    }
    std::ranges::sort(ended);
    for (const auto& [end, j] : ended) {
      release(j, end);
      result_.finish(j, at_second(end));
    }
    if (ended.empty()) return;
    for (auto* jobs : {&active_, &first_, &second_})
      std::erase_if(*jobs, [&](std::size_t j) { return jobs_[j].training.done_after_s().has_value(); });
  }

  Status decide() {
    for (; arrived_ < trace_.size() && trace_[arrived_].submitted <= now_; ++arrived_) {
      jobs_[arrived_].training.run(now_);  // its clock is that of the simulation
      active_.push_back(arrived_);
      first_.push_back(arrived_);
    }
    demote();
    std::vector<std::size_t> order = first_;
    order.insert(order.end(), second_.begin(), second_.end());
    int left = shape_.gpus();
    for (const std::size_t j : order) {
      jobs_[j].is_running = trace_[j].gpus <= left;
      if (jobs_[j].is_running) {
        left -= trace_[j].gpus;
      } else if (!jobs_[j].where.empty()) {
        release(j, now_);
        ++result_.outcomes[j].preemptions;
      }
    }
    for (const std::size_t j : order) {
      if (!jobs_[j].is_running || !jobs_[j].where.empty()) continue;
      if (Status placed = place(j); !placed.ok()) return placed;
    }
    return {};
  }

  // In order of submission, into the second queue.
  void demote() {
    for (const std::size_t j : active_) {
      Job& job = jobs_[j];
      if (!job.is_running) continue;
      job.run_s += round_s;
      if (job.is_demoted || job.run_s * trace_[j].gpus < threshold_gpu_s) continue;
      job.is_demoted = true;
      std::erase(first_, j);
      second_.push_back(j);
    }
  }

  // On the servers with the most free GPUs, ties to the first.
  Status place(std::size_t j) {
    Job& job = jobs_[j];
    std::vector<int> gpus_by_server;
    for (int left = trace_[j].gpus; left > 0;) {
      const auto most = std::ranges::max_element(free_);
      const int taken = std::min(*most, left);
      job.where.emplace_back(static_cast<std::size_t>(most - free_.begin()), taken);
      gpus_by_server.push_back(taken);
      *most -= taken;
      left -= taken;
    }
    if (Status placed = job.training.place(gpus_by_server); !placed.ok()) return refused(j, placed.error());
    job.held_since = now_;
    if (!result_.outcomes[j].started.happened()) result_.outcomes[j].started = at_second(now_);
    return {};
  }

  void release(std::size_t j, std::int64_t at) {
    Job& job = jobs_[j];
    for (const auto& [server, gpus] : job.where) free_[server] += gpus;
    job.where.clear();
    if (!job.training.done_after_s()) (void)job.training.place({});
    const std::int64_t held_s = at - job.held_since;
    result_.outcomes[j].run = result_.outcomes[j].run + Duration::whole_seconds(held_s);
    result_.gpu_s_allocated += static_cast<double>(held_s * trace_[j].gpus);
  }

  const SecondsTrace& trace_;
  Shape shape_;
  std::vector<Job> jobs_;
  std::vector<int> free_;                    // by server
  std::vector<std::size_t> active_;          // in order of submission
  std::vector<std::size_t> first_, second_;  // the same jobs by queue
  std::size_t arrived_ = 0;
  std::int64_t now_ = 0;
  sim::SimulationResult result_;
};

}  // namespace

Result<sim::SimulationResult> pollux_tiresias(const SecondsTrace& jobs, const Shape& shape) {
  return PolluxRounds(jobs, shape).run();
}

}  // namespace sl::study
