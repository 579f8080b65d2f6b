// Jobs that arrive and take their time on a test Cluster: a small simulation with exact ends, for worked examples.
//
//   Workload load(cluster);
//   load.job(1, 0, 100, gpus(2));   // id, arrives at, seconds on the GPUs it asks for, request
//   load.run();
//   EXPECT_EQ(load.ended(1), 130);
//
// On more or fewer GPUs a job runs faster or slower according to its speed curve. Stopping and starting cost nothing.
#pragma once

#include <cmath>
#include <map>
#include <vector>

#include "support/cluster.h"

namespace sl::test {

class Workload {
 public:
  explicit Workload(Cluster& cluster) : cluster_(cluster) {}

  // Unless the request says otherwise, its estimate is the truth and the job can be stopped at any time.
  Workload& job(std::int64_t id, double arrives_s, double seconds, JobRequest request) {
    if (!request.estimate) request.estimate = Duration::seconds(seconds);
    request.capability = Capability::checkpoint;
    Task task;
    task.arrives_s = arrives_s;
    task.left_s = seconds;
    task.request = std::move(request);
    tasks_.emplace(id, std::move(task));
    return *this;
  }

  // Runs until everything has ended or that time has come.
  Workload& run(double until_s = 1e7) {
    while (true) {
      const double next = next_event();
      const double to = std::min(next, until_s);
      work_until(to);
      if (next > until_s || !std::isfinite(next)) break;
      cluster_.at(to);
      happen(to);
      cluster_.turn();
      ++turns;
    }
    cluster_.at(std::min(until_s, now_s_));
    return *this;
  }

  double ended(std::int64_t id) const { return std::round(tasks_.at(id).ended_s * 1e4) / 1e4; }  // -1: it has not ended
  bool all_ended() const {
    return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task.second.ended_s >= 0; });
  }
  int turns = 0;

 private:
  struct Task {
    double arrives_s = 0;
    double left_s = 0;  // on the GPUs it asked for
    double ended_s = -1;
    bool submitted = false;
    JobRequest request;
  };

  double rate(std::int64_t id, const Task& task) const {
    if (!task.submitted || task.ended_s >= 0 || !cluster_.has(id)) return 0;
    const Job& job = cluster_.job(id);
    if (job.state != JobState::running) return 0;
    return task.request.speed_curve().speed_on(job.allocation.count(), task.request.gpus);
  }
  double next_event() const {
    double next = std::numeric_limits<double>::infinity();
    for (const auto& [id, task] : tasks_) {
      if (!task.submitted) next = std::min(next, task.arrives_s);
      if (const double r = rate(id, task); r > 0) next = std::min(next, now_s_ + task.left_s / r);
    }
    const Instant wake = cluster_.core.next_wake();
    if (!wake.is_never() && cluster_.core.unfinished() > 0) next = std::min(next, std::max(now_s_, wake.to_seconds()));
    return next;
  }
  void work_until(double to_s) {
    if (!std::isfinite(to_s)) return;
    for (auto& [id, task] : tasks_) task.left_s -= rate(id, task) * (to_s - now_s_);
    now_s_ = to_s;
  }
  void happen(double now_s) {
    for (auto& [id, task] : tasks_) {
      if (!task.submitted && task.arrives_s <= now_s) {
        task.submitted = true;
        JobRequest request = task.request;
        request.id = JobId(id);
        request.submitted = cluster_.now;
        cluster_.engine.feed(JobSubmitted{std::move(request)}, cluster_.now);
      } else if (task.left_s <= 1e-6 && rate(id, task) > 0) {
        task.ended_s = now_s;
        cluster_.engine.feed(AttemptExited{JobId(id), cluster_.job(id).attempt, {}}, cluster_.now);
      }
    }
  }

  Cluster& cluster_;
  std::map<std::int64_t, Task> tasks_;
  double now_s_ = 0;
};

inline JobRequest with_speedup(JobRequest request, std::vector<double> speedup) {
  auto model = request.model ? JobModel(*request.model) : JobModel();
  model.speed_curve = SpeedCurve(std::move(speedup));
  request.model = std::make_shared<const JobModel>(std::move(model));
  return request;
}

}  // namespace sl::test
