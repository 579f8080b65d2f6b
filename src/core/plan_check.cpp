#include "core/plan_check.h"

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
  return ledger_.free().fits(gpus, job.request) ? Refusal::none : Refusal::resources_taken;
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
  return ledger_.free().fits_more(job.allocation, gpus, job.request) ? Refusal::none : Refusal::resources_taken;
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

}  // namespace sl
