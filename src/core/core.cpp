// The steps that several event handlers and decisions share: states, the queue, the ledger, the clock of service.
#include "core/core.h"

#include <algorithm>

namespace sl {

Core::Core(const Estimates& estimates, CoreSettings settings)
    : settings_(settings),
      estimates_(estimates),
      by_id_(0, HashOfId{&jobs_}, SameId{&jobs_}),
      random_(settings.seed),
      snapshot_(view()) {}

Snapshot Core::view() {
  return {now_,       trigger_, jobs_,   waiting_, active_, ledger_.servers(), ledger_.free(), ledger_.tenants(),
          estimates_, history_, memory_, users_,   random_};
}

void Core::apply(Event&& event, Instant now, Effects& effects) {
  SL_CHECK(now >= now_, "time never goes back");
  now_ = now;
  effects_ = &effects;
  if (effects.records.empty()) retire();
  std::visit([this](auto& e) { on(e); }, event);
}

void Core::schedule(Instant now, Effects& effects) {
  now_ = now;
  effects_ = &effects;
  if (effects.records.empty()) retire();
  stop_overdue();
  if (now >= policy_wake_) wake_policy(Trigger::timer);
  if (!ask_policy_ || !policy_) return;
  if (last_decision_.happened() && now < last_decision_ + settings_.reschedule_interval_min) return;
  ask_policy_ = false;
  policy_wake_ = Instant::never();
  last_decision_ = now;
  plan_.clear();
  policy_->decide(snapshot_, plan_);
  carry_out(plan_);
}

Instant Core::next_wake() const {
  Instant next = policy_wake_;
  if (ask_policy_ && policy_)
    next = last_decision_.happened() ? last_decision_ + settings_.reschedule_interval_min : now_;
  return limits_.empty() ? next : std::min(next, limits_.top().at);
}

void Core::set_policy(std::unique_ptr<Policy> policy, Instant now, Effects& effects) {
  now_ = now;
  effects_ = &effects;
  if (effects.records.empty()) retire();
  policy_ = std::move(policy);
  policy_wake_ = Instant::never();
  for (const JobIndex index : waiting_) jobs_[index].reason = {};
  policy_->attach(snapshot_);
  effects.records.push_back({.kind = RecordKind::policy_changed, .at = now});
  wake_policy(Trigger::policy);
}

Status Core::restore(RestoredJob&& restored, Instant now) {
  Job& job = restored.job;
  if (find(job.request.id).valid())
    return conflict("duplicate-job", "job " + std::to_string(job.request.id.value) + " is there twice");
  if (!job.allocation.empty() &&
      !ledger_.all_free_or(job.allocation, [](JobIndex, ServerIndex, int) { return false; })) {
    return conflict("gpus-taken", "job " + std::to_string(job.request.id.value) + " holds GPUs that another job holds");
  }
  now_ = now;
  if (!job.accounted.happened()) job.accounted = now;
  const JobIndex index = jobs_.push_back(std::move(job));
  position_.push_back(0);
  Job& kept = jobs_[index];
  by_id_.insert(index);
  if (!kept.allocation.empty()) ledger_.take(index, kept.allocation, kept.request.demand, now);
  if (kept.state == JobState::running && kept.request.time_limit) {
    limits_.push({now + (*kept.request.time_limit - kept.run_at(now)), kept.request.id, kept.attempt});
  }
  if (kept.is_waiting()) enter_queue(index);
  if (is_active(kept.state) && kept.state != JobState::suspended) enter_active(index);
  return {};
}

JobIndex Core::find(JobId job) const {
  const auto at = by_id_.find(job);
  return at == by_id_.end() ? JobIndex::none() : *at;
}

std::vector<JobIndex> Core::queue_order(Instant now) const {
  if (!policy_) return {};
  const_cast<Core&>(*this).now_ = now;  // as far as the policy sees
  return policy_->queue_order(snapshot_);
}

void Core::fetch(JobIndex index) const {
  const char* job = reinterpret_cast<const char*>(&jobs_[index]);
  for (std::size_t line = 0; line < sizeof(Job); line += 64) __builtin_prefetch(job + line);
  __builtin_prefetch(&position_[index]);
}

void Core::fetch_gpus(JobIndex index) const {
  for (const ServerGpus& part : jobs_[index].allocation.parts()) {
    // Not with for_each: a function that only fetches has no effect to the compiler, which leaves it out.
    for (std::uint64_t gpus = part.gpus.bits; gpus != 0; gpus &= gpus - 1)
      __builtin_prefetch(&ledger_.tenants()[part.server][static_cast<std::size_t>(std::countr_zero(gpus))]);
  }
}

Job* Core::find_attempt(JobId job, int attempt, JobIndex* index, JobIndex guess) {
  *index = jobs_.contains(guess) && jobs_[guess].request.id == job ? guess : find(job);
  if (!index->valid()) return nullptr;
  Job& found = jobs_[*index];
  return is_active(found.state) && found.attempt == attempt ? &found : nullptr;
}

void Core::set_state(JobIndex index, JobState to, const Exit& exit) {
  Job& job = jobs_[index];
  SL_CHECK(may_follow(job.state, to), "a job changes state only along a legal edge");
  accrue(job);
  effects_->records.push_back({.kind = RecordKind::job_state,
                               .from = job.state,
                               .to = to,
                               .attempt = job.attempt,
                               .index = index,
                               .job = job.request.id,
                               .at = now_,
                               .exit = exit});
  job.state = to;
  job.state_since = now_;
}

// Brings run time and attained service up to now.
void Core::accrue(Job& job) {
  if (job.is_accruing()) {
    job.attained_gpu_us = job.attained_at(now_);
    job.run = job.run_at(now_);
  }
  job.accounted = now_;
}

void Core::notice(NoticeKind kind, JobIndex index) {
  if (policy_) policy_->notice(snapshot_, kind, index);
}

void Core::wake_policy(Trigger trigger) {
  if (!ask_policy_) trigger_ = trigger;
  ask_policy_ = true;
}

void Core::enter_queue(JobIndex index) {
  position_[index] = static_cast<std::uint32_t>(waiting_.size());
  waiting_.push_back(index);
}

void Core::leave_queue(JobIndex index) {
  const std::uint32_t at = position_[index];
  waiting_[at] = waiting_.back();
  position_[waiting_[at]] = at;
  waiting_.pop_back();
}

void Core::enter_active(JobIndex index) {
  position_[index] = static_cast<std::uint32_t>(active_.size());
  active_.push_back(index);
}

void Core::leave_active(JobIndex index) {
  const std::uint32_t at = position_[index];
  active_[at] = active_.back();
  position_[active_[at]] = at;
  active_.pop_back();
}

void Core::command(CommandKind kind, JobIndex index, const Allocation& gpus) {
  const Job& job = jobs_[index];
  Command& command = effects_->commands.emplace_back();
  command.kind = kind;
  command.resume = job.first_start.happened();
  command.attempt = job.attempt;
  command.index = index;
  command.job = job.request.id;
  command.gpus = gpus;
}

// Gives GPUs back. GPUs promised to others go to them, and an attempt that was waiting for its last one starts.
void Core::release(JobIndex index, const Allocation& gpus, const ResourceVector& demand) {
  const int freed = ledger_.release(index, gpus, demand, [this](JobIndex next) { received_gpu(next); });
  if (freed > 0 || !demand.is_zero()) wake_policy(Trigger::ending);
}

// Everything the job holds or was promised.
void Core::release_all(JobIndex index) {
  const Job& job = jobs_[index];
  if (!job.target.empty()) {
    ledger_.give_back_excess(job.allocation, job.target, job.request.demand);
    release(index, difference(job.target, job.allocation), {});
  }
  release(index, job.allocation, job.request.demand);
}

void Core::received_gpu(JobIndex index) {
  if (--jobs_[index].gpus_awaited == 0) send_when_complete(index);
}

// The command that was decided for this job, once it owns every GPU it needs.
void Core::send_when_complete(JobIndex index) {
  const Job& job = jobs_[index];
  if (job.gpus_awaited > 0) return;
  switch (job.state) {
    case JobState::migrating:
      return command(CommandKind::migrate, index, job.target);
    case JobState::resizing:
      return command(CommandKind::resize, index, job.target);
    case JobState::starting:
      return command(job.resumes ? CommandKind::resume : CommandKind::start, index, job.allocation);
    default:
      return;  // it is being stopped: nothing starts any more
  }
}

void Core::requeue(JobIndex index) {
  Job& job = jobs_[index];
  set_state(index, JobState::pending);
  leave_active(index);
  release_all(index);
  job.allocation.clear();
  job.target.clear();
  job.gpus_awaited = 0;
  job.stop_is_preemption = false;
  job.waiting_since = now_;
  job.reason = {};
  enter_queue(index);
  notice(NoticeKind::waiting, index);
  wake_policy(Trigger::ending);
}

void Core::finish(JobIndex index, JobState final_state, const Exit& exit) {
  Job& job = jobs_[index];
  const bool queued = job.is_waiting();
  const bool active = is_active(job.state) && job.state != JobState::suspended;
  set_state(index, final_state, exit);
  if (queued) {
    leave_queue(index);
    wake_policy(Trigger::ending);  // it may have blocked those behind it
  }
  if (active) leave_active(index);
  release_all(index);
  notice(NoticeKind::ended, index);
  if (history_.size() >= settings_.history_max && !history_.empty())
    history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(history_.size() / 2 + 1));
  if (settings_.history_max > 0) {
    history_.push_back({job.request.id, job.request.user, job.request.family, job.request.gpus,
                        final_state == JobState::succeeded, job.run, job.attained_gpu_us, now_});
  }
  retired_.push_back(index);
}

JobIndex Core::free_slot() {
  if (free_slots_.empty()) {
    position_.push_back(0);
    return jobs_.push_back(Job{});
  }
  const JobIndex slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void Core::give_back_slot(JobIndex index) {
  std::destroy_at(&jobs_[index]);
  std::construct_at(&jobs_[index]);
  free_slots_.push_back(index);
}

// Slots of jobs that ended in an earlier step are used again from here on. While records of them are unread they stay.
void Core::retire() {
  for (const JobIndex index : retired_) {
    by_id_.erase(index);
    give_back_slot(index);
  }
  retired_.clear();
}

void Core::stop(JobIndex index, StopReason why) {
  Job& job = jobs_[index];
  set_state(index, JobState::stopping);
  job.stop_is_preemption = why == StopReason::preempted;
  command(CommandKind::stop, index, {});
  effects_->commands.back().why = why;
  notice(NoticeKind::stopping, index);
}

void Core::stop_overdue() {
  while (!limits_.empty() && limits_.top().at <= now_) {
    const Limit limit = limits_.top();
    limits_.pop();
    JobIndex index;
    const Job* job = find_attempt(limit.job, limit.attempt, &index);
    if (!job || job->state != JobState::running || !job->request.time_limit) continue;
    const Duration left = *job->request.time_limit - job->run_at(now_);
    if (left.us > 0) {
      limits_.push({now_ + left, limit.job, limit.attempt});
    } else {
      stop(index, StopReason::time_limit);
    }
  }
}

void Core::check_invariants() const {
  ledger_.check_invariants(jobs_);
  std::size_t waiting = 0, active = 0;
  for (const JobIndex index : by_id_) {
    const Job& job = jobs_[index];
    SL_CHECK(find(job.request.id) == index, "the id leads to the job that has it");
    if (job.is_waiting()) {
      ++waiting;
      SL_CHECK(waiting_[position_[index]] == index, "every waiting job is in the queue");
      SL_CHECK(job.allocation.empty(), "a waiting job holds no GPU");
    } else if (is_active(job.state)) {
      ++active;
      SL_CHECK(active_[position_[index]] == index, "every active job is in the list of active jobs");
      // A suspended job that is being stopped has given up its GPUs before.
      SL_CHECK(!job.allocation.empty() || job.state == JobState::stopping,
               "an active job has GPUs or is promised them");
    }
    SL_CHECK(job.attained_gpu_us >= 0 && job.run.us >= 0, "service only grows");
  }
  SL_CHECK(waiting == waiting_.size() && active == active_.size(), "the queue and the active list hold nothing else");
}

}  // namespace sl
