// From what a policy wants to what happens. Every decision is checked against the ledger as it stands after the ones
// before it; an invalid one is dropped, counted and recorded, and changes nothing (policies.md 0.3.4).
#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "core/core.h"
#include "policy/placer.h"

namespace sl {
namespace {

// Release before start before grow (policies.md 0.3.5): what gives GPUs back must be known when others ask for them.
enum class Stage : std::uint8_t { release, move, start, grow };
Stage stage_of(const Decision& decision, const JobTable& jobs) {
  switch (decision.kind) {
    case DecisionKind::preempt:
    case DecisionKind::suspend:
    case DecisionKind::reject:
      return Stage::release;
    case DecisionKind::resize:
      return jobs.contains(decision.job) && decision.gpus.count() < jobs[decision.job].allocation.count() ? Stage::move
                                                                                                          : Stage::grow;
    case DecisionKind::migrate:
      return Stage::move;
    default:
      return Stage::start;
  }
}

bool may_be_interrupted(const Job& job) {
  return job.request.preemptible && job.request.capability == Capability::checkpoint;
}

}  // namespace

void Core::carry_out(const Plan& plan) {
  if (plan.last_server().valid()) memory_.last_server = plan.last_server();
  if (plan.blob()) memory_.blob = *plan.blob();
  for (const Instant at : plan.wakes()) {
    if (at > now_) policy_wake_ = std::min(policy_wake_, at);
  }
  if (plan.decisions().empty()) return;
  boost::container::small_vector<Stage, 16> stages;
  for (const Decision& decision : plan.decisions()) stages.push_back(stage_of(decision, jobs_));
  for (const Stage now : {Stage::release, Stage::move, Stage::start, Stage::grow}) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i] == now && !note(plan.decisions()[i])) try_to_carry_out(plan.decisions()[i]);
    }
  }
}

void Core::try_to_carry_out(const Decision& decision) {
  const Refusal refusal = is_known(decision.job) ? decide(decision) : Refusal::unknown_job;
  if (refusal == Refusal::none) return;
  ++refusals_[static_cast<std::size_t>(refusal)];
  const JobId id = jobs_.contains(decision.job) ? jobs_[decision.job].request.id : JobId::none();
  effects_->records.push_back(
      {.kind = RecordKind::decision_refused, .refusal = refusal, .index = decision.job, .job = id, .at = now_});
  // A world that cannot freeze a job can still stop it at a checkpoint: the next best for whoever wants its GPUs.
  if (decision.kind == DecisionKind::suspend && refusal == Refusal::world_cannot) decide_preempt(decision);
}

Refusal Core::decide(const Decision& decision) {
  switch (decision.kind) {
    case DecisionKind::start:
      return decide_start(decision, false);
    case DecisionKind::share:
      return decide_start(decision, true);
    case DecisionKind::resize:
      return decide_move(decision, true);
    case DecisionKind::migrate:
      return decide_move(decision, false);
    case DecisionKind::suspend:
      return decide_suspend(decision);
    case DecisionKind::preempt:
      return decide_preempt(decision);
    default:
      return decide_reject(decision);
  }
}

bool Core::note(const Decision& decision) {
  const auto known = [&] { return is_known(decision.job) && !is_finished(jobs_[decision.job].state); };
  switch (decision.kind) {
    case DecisionKind::annotate:
      if (known()) jobs_[decision.job].annotation = decision.value;
      return true;
    case DecisionKind::defer:
      if (known() && jobs_[decision.job].is_waiting()) jobs_[decision.job].reason = decision.reason;
      return true;
    case DecisionKind::promote:
      if (known()) note_promotion(jobs_[decision.job]);
      return true;
    case DecisionKind::dedicate:
      for (const ServerGpus& part : decision.gpus.parts()) {
        if (ledger_.servers().contains(part.server))
          ledger_.set_affinity(part.server, static_cast<int>(decision.value));
      }
      return true;
    case DecisionKind::reserve:
      return true;
    default:
      return false;
  }
}

void Core::note_promotion(Job& job) {
  job.run_at_promotion = job.run_at(now_);
  job.attained_at_promotion_gpu_us = job.attained_at(now_);
}

// Whether this GPU's tenant is on its way out of it.
bool Core::leaves(JobIndex tenant, ServerIndex server, int gpu) const {
  const Job& job = jobs_[tenant];
  if (job.state == JobState::stopping) return true;
  if (job.state != JobState::migrating && job.state != JobState::resizing) return false;
  return !job.target.on(server).has(gpu);
}

// Could the job be on these GPUs, whoever has them now?
Refusal Core::check_place(const Job& job, const Allocation& gpus) const {
  const int count = gpus.count();
  if (count == 0 || count < job.request.gpus_min || count > job.request.gpus_max) return Refusal::wrong_gpu_count;
  if (job.request.single_server && gpus.parts().size() > 1) return Refusal::spans_servers;
  const bool any_gpu_will_do = job.request.gpu_types.empty() && !job.request.gpu_memory_bytes;
  if (any_gpu_will_do && ledger_.all_free(gpus)) return Refusal::none;  // nearly always, and the servers stay unread
  for (const ServerGpus& part : gpus.parts()) {
    if (!ledger_.servers().contains(part.server) || ledger_.servers()[part.server].state != ServerState::up)
      return Refusal::server_not_up;
    const Server& server = ledger_.servers()[part.server];
    if (!server.all().contains(part.gpus)) return Refusal::gpus_taken;
    if (!is_eligible(server, job.request)) return Refusal::type_or_memory;
  }
  return Refusal::none;
}

Refusal Core::check_gpus(const Job& job, JobIndex index, const Allocation& gpus) const {
  if (const Refusal refusal = check_place(job, gpus); refusal != Refusal::none) return refusal;
  const Allocation beyond = job.allocation.empty() ? Allocation() : difference(gpus, job.allocation);
  const Allocation& wanted = job.allocation.empty() ? gpus : beyond;
  if (!ledger_.all_free(wanted) &&
      !ledger_.all_free_or(wanted, [&](JobIndex t, ServerIndex s, int g) { return t != index && leaves(t, s, g); })) {
    return Refusal::gpus_taken;
  }
  return Refusal::none;
}

Refusal Core::decide_start(const Decision& decision, bool shared) {
  Job& job = jobs_[decision.job];
  if (!job.is_waiting()) return Refusal::not_waiting;
  if (shared) {
    if (const Refusal refusal = check_place(job, decision.gpus); refusal != Refusal::none) return refusal;
    if (!job.request.shareable || !ledger_.all_shareable(decision.gpus, jobs_)) return Refusal::gpus_taken;
  } else if (const Refusal refusal = check_gpus(job, decision.job, decision.gpus); refusal != Refusal::none) {
    return refusal;
  }
  if (!ledger_.resources_suffice(decision.gpus, job.request.demand)) return Refusal::resources_taken;
  job.resumes = job.state == JobState::suspended;
  if (!job.resumes) ++job.attempt;
  set_state(decision.job, JobState::starting);
  leave_queue(decision.job);
  enter_active(decision.job);
  job.allocation = decision.gpus;
  job.reason = {};
  job.gpus_awaited = ledger_.take(decision.job, decision.gpus, job.request.demand, now_, shared);
  notice(NoticeKind::active, decision.job);
  send_when_complete(decision.job);
  return Refusal::none;
}

Refusal Core::decide_move(const Decision& decision, bool resize) {
  Job& job = jobs_[decision.job];
  if (resize ? !settings_.abilities.resize : !settings_.abilities.migrate) return Refusal::world_cannot;
  if (job.state != JobState::running) return Refusal::not_running;
  if (!may_be_interrupted(job) || (!resize && !job.request.migratable)) return Refusal::not_interruptible;
  const bool same_count = decision.gpus.count() == job.allocation.count();
  if (same_count == resize) return Refusal::wrong_gpu_count;
  if (const Refusal refusal = check_gpus(job, decision.job, decision.gpus); refusal != Refusal::none) return refusal;
  if (!ledger_.resources_suffice_to_move(job.allocation, decision.gpus, job.request.demand))
    return Refusal::resources_taken;
  set_state(decision.job, resize ? JobState::resizing : JobState::migrating);
  ++(resize ? job.resizes : job.migrations);
  job.target = decision.gpus;
  job.gpus_awaited = ledger_.take(decision.job, difference(decision.gpus, job.allocation), {}, now_);
  ledger_.charge_excess(job.allocation, decision.gpus, job.request.demand);
  send_when_complete(decision.job);
  return Refusal::none;
}

Refusal Core::decide_suspend(const Decision& decision) {
  Job& job = jobs_[decision.job];
  if (!settings_.abilities.suspend) return Refusal::world_cannot;
  if (job.state != JobState::running) return Refusal::not_running;
  if (!job.request.preemptible || job.request.capability == Capability::none) return Refusal::not_interruptible;
  set_state(decision.job, JobState::stopping);
  ++job.preemptions;
  command(CommandKind::suspend, decision.job, {});
  notice(NoticeKind::stopping, decision.job);
  return Refusal::none;
}

Refusal Core::decide_preempt(const Decision& decision) {
  Job& job = jobs_[decision.job];
  if (job.state != JobState::running) return Refusal::not_running;
  if (!may_be_interrupted(job)) return Refusal::not_interruptible;
  ++job.preemptions;
  stop(decision.job, StopReason::preempted);
  return Refusal::none;
}

Refusal Core::decide_reject(const Decision& decision) {
  if (jobs_[decision.job].state != JobState::pending) return Refusal::not_waiting;
  finish(decision.job, JobState::failed, {.failure = FailureKind::rejected});
  return Refusal::none;
}

}  // namespace sl
