#include "forecast/present.h"

#include <algorithm>

namespace sl::forecast {
namespace {

template <typename T>
std::unique_ptr<T> copy_of(const std::unique_ptr<T>& from) {
  return from ? std::make_unique<T>(*from) : nullptr;
}

// As the copy begins (present.h). Whether the policy has to decide about the job again.
bool begin_again(Job& job, Instant now) {
  job.set_aside = false;  // the policy's needs decide
  job.target.clear();
  if (is_moving(job.state)) {
    job.state = JobState::running;
    job.accounted = now;
    return true;
  }
  if (job.state != JobState::starting || job.gpus_awaited == 0) return false;
  job.gpus_awaited = 0;
  if (job.resumes) {
    job.state = JobState::suspended;
    job.frozen_on = std::make_unique<Allocation>(job.allocation);
  } else {
    job.state = JobState::pending;
    --job.attempt;
  }
  job.allocation.clear();
  return true;
}

void set_state(Core& core, const Server& server, Instant now, Effects& effects) {
  const std::string& name = server.description.name;
  if (server.state == ServerState::down || server.state == ServerState::removed)
    core.apply(ServerSilent{name}, now, effects);
  if (server.state == ServerState::draining || server.state == ServerState::drained)
    core.apply(ServerDrained{name}, now, effects);
  if (server.state == ServerState::quarantined) core.apply(ServerQuarantined{name}, now, effects);
  if (server.state == ServerState::removed) core.apply(ServerRemoved{name}, now, effects);
}

}  // namespace

std::size_t Present::find(JobId job) const {
  const auto at = std::lower_bound(jobs.begin(), jobs.end(), job,
                                   [](const Job& candidate, JobId id) { return candidate.request.id < id; });
  return at != jobs.end() && at->request.id == job ? static_cast<std::size_t>(at - jobs.begin()) : jobs.size();
}

Job copy_of(const Job& job) {
  Job copy;
  copy.request = job.request;
  copy.state = job.state;
  copy.cancel_requested = job.cancel_requested;
  copy.on_hold = job.on_hold;
  copy.resumes = job.resumes;
  copy.reason = job.reason;
  copy.attempt = job.attempt;
  copy.gpus_awaited = job.gpus_awaited;
  copy.set_aside = job.set_aside;
  copy.state_since = job.state_since;
  copy.waiting_since = job.waiting_since;
  copy.first_start = job.first_start;
  copy.last_start = job.last_start;
  copy.placed = job.placed;
  copy.accounted = job.accounted;
  copy.run = job.run;
  copy.attained_gpu_us = job.attained_gpu_us;
  copy.run_at_promotion = job.run_at_promotion;
  copy.attained_at_promotion_gpu_us = job.attained_at_promotion_gpu_us;
  copy.preemptions = job.preemptions;
  copy.resizes = job.resizes;
  copy.migrations = job.migrations;
  copy.failures = job.failures;
  copy.last_server = job.last_server;
  copy.allocation = job.allocation;
  copy.target = job.target;
  copy.frozen_on = copy_of(job.frozen_on);
  copy.telemetry = copy_of(job.telemetry);
  copy.run_by_gpu_type = copy_of(job.run_by_gpu_type);
  copy.group = copy_of(job.group);
  copy.annotation = job.annotation;
  return copy;
}

Present copy_of(const Core& core, Instant now) {
  Present present;
  present.now = now;
  present.next_wake = std::max(core.next_wake(), now);
  present.settings = core.settings();
  present.users = core.users();
  present.families = core.families();
  present.gpu_types = core.gpu_types();
  present.servers.assign(core.servers().begin(), core.servers().end());
  present.jobs.reserve(core.unfinished());
  for (const Job& job : core.jobs()) {
    const JobIndex index = job.request.id.valid() ? core.find(job.request.id) : JobIndex();
    if (!index.valid() || &core.job(index) != &job || is_finished(job.state)) continue;
    if (begin_again(present.jobs.emplace_back(copy_of(job)), now)) present.next_wake = now;
  }
  std::sort(present.jobs.begin(), present.jobs.end(),
            [](const Job& a, const Job& b) { return a.request.id < b.request.id; });
  present.history = core.history();
  present.memory = core.memory();
  return present;
}

Present copy_of(const Present& present) {
  Present copy{.now = present.now,
               .next_wake = present.next_wake,
               .settings = present.settings,
               .users = present.users,
               .families = present.families,
               .gpu_types = present.gpu_types,
               .servers = present.servers,
               .returns = present.returns,
               .jobs = {},
               .history = present.history,
               .memory = present.memory};
  copy.jobs.reserve(present.jobs.size());
  for (const Job& job : present.jobs) copy.jobs.push_back(copy_of(job));
  return copy;
}

void restore(const Present& present, Core& core, Effects& effects) {
  core.users() = present.users;
  core.families() = present.families;
  core.gpu_types() = present.gpu_types;
  core.restore_memory(present.memory);
  core.restore_history(present.history);
  for (const Server& server : present.servers) core.apply(ServerJoined{server.description}, present.now, effects);
  for (const Job& job : present.jobs) (void)core.restore(copy_of(job), present.now);
  for (std::size_t i = 0; i < present.servers.size(); ++i) {
    const Server& server = present.servers[i];
    core.restore_affinity(ServerIndex(static_cast<decltype(ServerIndex{}.value)>(i)), server.affinity);
    core.apply(TelemetrySampled{server.description.name, server.gpus, server.outside, server.unavailable}, present.now,
               effects);
    set_state(core, server, present.now, effects);
  }
  effects.clear();
}

}  // namespace sl::forecast
