#include "core/lifecycle.h"

#include <algorithm>
#include <utility>

namespace sl {

// Null: the job is no member of a group, or the group has ended.
Group* Lifecycle::group_of(const Job& member) {
  const JobIndex group = member.request.member_of.valid() ? jobs_.find(member.request.member_of) : JobIndex::none();
  return group.valid() ? jobs_[group].group.get() : nullptr;
}

void Lifecycle::set_state(JobIndex index, JobState to, const Exit& exit) {
  Job& job = jobs_[index];
  SL_CHECK(may_follow(job.state, to), "a job changes state only along a legal edge");
  count_run(job, snapshot_.now);
  // In its place: a copy's wide loads would stall on these narrow stores.
  Record& record = effects_->records.emplace_back();
  record.kind = RecordKind::job_state;
  record.from = job.state, record.to = to;
  record.attempt = job.attempt;
  record.index = index, record.job = job.request.id;
  record.at = snapshot_.now;
  record.exit = exit;
  if (Group* group = group_of(job)) --group->in(job.state), ++group->in(to);
  job.state = to;
  job.state_since = snapshot_.now;
}

void Lifecycle::count_run(Job& job, Instant until) {
  if (ledger_.has_several_gpu_types()) accrue_by_gpu_type(job, ledger_.servers(), until);
  accrue(job, until);
}

void Lifecycle::end_run(JobIndex index, Duration late) {
  Job& job = jobs_[index];
  if (late.us <= 0) return;
  count_run(job, std::max(job.accounted, snapshot_.now - late));
  job.accounted = snapshot_.now;
}

// ---- in and out of the queue ----

// Returns whether the policy can see it there.
bool Lifecycle::enter_queue(JobIndex index) {
  jobs_[index].waiting_since = snapshot_.now;
  if (!belongs_in_line(index)) {
    jobs_.set_aside(index);
    return false;
  }
  jobs_.enter_queue(index);
  notice(NoticeKind::waiting, index);
  return true;
}

// Of a job that the policy knows as active: it learns either way that the job has given up its GPUs.
void Lifecycle::back_in_queue(JobIndex index) {
  if (!enter_queue(index)) notice(NoticeKind::ended, index);
}

// The policy learns of it last: to it the job is gone.
void Lifecycle::move_aside(JobIndex index) {
  jobs_.leave_queue(index);
  jobs_.set_aside(index);
}

void Lifecycle::move_into_line(JobIndex index) {
  jobs_.leave_queue(index);
  jobs_.enter_queue(index);
}

void Lifecycle::review_line() {
  const std::vector<JobIndex> waiting(jobs_.waiting()), aside(jobs_.aside());  // both change
  for (const JobIndex index : waiting) review(index);
  for (const JobIndex index : aside) review(index);
}

// Puts the job where it belongs. Whether it was elsewhere.
bool Lifecycle::review(JobIndex index) {
  const bool was_in_line = jobs_[index].is_waiting();
  if (belongs_in_line(index) == was_in_line) return false;
  was_in_line ? move_aside(index) : move_into_line(index);
  notice(was_in_line ? NoticeKind::ended : NoticeKind::waiting, index);
  return true;
}

void Lifecycle::look_again(JobIndex index) {
  if (jobs_[index].is_queued() && review(index))
    policy_.wake(jobs_[index].is_waiting() ? Trigger::arrival : Trigger::ending);
}

void Lifecycle::review_line_for(const Policy& next) {
  const std::vector<JobIndex> waiting(jobs_.waiting()), aside(jobs_.aside());
  for (const JobIndex index : waiting) {
    if (!gate_.admits(jobs_[index], &next, snapshot_.now)) move_aside(index);
  }
  for (const JobIndex index : aside) {
    if (gate_.admits(jobs_[index], &next, snapshot_.now)) move_into_line(index);
  }
}

void Lifecycle::line_up_again(JobIndex index) {
  const bool was_in_line = jobs_[index].is_waiting();
  if (belongs_in_line(index)) {
    if (!was_in_line) move_into_line(index);
    notice(NoticeKind::waiting, index);
  } else if (was_in_line) {
    move_aside(index);
    notice(NoticeKind::ended, index);
  } else {
    return jobs_.reorder_aside(index);
  }
  policy_.wake(Trigger::arrival);
}

void Lifecycle::submit(JobIndex index, bool held) {
  Job& job = jobs_[index];
  job.state = held ? JobState::held : JobState::pending;
  job.on_hold = held;
  job.state_since = job.waiting_since = job.accounted = snapshot_.now;
  effects_->records.push_back({.kind = RecordKind::job_submitted,
                               .from = job.state,
                               .to = job.state,
                               .index = index,
                               .job = job.request.id,
                               .at = snapshot_.now});
  welcome(index);
  if (held) return;
  if (enter_queue(index)) policy_.wake(Trigger::arrival);
}

void Lifecycle::welcome(JobIndex index) {
  const Job& job = jobs_[index];
  awaited_.add(job.request);
  if (Group* group = group_of(job)) ++group->in(job.state);
}

void Lifecycle::hold(JobIndex index) {
  const bool was_in_line = jobs_[index].is_waiting();
  set_state(index, JobState::held);
  jobs_.leave_queue(index);
  if (!was_in_line) return;
  notice(NoticeKind::ended, index);
  policy_.wake(Trigger::ending);  // it may have blocked those behind it
}

void Lifecycle::unhold(JobIndex index) {
  set_state(index, JobState::pending);
  if (enter_queue(index)) policy_.wake(Trigger::arrival);
}

void Lifecycle::requeue(JobIndex index, const Exit& exit) {
  Job& job = jobs_[index];
  set_state(index, job.on_hold ? JobState::held : JobState::pending, exit);
  jobs_.leave_active(index);
  release_all(index);
  job.allocation.clear();
  job.target.clear();
  thaw(index);
  job.reason = ReasonCode::none;
  job.on_hold ? notice(NoticeKind::ended, index) : back_in_queue(index);
  policy_.wake(Trigger::ending);
}

void Lifecycle::leave_suspension(JobIndex index) {
  jobs_.leave_queue(index);
  jobs_.enter_active(index);
  notice(NoticeKind::active, index);
  policy_.wake(Trigger::ending);  // it may have blocked those behind it
}

void Lifecycle::finish(JobIndex index, JobState final_state, const Exit& exit) {
  Job& job = jobs_[index];
  const bool queued = job.is_queued(), is_unseen = job.set_aside;
  const bool active = is_active(job.state) && job.state != JobState::suspended;
  set_state(index, final_state, exit);
  if (job.group) drop_members_to_come(index);
  if (queued) jobs_.leave_queue(index);
  if (queued && !is_unseen) policy_.wake(Trigger::ending);  // it may have blocked those behind it
  if (active) jobs_.leave_active(index);
  release_all(index);
  if (!is_unseen) notice(NoticeKind::ended, index);
  const bool succeeded = final_state == JobState::succeeded;
  if (!job.group) history_.add(job, succeeded, snapshot_.estimates.speed_curve(job), snapshot_.now);
  if (job.request.member_of.valid() || awaited_.is_awaited(job.request.id))
    ends_.push_back({job.request.id, job.request.member_of, succeeded});
  free_memory(index);
  jobs_.end(index);
}

// ---- what ends mean for others ----

void Lifecycle::settle_each_end() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {  // each may bring about others
    const End end = ends_[i];
    for (const JobId dependent : awaited_.take_dependents(end.job)) settle_dependent(dependent, end);
    const JobIndex group = end.member_of.valid() ? jobs_.find(end.member_of) : JobIndex::none();
    if (group.valid()) end_group_if_over(group);
  }
  ends_.clear();
}

void Lifecycle::settle_dependent(JobId dependent, const End& end) {
  const JobIndex index = jobs_.find(dependent);
  if (!index.valid() || jobs_[index].attempt > 0) return;
  const JobState state = jobs_[index].state;
  if (state != JobState::pending && state != JobState::held) return;
  const std::vector<JobId>& after = jobs_[index].request.prerequisites->after;
  const bool must_succeed = std::ranges::find(after, end.job) != after.end();
  if (must_succeed && !end.succeeded) return finish(index, JobState::failed, {.failure = FailureKind::dependency});
  look_again(index);
}

void Lifecycle::end_group_if_over(JobIndex index) {
  const Job& job = jobs_[index];
  if (!job.group || is_finished(job.state)) return;
  const Group& group = *job.group;
  if (!group.to_come.empty() || group.unfinished() > 0) return;
  // Members that could not be restored are missing in the counts: they are not among those that succeeded.
  const bool none_failed = group.in(JobState::succeeded) + group.in(JobState::cancelled) == group.size;
  finish(index,
         group.in(JobState::succeeded) == group.size ? JobState::succeeded
         : none_failed || job.cancel_requested       ? JobState::cancelled
                                                     : JobState::failed,
         {});
}

void Lifecycle::drop_members_to_come(JobIndex index) {
  Group& group = *jobs_[index].group;
  for (const JobId awaited : awaited_.between(group.first_member, group.member(group.size))) {
    if (group.to_come.contains(group.place(awaited))) forgotten(awaited, JobId::none());
  }
  group.in(JobState::cancelled) += group.to_come.count();
  group.to_come.clear();
}

void Lifecycle::wake_each_due() {
  for (const JobId job : awaited_.take_due(snapshot_.now)) {
    const JobIndex index = jobs_.find(job);
    if (index.valid()) look_again(index);
  }
}

// ---- what a policy decides ----

void Lifecycle::start(JobIndex index, const Allocation& gpus, bool shared) {
  Job& job = jobs_[index];
  job.resumes = job.state == JobState::suspended;
  thaw(index);
  if (!job.resumes) ++job.attempt;
  set_state(index, JobState::starting);
  jobs_.leave_queue(index);
  jobs_.enter_active(index);
  job.allocation = gpus;
  job.placed = snapshot_.now;
  job.reason = ReasonCode::none;
  await(job, gpus.count(), ledger_.take(index, gpus, job.request, snapshot_.now, shared));
  notice(NoticeKind::active, index);
  send_when_complete(index);
}

void Lifecycle::move(JobIndex index, const Allocation& gpus, bool resize) {
  Job& job = jobs_[index];
  set_state(index, resize ? JobState::resizing : JobState::migrating);
  job.target = gpus;
  job.placed = snapshot_.now;
  const Allocation more = difference(gpus, job.allocation);
  await(job, more.count(), ledger_.take(index, more, {}, snapshot_.now));
  ledger_.charge_excess(job.allocation, gpus, job.request);
  send_when_complete(index);
}

void Lifecycle::suspend(JobIndex index) {
  set_state(index, JobState::stopping);
  const Job& job = jobs_[index];
  // From now on, because the job that takes its GPUs may be chosen in the same decision.
  if (would_freeze(job)) hold_memory(index, job.allocation);
  if (!jobs_[index].on_hold) ++jobs_[index].preemptions;  // else its user wants it
  command(CommandKind::suspend, index, {});
  notice(NoticeKind::stopping, index);
}

void Lifecycle::preempt(JobIndex index) {
  if (!jobs_[index].on_hold) ++jobs_[index].preemptions;
  stop(index, StopReason::preempted);
}

void Lifecycle::reject(JobIndex index, ReasonCode reason) {
  const std::size_t record = effects_->records.size();
  finish(index, JobState::failed, {.failure = FailureKind::rejected});
  effects_->records[record].reason = reason;
}

// ---- what the world reports ----

void Lifecycle::run(JobIndex index) {
  Job& job = jobs_[index];
  const bool moved = is_moving(job.state);
  const bool took_time = job.state_since < snapshot_.now;
  set_state(index, JobState::running);
  if (moved) settle_on_target(index);
  if (!job.first_start.happened()) job.first_start = snapshot_.now;
  job.last_start = snapshot_.now;
  const JobIndex group = job.request.member_of.valid() ? jobs_.find(job.request.member_of) : JobIndex::none();
  if (group.valid() && !jobs_[group].first_start.happened()) jobs_[group].first_start = snapshot_.now;
  if (!job.allocation.empty()) job.last_server = job.allocation.parts().front().server;
  notice(NoticeKind::running, index);
  // from now on it can be stopped for waiting jobs
  if (took_time && !jobs_.waiting().empty()) policy_.wake(Trigger::progress);
}

void Lifecycle::start_on_target(JobIndex index) {
  Job& job = jobs_[index];
  ++job.attempt;
  job.resumes = false;
  set_state(index, JobState::starting);
  settle_on_target(index);
  notice(NoticeKind::active, index);
  send_when_complete(index);
}

void Lifecycle::suspended(JobIndex index) {
  Job& job = jobs_[index];
  set_state(index, JobState::suspended);
  jobs_.leave_active(index);
  release_all(index);
  if (would_freeze(job)) job.frozen_on = std::make_unique<Allocation>(job.allocation);
  job.allocation.clear();
  job.target.clear();  // it was to move when it was told to stop
  back_in_queue(index);
  policy_.wake(Trigger::ending);
}

void Lifecycle::lose_process(JobIndex index) {
  leave_suspension(index);
  set_state(index, JobState::stopping);
}

// It stands on no GPUs any more.
void Lifecycle::thaw(JobIndex index) {
  jobs_[index].frozen_on.reset();
  free_memory(index);
}

void Lifecycle::hold_memory(JobIndex index, const Allocation& gpus) {
  const std::int64_t bytes = memory_if_frozen(jobs_[index]);
  ledger_.hold_memory(index, gpus, bytes);
  memory_changed_ = memory_changed_ || bytes > 0;
}

void Lifecycle::free_memory(JobIndex index) { memory_changed_ = ledger_.free_memory(index) || memory_changed_; }

// Jobs that nothing but the memory of frozen jobs keeps from running stand aside: at the head of the line they would
// wait for those jobs, and those behind them in turn.
void Lifecycle::settle_memory() {
  if (!std::exchange(memory_changed_, false)) return;
  gate_.refresh();
  review_line();
  policy_.wake(Trigger::ending);
}

void Lifecycle::stop(JobIndex index, StopReason why) {
  set_state(index, JobState::stopping);
  effects_->records.back().why = why;
  command_stop(index, why);
  notice(NoticeKind::stopping, index);
}

void Lifecycle::command_stop(JobIndex index, StopReason why) { command(CommandKind::stop, index, {}).why = why; }

// ---- GPUs and commands ----

// Gives back GPUs. Promised GPUs go to their next owners, and an attempt that was waiting for its last one starts.
void Lifecycle::release(JobIndex index, const Allocation& gpus, Demand demand) {
  const int freed = ledger_.release(index, gpus, demand, snapshot_.now, [this](JobIndex next) {
    Job& job = jobs_[next];
    count_run(job, snapshot_.now);  // it may run until the last one comes
    await(job, job.gpus_standing_by + job.gpus_awaited, job.gpus_awaited - 1);
    if (job.gpus_awaited == 0) send_when_complete(next);
  });
  if (freed > 0 || (!demand.is_zero() && is_room_for_others(index))) policy_.wake(Trigger::ending);
}

// Policies do not see a job without GPUs, so its end is news to them only if one of theirs may need its room.
bool Lifecycle::is_room_for_others(JobIndex index) const {
  const auto needs_room = [this](JobIndex waiting) { return !jobs_[waiting].request.demand.is_zero(); };
  return jobs_[index].request.needs_gpus() || std::ranges::any_of(jobs_.waiting(), needs_room);
}

// `awaited` of the job's `gpus` new GPUs are still to come; the others stand by until then.
void Lifecycle::await(Job& job, int gpus, int awaited) {
  job.gpus_awaited = awaited;
  gpus_standing_by_ -= job.gpus_standing_by;
  job.gpus_standing_by = awaited > 0 ? gpus - awaited : 0;
  gpus_standing_by_ += job.gpus_standing_by;
}

// Gives back everything the job holds or was promised.
void Lifecycle::release_all(JobIndex index) {
  Job& job = jobs_[index];
  await(job, 0, 0);
  if (!job.target.empty()) {
    ledger_.give_back_excess(job.allocation, job.target, job.request);
    release(index, difference(job.target, job.allocation), {});
  }
  release(index, job.allocation, job.request);
}

// It holds only the GPUs it was moving to from now on.
void Lifecycle::settle_on_target(JobIndex index) {
  Job& job = jobs_[index];
  const Allocation target = job.target, left = difference(job.allocation, target);
  ledger_.give_back_excess(target, job.allocation, job.request);
  release(index, left, {});
  // One without GPUs leaves room all the same.
  if (!job.request.needs_gpus() && is_room_for_others(index)) policy_.wake(Trigger::ending);
  ++(target.count() == job.allocation.count() ? job.migrations : job.resizes);
  job.allocation = target;
  job.target.clear();
}

// Sends the command that was decided for this job, once it owns every GPU it needs.
void Lifecycle::send_when_complete(JobIndex index) {
  const Job& job = jobs_[index];
  if (job.gpus_awaited > 0) return;
  switch (job.state) {
    case JobState::migrating:
      command(CommandKind::migrate, index, job.target);
      return;
    case JobState::resizing:
      command(CommandKind::resize, index, job.target);
      return;
    case JobState::starting:
      command(job.resumes ? CommandKind::resume : CommandKind::start, index, job.allocation);
      return;
    default:
      return;  // it is being stopped: nothing starts any more
  }
}

Command& Lifecycle::command(CommandKind kind, JobIndex index, const Allocation& gpus) {
  const Job& job = jobs_[index];
  Command& command = effects_->commands.emplace_back();
  command.kind = kind;
  command.resume = job.first_start.happened();
  command.attempt = job.attempt;
  command.index = index;
  command.job = job.request.id;
  command.gpus = gpus;
  return command;
}

}  // namespace sl
