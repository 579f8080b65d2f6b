#include "core/core.h"

#include <algorithm>
#include <bit>

namespace sl {

Core::Core(const Estimates& estimates, CoreSettings settings)
    : settings_(settings),
      estimates_(estimates),
      gate_(ledger_, jobs_),
      history_(settings.history_max),
      random_(settings.seed),
      policy_(settings.reschedule_interval_min),
      snapshot_{view({}), ledger_.free(), random_},
      lifecycle_(jobs_, ledger_, gate_, policy_, history_, snapshot_),
      groups_(jobs_, gate_, lifecycle_),
      without_gpus_(jobs_, ledger_, gate_),
      check_(jobs_, ledger_, settings.abilities) {
  jobs_.reserve(settings.jobs_expected);
}

View Core::view(Instant now) const {
  return {now,
          policy_.trigger(),
          jobs_.table(),
          jobs_.waiting(),
          jobs_.active(),
          ledger_.servers(),
          ledger_.free(),
          ledger_.tenants(),
          estimates_,
          history_.jobs(),
          memory_,
          users_};
}

// From here on, slots of jobs that ended in an earlier step are reused. While their records are unread they stay.
void Core::begin_step(Instant now, Effects& effects) {
  SL_CHECK(now >= snapshot_.now, "time never goes back");
  snapshot_.now = now;
  effects_ = &effects;
  lifecycle_.begin(effects);
  if (effects.records.empty()) jobs_.retire();
}

void Core::apply(Event&& event, Instant now, Effects& effects) {
  begin_step(now, effects);
  std::visit([this](auto& e) { on(e); }, event);
  lifecycle_.settle_ends();
  lifecycle_.settle_memory();
}

void Core::schedule(Instant now, Effects& effects) {
  begin_step(now, effects);
  for (JobIndex job; (job = limits_.pop_overdue(jobs_, now)).valid();) lifecycle_.stop(job, StopReason::time_limit);
  lifecycle_.wake_due();
  groups_.bring_up(now);
  if (const Plan* plan = policy_.ask(snapshot_)) carry_out(*plan);
  start_jobs_without_gpus();
  lifecycle_.settle_ends();
  lifecycle_.settle_memory();
}

Instant Core::next_wake() const {
  return std::min({policy_.next_wake(snapshot_.now), limits_.next(), lifecycle_.awaited().next_due()});
}

void Core::set_policy(std::unique_ptr<Policy> policy, Instant now, Effects& effects) {
  begin_step(now, effects);
  lifecycle_.review_line_for(*policy);
  for (const JobIndex index : jobs_.waiting()) jobs_[index].reason = ReasonCode::none;
  policy_.set(std::move(policy), snapshot_);
  effects.records.push_back({.kind = RecordKind::policy_changed, .at = now});
}

Status Core::restore(Job&& job, Instant now) {
  if (find(job.request.id).valid())
    return conflict("duplicate-job", "job " + std::to_string(job.request.id.value) + " appears twice");
  if (!job.allocation.empty() &&
      !ledger_.all_free_or(job.allocation, [](JobIndex, ServerIndex, int) { return false; })) {
    return conflict("gpus-taken", "job " + std::to_string(job.request.id.value) + " holds GPUs that another job holds");
  }
  snapshot_.now = now;
  if (!job.accounted.happened()) job.accounted = now;
  const JobIndex index = jobs_.add(std::move(job));
  Job& kept = jobs_[index];
  if (kept.group) {  // its members are still to be restored
    for (int s = 0; !is_finished(static_cast<JobState>(s)); ++s) kept.group->in(static_cast<JobState>(s)) = 0;
    kept.group->admitted_of = Group::unknown;  // its members may be others
    groups_.add(kept);
  }
  lifecycle_.welcome(index);
  // Policies count its expected end from when it got its GPUs.
  const bool had_started = kept.state != JobState::starting && kept.last_start.happened() && kept.last_start < now;
  if (!kept.allocation.empty()) ledger_.take(index, kept.allocation, kept.request, had_started ? kept.last_start : now);
  const bool may_be_freezing = kept.state == JobState::stopping && would_freeze(kept);
  if (kept.frozen_on || may_be_freezing)
    lifecycle_.hold_memory(index, kept.frozen_on ? *kept.frozen_on : kept.allocation);
  if (kept.state == JobState::running) limits_.set(kept, now);
  if (kept.is_waiting()) jobs_.enter_queue(index);
  if (is_active(kept.state) && kept.state != JobState::suspended) jobs_.enter_active(index);
  return {};
}

std::vector<JobIndex> Core::all_active() const {
  std::vector<JobIndex> all(jobs_.active());
  all.insert(all.end(), jobs_.active_without_gpus().begin(), jobs_.active_without_gpus().end());
  return all;
}

bool Core::is_in_use(ServerIndex server) const {
  return std::ranges::any_of(all_active(), [&](JobIndex job) { return jobs_[job].allocation.is_on(server); });
}

void Core::fetch_gpus(JobIndex index) const {
  for (const ServerGpus& part : jobs_[index].allocation.parts()) {
    // Not with for_each: to the compiler a function that only prefetches has no effect, so it would be left out.
    for (std::uint64_t gpus = part.gpus.bits; gpus != 0; gpus &= gpus - 1)
      __builtin_prefetch(&ledger_.tenants()[part.server][static_cast<std::size_t>(std::countr_zero(gpus))]);
  }
}

void Core::check_invariants() const {
  ledger_.check_invariants(jobs_.table());
  jobs_.check_invariants();
  for (const auto* list : {&jobs_.waiting(), &jobs_.aside()}) {
    for (const JobIndex index : *list) {
      const Job& job = jobs_[index];
      SL_CHECK(!policy_.get() || gate_.admits_afresh(job, policy_.get(), snapshot_.now) == job.is_waiting(),
               "those jobs are in line that may start and could run on the servers that are up");
    }
  }
  for (const Job& job : jobs_.table()) {
    if (!job.group || is_finished(job.state)) continue;
    const auto members = groups_.unfinished_members(job.request.id);
    std::int64_t in_all = 0;
    for (const std::int64_t count : job.group->by_state) in_all += count;
    SL_CHECK(static_cast<std::int64_t>(members.size()) == job.group->unfinished(), "a group counts its members");
    SL_CHECK(in_all + job.group->to_come.count() == job.group->size, "a member has come up or not");
    SL_CHECK(!members.empty() || !job.group->to_come.empty(), "a group ends with its last member");
  }
  int standing_by = 0;
  for (const Job& job : jobs_.table()) {
    standing_by += job.gpus_standing_by;
    SL_CHECK(job.gpus_standing_by == 0 || job.gpus_awaited > 0, "GPUs stand by while others are awaited");
  }
  SL_CHECK(standing_by == gpus_standing_by(), "and are counted");
  for (const Job& job : jobs_.table()) SL_CHECK(job.attained_gpu_us >= 0 && job.run.us >= 0, "service only grows");
}

}  // namespace sl
