// Answers to users' questions: why a job waits, in which order jobs are served, which GPUs are kept for whom.
#include <algorithm>

#include "core/core.h"
#include "policy/placer.h"
#include "policy/satisfiable.h"

namespace sl {
namespace {

// Why it cannot start, judging by the free GPUs.
ReasonCode explain_by_ledger(const Ledger& ledger, const Job& job, int count) {
  const JobRequest& request = job.request;
  bool any_up = false, draining = false, quarantined = false, outside = false;
  int most = 0, total = 0, most_roomy = 0, total_roomy = 0;
  for (std::size_t i = 0; i < ledger.servers().size(); ++i) {
    const ServerIndex at(static_cast<std::uint32_t>(i));
    const Server& server = ledger.servers()[at];
    draining = draining || server.state == ServerState::draining;
    quarantined = quarantined || server.state == ServerState::quarantined;
    if (server.state != ServerState::up) continue;
    any_up = true;
    if (!is_eligible(server, request)) continue;
    outside = outside || !server.outside.empty();
    most = std::max(most, ledger.free().count(at));
    total += ledger.free().count(at);
    const int with_memory = free_for(ledger.free(), ledger.servers(), request, at).count();
    most_roomy = std::max(most_roomy, with_memory);
    total_roomy += with_memory;
  }
  if (!any_up) {
    return quarantined ? ReasonCode::quarantined : draining ? ReasonCode::draining : ReasonCode::server_down;
  }
  if (place(ledger.free(), ledger.servers(), job, count)) return ReasonCode::behind_others;
  const bool on_one = request.single_server();
  if (!is_frozen(job) && (on_one ? most : total) >= count && (on_one ? most_roomy : total_roomy) < count)
    return ReasonCode::frozen_memory;
  if (most >= count) return ReasonCode::cpu_or_memory;
  if (total >= count && request.servers_max < any_number_of_servers) return ReasonCode::fragmented;
  return outside && total == 0 ? ReasonCode::used_outside : ReasonCode::no_free_gpus;
}

}  // namespace

ReasonCode Core::explain(JobIndex index) const {
  const Job& job = jobs_[index];
  if (job.on_hold) return ReasonCode::held;
  if (job.state == JobState::held) return ReasonCode::retry_backoff;
  if (!job.is_queued()) return ReasonCode::none;
  if (!gate_.is_ready(job.request, snapshot_.now))
    return gate_.awaits_jobs(job.request) ? ReasonCode::dependency : ReasonCode::not_before;
  if (job.group) return explain_group(job);
  const JobIndex group = job.request.member_of.valid() ? jobs_.find(job.request.member_of) : JobIndex::none();
  if (group.valid() && jobs_[group].on_hold) return ReasonCode::held;
  if (group.valid() && LineGate::is_over_limit(job, jobs_[group])) return ReasonCode::max_running;
  const bool could_run =
      !job.request.needs_gpus() && !is_frozen(job) && could_run_now(servers(), job.request, 0).possible();
  if (job.set_aside && !could_run) {
    if (!is_frozen(job) && awaits_frozen_memory(servers(), job.request, gpus_least(index)))
      return ReasonCode::frozen_memory;
    const bool ever = is_frozen(job) || is_satisfiable(servers(), job.request, gpus_least(index));
    return ever ? ReasonCode::server_away : ReasonCode::unsatisfiable;
  }
  if (job.reason != ReasonCode::none) return job.reason;
  return explain_by_ledger(ledger_, job, gpus_least(index));
}

JobId Core::waiting_member(const Job& group) const {
  for (const JobId member : groups_.unfinished_members(group.request.id)) {
    const Job& job = jobs_[find(member)];
    if (job.is_queued() && !job.on_hold) return member;
  }
  return JobId::none();
}

// Why its members wait: the first that has come up and does, else those that have not.
ReasonCode Core::explain_group(const Job& group) const {
  if (const JobId member = waiting_member(group); member.valid()) return explain(find(member));
  const bool is_full = group.group->max_running > 0 && !group.group->to_come.empty();
  return is_full ? ReasonCode::max_running : ReasonCode::none;
}

std::vector<JobIndex> Core::queue_order(Instant now) const {
  return policy_.get() ? policy_.get()->queue_order(view(now)) : std::vector<JobIndex>();
}

std::string Core::standing(JobIndex job, Instant now) const {
  const bool is_ranked = policy_.get() && jobs_[job].request.needs_gpus();
  return is_ranked ? policy_.get()->standing(view(now), job) : std::string();
}

std::vector<Reservation> Core::reservations(Instant now) const {
  return policy_.get() ? policy_.get()->reservations(view(now)) : std::vector<Reservation>();
}

}  // namespace sl
