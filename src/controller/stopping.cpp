#include "controller/stopping.h"

#include <algorithm>
#include <utility>

#include "controller/orders.h"

namespace sl::controller {

StopPlan Stopping::begin(std::vector<std::string> servers, const std::string& why, Instant now,
                         std::function<void(const Status&)> done) {
  servers_ = std::move(servers);
  done_ = std::move(done);
  is_stopping_ = true;
  StopPlan plan;
  for (const JobIndex index : jobs_with_processes(core_)) {
    JobEntry* entry = book_.find(core_.job(index).request.id);
    if (!entry || !must_end(core_.job(index))) continue;
    const StopReason reason = stop(*entry, core_.job(index), why, now);
    const wire::StopAttempt order = stop_order_for(*entry, reason);
    plan.grace = std::max(plan.grace, Duration::seconds(order.grace_s));
    if (reason != StopReason::none) plan.orders.push_back(order);  // else it is being frozen, and asked to do nothing
    if (reason == StopReason::preempted) plan.requeued.push_back(JobId(entry->row.id));
    if (reason == StopReason::cancelled) plan.cancelled.push_back(JobId(entry->row.id));
  }
  return plan;
}

// A job that is only promised GPUs would start once it gets them, on whichever server.
bool Stopping::must_end(const Job& job) const {
  return job.gpus_awaited > 0 || std::any_of(servers_.begin(), servers_.end(), [&](const std::string& name) {
           const ServerIndex server = core_.find_server(name);
           return server.valid() && where_it_is(job).is_on(server);
         });
}

// Returns why the job is stopped: it may have been about to stop anyway.
StopReason Stopping::stop(JobEntry& entry, const Job& job, const std::string& why, Instant now) {
  const JobId id = job.request.id;
  if (job.state == JobState::stopping) return job.cancel_requested ? StopReason::cancelled : entry.stopping;
  const bool can_return = job.request.capability == Capability::checkpoint || job.state == JobState::starting;
  if (can_return) {
    engine_.feed(JobPreempted{id}, now);
    return StopReason::preempted;
  }
  entry.row.failure_message = why;
  recorder_.write_event({.at_us = now.us, .kind = "job.cancel_requested", .job_id = id.value, .text = why});
  engine_.feed(JobCancelled{id}, now);
  return StopReason::cancelled;
}

void Stopping::drain(Instant now) {
  if (!is_stopping_) return;
  for (const Server& server : core_.servers()) {
    if (server.state == ServerState::up) engine_.feed(ServerDrained{server.description.name}, now);
  }
}

void Stopping::look() {
  if (!done_) return;
  const std::vector<JobIndex> left = jobs_with_processes(core_);
  if (std::ranges::any_of(left, [this](JobIndex job) { return must_end(core_.job(job)); })) return;
  recorder_.when_durable(std::exchange(done_, nullptr));
}

}  // namespace sl::controller
