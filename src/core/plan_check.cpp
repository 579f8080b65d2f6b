#include "core/plan_check.h"

#include <algorithm>
#include <utility>

#include "model/gpu_counts.h"
#include "policy/placer.h"

namespace sl {
namespace {

bool may_be_interrupted(const Job& job) {
  return job.request.preemptible && job.request.capability == Capability::checkpoint;
}

// Whether a frozen job would continue elsewhere.
bool must_stay(const Job& job, const Allocation& gpus) { return is_frozen(job) && gpus != *job.frozen_on; }

bool only_notes(DecisionKind kind) {
  return kind == DecisionKind::annotate || kind == DecisionKind::promote || kind == DecisionKind::defer ||
         kind == DecisionKind::dedicate;
}

}  // namespace

Refusal PlanCheck::check(const Decision& decision) const {
  if (only_notes(decision.kind)) return Refusal::none;
  if (!jobs_.contains(decision.job)) return Refusal::unknown_job;
  const Job& job = jobs_[decision.job];
  switch (decision.kind) {
    case DecisionKind::start:
      return check_start(decision.job, decision.gpus);
    case DecisionKind::share:
      return check_share(job, decision.gpus);
    case DecisionKind::resize:
      return check_move(decision.job, decision.gpus, true);
    case DecisionKind::migrate:
      return check_move(decision.job, decision.gpus, false);
    case DecisionKind::suspend:
      return check_suspend(job);
    case DecisionKind::preempt:
      return check_preempt(job);
    default:  // reject
      return job.state == JobState::pending ? Refusal::none : Refusal::not_waiting;
  }
}

Refusal PlanCheck::check_start(JobIndex index, const Allocation& gpus) const {
  const Job& job = jobs_[index];
  if (!job.is_waiting()) return Refusal::not_waiting;
  if (must_stay(job, gpus)) return Refusal::not_interruptible;
  if (const Refusal refusal = check_gpus(index, gpus); refusal != Refusal::none) return refusal;
  return has_room(index, {}, gpus) ? Refusal::none : Refusal::resources_taken;
}

Refusal PlanCheck::check_share(const Job& job, const Allocation& gpus) const {
  if (!job.is_waiting()) return Refusal::not_waiting;
  if (must_stay(job, gpus)) return Refusal::not_interruptible;
  if (const Refusal refusal = check_place(job, gpus); refusal != Refusal::none) return refusal;
  if (!job.request.shareable || !ledger_.all_shareable(gpus, jobs_.table())) return Refusal::gpus_taken;
  return ledger_.free().fits(gpus, job.request) ? Refusal::none : Refusal::resources_taken;
}

Refusal PlanCheck::check_move(JobIndex index, const Allocation& gpus, bool resize) const {
  const Job& job = jobs_[index];
  if (resize ? !abilities_.resize : !abilities_.migrate) return Refusal::world_cannot;
  if (job.state != JobState::running) return Refusal::not_running;
  if (!may_be_interrupted(job) || (!resize && !job.request.migratable)) return Refusal::not_interruptible;
  const bool same_count = gpus.count() == job.allocation.count();
  if (gpus.empty() || same_count == resize) return Refusal::wrong_gpu_count;
  if (const Refusal refusal = check_gpus(index, gpus); refusal != Refusal::none) return refusal;
  return has_room(index, job.allocation, gpus) ? Refusal::none : Refusal::resources_taken;
}

Refusal PlanCheck::check_suspend(const Job& job) const {
  const bool can_freeze = abilities_.freeze && would_freeze(job);
  if (!abilities_.suspend && !can_freeze) return Refusal::world_cannot;
  if (job.state != JobState::running) return Refusal::not_running;
  return may_be_suspended(job) ? Refusal::none : Refusal::not_interruptible;
}

Refusal PlanCheck::check_preempt(const Job& job) {
  if (job.state != JobState::running) return Refusal::not_running;
  return may_be_interrupted(job) ? Refusal::none : Refusal::not_interruptible;
}

// Whether the job could be on these GPUs, whoever holds them now.
Refusal PlanCheck::check_place(const Job& job, const Allocation& gpus) const {
  if (is_frozen(job)) return Refusal::none;  // its processes are there, whatever has changed since
  if (!may_run_on(job.request, gpus.count())) return Refusal::wrong_gpu_count;
  if (!job.request.may_spread_over(gpus)) return Refusal::spans_servers;
  // The usual case, without reading the servers.
  if (job.request.takes_any_server() && ledger_.all_free(gpus)) return Refusal::none;
  for (const ServerGpus& part : gpus.parts()) {
    if (!ledger_.servers().contains(part.server) || ledger_.servers()[part.server].state != ServerState::up)
      return Refusal::server_not_up;
    const Server& server = ledger_.servers()[part.server];
    if (!server.all().contains(part.gpus)) return Refusal::gpus_taken;
    const GpuSet new_there = part.gpus - job.allocation.on(part.server);
    if (!is_eligible(server, job.request) || roomy(server, new_there, job.request.gpu_memory_bytes) != new_there)
      return Refusal::type_or_memory;
  }
  return Refusal::none;
}

// The same, and every GPU that it does not hold yet is free or about to be released.
Refusal PlanCheck::check_gpus(JobIndex index, const Allocation& gpus) const {
  const Job& job = jobs_[index];
  if (const Refusal refusal = check_place(job, gpus); refusal != Refusal::none) return refusal;
  const Allocation beyond = job.allocation.empty() ? Allocation() : difference(gpus, job.allocation);
  const Allocation& wanted = job.allocation.empty() ? gpus : beyond;
  if (!ledger_.all_free(wanted) &&
      !ledger_.all_free_or(wanted, [&](JobIndex t, ServerIndex s, int g) { return t != index && leaves(t, s, g); })) {
    return Refusal::gpus_taken;
  }
  return Refusal::none;
}

// Whether this GPU's tenant is about to leave it.
bool PlanCheck::leaves(JobIndex tenant, ServerIndex server, int gpu) const {
  const Job& job = jobs_[tenant];
  if (job.state == JobState::stopping) return true;
  if (!is_moving(job.state)) return false;
  return !job.target.on(server).has(gpu);
}

// Whether everything else that the job needs on `to`, beyond what it holds on `from`, is free on each server, or will be
// once the GPUs are that it waits for: with them their tenants give up the rest.
bool PlanCheck::has_room(JobIndex index, const Allocation& from, const Allocation& to) const {
  bool fits = true;
  for_each_excess(from, to, jobs_[index].request, [&](ServerIndex server, const ResourceVector& needed) {
    fits = fits && (ledger_.free().fits(server, needed) ||
                    needed.fits_in(room_by_then(index, server, to.on(server) - from.on(server))));
  });
  return fits;
}

ResourceVector PlanCheck::room_by_then(JobIndex index, ServerIndex server, GpuSet gpus) const {
  Leaving leaving;
  note_leaving(server, gpus, leaving);
  ResourceVector room = ledger_.free().resources(server);
  for (auto& [tenant, held] : leaving) room += std::exchange(held, {});
  // What other jobs were promised counts as theirs already, while those that they wait for still hold it.
  std::map<JobIndex, GpuSet> promised;
  const auto tenants = ledger_.tenants()[server];
  for (std::size_t gpu = 0; gpu < tenants.size(); ++gpu) {
    const JobIndex next = tenants[gpu].next;
    if (next.valid() && next != index) promised[next] |= GpuSet::only(static_cast<int>(gpu));
  }
  for (const auto& [next, awaited] : promised) room += counted_twice(jobs_[next], server, awaited, leaving);
  return room;
}

// Of what the job was promised there, what the tenants of the GPUs that it awaits still hold; it is taken from `leaving`.
ResourceVector PlanCheck::counted_twice(const Job& job, ServerIndex server, GpuSet awaited, Leaving& leaving) const {
  ResourceVector share =
      job.target.empty() ? needs(job, job.allocation, {}, server) : needs(job, job.target, job.allocation, server);
  ResourceVector twice;
  note_leaving(server, awaited, leaving);
  awaited.for_each([&](int gpu) {
    ledger_.for_each_tenant(server, gpu, [&](JobIndex tenant) {
      const auto held = leaving.find(tenant);
      if (held == leaving.end()) return;
      for (std::size_t d = 0; d < resource_count; ++d) {
        const double given = std::min(share.amount[d], held->second.amount[d]);
        share.amount[d] -= given;
        held->second.amount[d] -= given;
        twice.amount[d] += given;
      }
    });
  });
  return twice;
}

// What the job needs there on `gpus` beyond what it needs on `but_for`.
ResourceVector PlanCheck::needs(const Job& job, const Allocation& gpus, const Allocation& but_for, ServerIndex server) {
  ResourceVector needed = Demand(job.request).on(gpus, server);
  const ResourceVector has = Demand(job.request).on(but_for, server);
  for (std::size_t d = 0; d < resource_count; ++d) needed.amount[d] = std::max(0.0, needed.amount[d] - has.amount[d]);
  return needed;
}

// Adds the tenants of these GPUs that leave them, with what they hold there until then.
void PlanCheck::note_leaving(ServerIndex server, GpuSet gpus, Leaving& leaving) const {
  gpus.for_each([&](int gpu) {
    ledger_.for_each_tenant(server, gpu, [&](JobIndex tenant) {
      if (leaving.contains(tenant) || !leaves(tenant, server, gpu)) return;
      const Job& job = jobs_[tenant];
      leaving[tenant] = needs(job, job.allocation, is_moving(job.state) ? job.target : Allocation(), server);
    });
  });
}

}  // namespace sl
