// Carries out a policy's plan. Every decision is checked against the ledger as it is after the decisions before it; an
// invalid one is dropped, counted and recorded, and changes nothing (policies.md 0.3.4).
#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "core/core.h"

namespace sl {
namespace {

// Release before start before grow (policies.md 0.3.5): released GPUs must be known when other decisions ask for them.
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

}  // namespace

void Core::carry_out(const Plan& plan) {
  if (plan.last_server().valid()) memory_.last_server = plan.last_server();
  if (plan.blob()) memory_.blob = *plan.blob();
  if (plan.decisions().empty()) return;
  if (plan.decisions().size() == 1) return try_to_carry_out(plan.decisions().front());
  boost::container::small_vector<Stage, 16> stages;
  std::array<bool, 4> occurs{};
  for (const Decision& decision : plan.decisions()) {
    stages.push_back(stage_of(decision, jobs_.table()));
    occurs[static_cast<std::size_t>(stages.back())] = true;
  }
  for (const Stage now : {Stage::release, Stage::move, Stage::start, Stage::grow}) {
    for (std::size_t i = 0; occurs[static_cast<std::size_t>(now)] && i < stages.size(); ++i) {
      if (stages[i] == now) try_to_carry_out(plan.decisions()[i]);
    }
  }
}

void Core::start_jobs_without_gpus() {
  if (without_gpus_.none_waits()) return;  // the usual case, however many others are set aside
  for (const auto& [job, server] : without_gpus_.starts(snapshot_, policy_.get())) lifecycle_.start(job, server, false);
}

void Core::try_to_carry_out(const Decision& decision) {
  const bool is_of_policies = !jobs_.contains(decision.job) || jobs_[decision.job].request.needs_gpus();
  const Refusal refusal = is_of_policies ? check_.check(decision) : Refusal::unknown_job;
  if (refusal == Refusal::none) return carry_out(decision);
  refuse(decision, refusal);
  // What cannot be suspended can still be stopped at a checkpoint, the next best way to free its GPUs.
  if (decision.kind != DecisionKind::suspend || refusal != Refusal::world_cannot) return;
  const Decision preempt{DecisionKind::preempt, decision.job};
  if (check_.check(preempt) == Refusal::none) carry_out(preempt);
}

void Core::carry_out(const Decision& decision) {
  switch (decision.kind) {
    case DecisionKind::start:
      return lifecycle_.start(decision.job, decision.gpus, false);
    case DecisionKind::share:
      return lifecycle_.start(decision.job, decision.gpus, true);
    case DecisionKind::resize:
      return lifecycle_.move(decision.job, decision.gpus, true);
    case DecisionKind::migrate:
      return lifecycle_.move(decision.job, decision.gpus, false);
    case DecisionKind::suspend:
      return lifecycle_.suspend(decision.job);
    case DecisionKind::preempt:
      return lifecycle_.preempt(decision.job);
    case DecisionKind::reject:
      return lifecycle_.reject(decision.job, decision.reason);
    case DecisionKind::annotate:
    case DecisionKind::promote:
    case DecisionKind::defer:
    case DecisionKind::dedicate:
      return note(decision);
  }
}

// Decisions that move nothing. Those about a job that has ended in the meantime have no effect.
void Core::note(const Decision& decision) {
  if (decision.kind == DecisionKind::dedicate) {
    for (const ServerGpus& part : decision.gpus.parts()) {
      if (ledger_.servers().contains(part.server)) ledger_.set_affinity(part.server, static_cast<int>(decision.value));
    }
    return;
  }
  if (!jobs_.contains(decision.job) || is_finished(jobs_[decision.job].state)) return;
  Job& job = jobs_[decision.job];
  if (decision.kind == DecisionKind::annotate) job.annotation = decision.value;
  if (decision.kind == DecisionKind::promote) note_promotion(job, snapshot_.now);
  if (decision.kind == DecisionKind::defer && job.is_waiting()) job.reason = decision.reason;
}

void Core::refuse(const Decision& decision, Refusal why) {
  ++refusals_[static_cast<std::size_t>(why)];
  const JobId id = jobs_.contains(decision.job) ? jobs_[decision.job].request.id : JobId::none();
  effects_->records.push_back(
      {.kind = RecordKind::decision_refused, .refusal = why, .index = decision.job, .job = id, .at = snapshot_.now});
}

}  // namespace sl
