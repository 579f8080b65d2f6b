// One function per event: check that it still applies, change the ledger, leave records and commands. An event about an
// attempt that is over is ignored: messages may arrive late or twice.
#include <algorithm>

#include "core/core.h"
#include "model/gpu_counts.h"
#include "policy/placer.h"

namespace sl {
namespace {

constexpr std::size_t epochs_max = 100'000;  // losses kept per job

// Adds the loss of epoch `epoch` (from 1; 0: the next one). Reports are sampled, so epochs may be missing: their losses
// are interpolated linearly. An epoch that is reported again was trained again, and what followed it no longer counts.
std::vector<double> with_loss(std::vector<double> losses, int epoch, double loss) {
  const std::size_t at = epoch > 0 ? static_cast<std::size_t>(epoch) - 1 : losses.size();
  if (at >= epochs_max) return losses;
  if (at < losses.size()) losses.resize(at);
  const std::size_t known = losses.size();
  const double last = known > 0 ? losses.back() : loss;
  for (std::size_t i = known; i <= at; ++i)
    losses.push_back(last + (loss - last) * static_cast<double>(i - known + 1) / static_cast<double>(at - known + 1));
  return losses;
}

// Whether its attempt, and what it is moving to, have numbers of GPUs in this range.
bool has_within(const Job& job, int least, int most) {
  const auto within = [&](const Allocation& gpus) { return least <= gpus.count() && gpus.count() <= most; };
  if (job.state == JobState::suspended) return !job.frozen_on || within(*job.frozen_on);
  return within(job.allocation) && (job.target.empty() || within(job.target));
}

}  // namespace

void Core::on(JobSubmitted& event) {
  const JobIndex index = jobs_.add(std::move(event.request));
  if (!index.valid()) return;  // it is already known
  if (event.members > 0) {
    jobs_[index].group = std::make_unique<Group>();
    jobs_[index].group->size = event.members;
    jobs_[index].group->max_running = event.max_running;
    jobs_[index].group->to_come = NumberRanges::below(event.members);
    const JobId id = jobs_[index].request.id;
    jobs_[index].group->first_member = event.first_member.valid() ? event.first_member : member_id(id, 0);
    groups_.add(jobs_[index]);
  }
  lifecycle_.submit(index, event.held);
}

void Core::on(const JobCancelled& event) {
  JobIndex index = find(event.job);
  if (!index.valid()) index = groups_.bring_up_member(event.job);
  if (!index.valid()) return;
  Job& job = jobs_[index];
  if (is_finished(job.state) || job.cancel_requested) return;
  job.cancel_requested = true;
  if (job.group) return cancel_group(index);
  const bool nothing_runs = job.state == JobState::pending || job.state == JobState::held ||
                            (job.state == JobState::starting && job.gpus_awaited > 0 && !job.resumes);
  if (nothing_runs) return lifecycle_.finish(index, JobState::cancelled, {});
  if (job.state == JobState::suspended) lifecycle_.leave_suspension(index);
  if (job.state != JobState::stopping) return lifecycle_.stop(index, StopReason::cancelled);
  // No change of state says so, and once it stands still it is ended for that reason.
  effects_->records.push_back({.kind = RecordKind::job_edited, .index = index, .job = event.job, .at = snapshot_.now});
}

void Core::cancel_group(JobIndex index) {
  lifecycle_.drop_members_to_come(index);
  for (const JobId member : groups_.unfinished_members(jobs_[index].request.id)) on(JobCancelled{member});
  lifecycle_.end_group_if_over(index);
}

void Core::on(const JobHeld& event) {
  const JobIndex index = find(event.job);
  if (!index.valid()) return;
  Job& job = jobs_[index];
  if (is_finished(job.state) || job.cancel_requested) return;
  if (!event.by_user && (event.held ? job.state != JobState::pending : job.on_hold)) return;
  if (event.by_user && event.held && !can_be_held(index)) return;
  if (event.by_user) job.on_hold = event.held;
  event.held ? hold(index) : unhold(index);
  if (!jobs_[index].group) return;
  for (const JobId member : groups_.unfinished_members(event.job)) lifecycle_.look_again(find(member));
}

// Nothing of it runs yet, or what runs can be frozen or stopped without losing what it has learnt.
bool Core::can_be_held(JobIndex index) const {
  const Job& job = jobs_[index];
  const bool goes_on = job.state == JobState::starting && job.resumes;  // its processes are there
  const bool is_busy = job.state == JobState::running || is_moving(job.state) || goes_on;
  return !is_busy || job.request.capability == Capability::checkpoint || can_freeze(index);
}

bool Core::can_freeze(JobIndex index) const {
  return jobs_[index].request.freezable && check_.check({DecisionKind::suspend, index}) == Refusal::none;
}

void Core::hold(JobIndex index) {
  const Job& job = jobs_[index];
  if (job.state == JobState::pending) return lifecycle_.hold(index);
  if (job.state == JobState::suspended) return lifecycle_.line_up_again(index);
  if (job.state == JobState::starting && job.gpus_awaited > 0 && !job.resumes) return lifecycle_.requeue(index);
  if (!is_active(job.state) || job.state == JobState::stopping) return;
  can_freeze(index) ? lifecycle_.suspend(index) : lifecycle_.preempt(index);
}

void Core::unhold(JobIndex index) {
  if (jobs_[index].state == JobState::held) lifecycle_.unhold(index);
  if (jobs_[index].state == JobState::suspended) lifecycle_.line_up_again(index);
}

void Core::on(const JobPreempted& event) {
  const JobIndex index = find(event.job);
  if (!index.valid()) return;
  const Job& job = jobs_[index];
  const bool awaits_gpus = job.state == JobState::starting && job.gpus_awaited > 0 && !job.resumes;
  if (awaits_gpus) return lifecycle_.requeue(index);
  if (job.state == JobState::suspended) lifecycle_.leave_suspension(index);
  if (is_active(job.state) && job.state != JobState::stopping) lifecycle_.preempt(index);
}

void Core::on(const JobTargetMet& event) {
  const JobIndex index = find(event.job);
  if (index.valid() && jobs_[index].state == JobState::running) lifecycle_.stop(index, StopReason::target_met);
}

void Core::on(const JobMoved& event) {
  const JobIndex index = find(event.job);
  if (!index.valid()) return;
  JobRequest& request = jobs_[index].request;
  const JobRequest before = request;
  request.gpus_min = event.gpus_min.value_or(before.gpus_min);
  request.gpus = request.gpus_max = event.gpus_max.value_or(before.gpus_max);
  if (!event.gpus_max) request.gpus = before.gpus;
  const bool resizes = event.gpus.count() != jobs_[index].allocation.count();
  const Decision decision{resizes ? DecisionKind::resize : DecisionKind::migrate, index, event.gpus};
  if (!is_possible_range(request, request.gpus_min, request.gpus_max) || check_.check(decision) != Refusal::none) {
    request = before;
    return;
  }
  effects_->records.push_back({.kind = RecordKind::job_edited, .index = index, .job = event.job, .at = snapshot_.now});
  lifecycle_.move(index, event.gpus, resizes);
  lifecycle_.notice(NoticeKind::edited, index);
  policy_.wake(Trigger::arrival);
}

void Core::on(const JobEdited& event) {
  const JobIndex index = find(event.job);
  if (!index.valid() || is_finished(jobs_[index].state)) return;
  const bool queued = jobs_[index].is_queued();
  if (jobs_[index].is_waiting())
    lifecycle_.notice(NoticeKind::ended, index);  // with the old request, so that private indexes find it
  JobRequest& request = jobs_[index].request;
  if (event.priority) request.priority = *event.priority;
  if (event.max_running && jobs_[index].group) {
    jobs_[index].group->max_running = *event.max_running;
    groups_.limit(index);
  }
  if (event.time_limit) {
    request.time_limit = *event.time_limit;
    if (jobs_[index].state == JobState::running) limits_.set(jobs_[index], snapshot_.now);
  }
  if (event.estimate) request.estimate = event.estimate;
  const int least = event.gpus_min.value_or(request.gpus_min), most = event.gpus_max.value_or(request.gpus_max);
  const bool still_open = jobs_[index].state == JobState::pending || jobs_[index].state == JobState::held;
  if (still_open) request.servers_max = event.servers_max.value_or(request.servers_max);
  if ((still_open || has_within(jobs_[index], least, most)) && is_possible_range(request, least, most)) {
    request.gpus_min = least;
    request.gpus_max = most;
    request.gpus = std::clamp(event.gpus.value_or(request.gpus), least, most);
    if (!roles_of(request).empty()) request.demand = Demand(request).on(request.gpus);
  }
  effects_->records.push_back({.kind = RecordKind::job_edited, .index = index, .job = event.job, .at = snapshot_.now});
  if (queued) return lifecycle_.line_up_again(index);
  if (jobs_[index].state == JobState::held) return;  // no policy knows it
  lifecycle_.notice(NoticeKind::edited, index);
  policy_.wake(Trigger::arrival);
}

void Core::on(const AttemptStarted& event) {
  JobIndex index;
  const Job* job = jobs_.find_attempt(event.job, event.attempt, &index, event.index);
  if (!job || job->gpus_awaited > 0) return;
  if (job->state != JobState::starting && !is_moving(job->state)) return;
  lifecycle_.run(index);
  limits_.set(*job, snapshot_.now);
}

void Core::on(AttemptProgressed& event) {
  JobIndex index;
  Job* job = jobs_.find_attempt(event.job, event.attempt, &index);
  if (!job) return;
  if (!event.loss && !event.speed && !event.accuracy && !event.gpu_utilization_pct && !event.gpu_memory_used_bytes)
    return;
  if (!job->telemetry) job->telemetry = std::make_unique<JobTelemetry>();
  JobTelemetry& known = *job->telemetry;
  if (event.loss) {
    const JobModel* model = job->request.model.get();
    const bool is_new = event.epoch == 0 || std::cmp_greater(event.epoch, known.loss_by_epoch.size());
    const bool is_met = model && model->target_loss && *event.loss <= *model->target_loss;
    known.epochs_at_target = is_met ? (is_new ? known.epochs_at_target : 0) + 1 : 0;
    known.loss_by_epoch = with_loss(std::move(known.loss_by_epoch), event.epoch, *event.loss);
    known.epoch_ended = snapshot_.now;
  }
  if (event.accuracy) known.accuracy = event.accuracy;
  if (event.speed) known.speeds.push_back(*event.speed);
  if (event.gpu_utilization_pct) known.gpu_utilization_pct = event.gpu_utilization_pct;
  if (event.gpu_memory_used_bytes) known.gpu_memory_used_bytes = event.gpu_memory_used_bytes;
  effects_->records.push_back(
      {.kind = RecordKind::job_progress, .index = index, .job = event.job, .at = snapshot_.now});
  policy_.wake(Trigger::progress);
}

void Core::on(const AttemptSuspended& event) {
  JobIndex index;
  const Job* job = jobs_.find_attempt(event.job, event.attempt, &index);
  if (!job || job->state != JobState::stopping) return;
  // Cancelled while it was being suspended: now it can be ended.
  job->cancel_requested ? lifecycle_.command_stop(index, StopReason::cancelled) : lifecycle_.suspended(index);
}

void Core::on(const AttemptReleased& event) {
  JobIndex index;
  Job* job = jobs_.find_attempt(event.job, event.attempt, &index, event.index);
  if (!job || !is_active(job->state)) return;
  if (job->state == JobState::suspended) lifecycle_.lose_process(index);
  lifecycle_.end_run(index, event.late);
  if (job->cancel_requested) return lifecycle_.finish(index, JobState::cancelled, {});
  const auto parts = job->target.parts();
  const bool can_start_there = is_moving(job->state) && std::ranges::all_of(parts, [this](const ServerGpus& part) {
                                 const Server& server = ledger_.servers()[part.server];
                                 return server.state == ServerState::up && (server.unavailable & part.gpus).empty();
                               });
  can_start_there ? lifecycle_.start_on_target(index) : lifecycle_.requeue(index);
}

void Core::on(const AttemptExited& event) {
  JobIndex index;
  Job* job = jobs_.find_attempt(event.job, event.attempt, &index, event.index);
  if (!job) return;
  if (job->state == JobState::suspended) lifecycle_.lose_process(index);
  lifecycle_.end_run(index, event.late);
  const bool success = event.exit.failure == FailureKind::none;
  if (job->cancel_requested && (!success || event.was_asked))
    return lifecycle_.finish(index, JobState::cancelled, event.exit);
  if (event.retry) {
    ++job->failures;
    return lifecycle_.requeue(index, event.exit);
  }
  lifecycle_.finish(index, success ? JobState::succeeded : JobState::failed, event.exit);
}

void Core::record_server(ServerIndex server) {
  effects_->records.push_back({.kind = RecordKind::server_state, .server = server, .at = snapshot_.now});
}

void Core::set_server_state(ServerIndex server, ServerState state) {
  ledger_.set_state(server, state);
  record_server(server);
  review_line();
  policy_.wake(Trigger::cluster);  // reservations there must move elsewhere
}

void Core::review_line() {
  gate_.refresh();
  lifecycle_.review_line();
}

void Core::on(const ServerJoined& event) {
  ServerIndex server = ledger_.find_server(event.server.name);
  if (server.valid()) {
    ledger_.describe(server, event.server);
  } else {
    server = ledger_.add_server(event.server);
  }
  const ServerState before = ledger_.servers()[server].state;
  const bool was_away = before == ServerState::down || before == ServerState::removed;
  if (was_away) ledger_.set_state(server, ServerState::up);
  record_server(server);
  review_line();
  policy_.wake(Trigger::cluster);
}

void Core::on(const ServerSilent& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid()) return;
  const ServerState before = ledger_.servers()[server].state;
  if (before != ServerState::down && before != ServerState::removed) set_server_state(server, ServerState::down);
}

void Core::on(const ServerDrained& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid()) return;
  const ServerState before = ledger_.servers()[server].state;
  if (before != ServerState::up && before != ServerState::draining) return;
  set_server_state(server, event.drain ? ServerState::draining : ServerState::up);
}

void Core::on(const ServerQuarantined& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid()) return;
  const auto [from, to] = event.quarantine ? std::pair(ServerState::up, ServerState::quarantined)
                                           : std::pair(ServerState::quarantined, ServerState::up);
  if (ledger_.servers()[server].state == from) set_server_state(server, to);
}

void Core::on(const ServerRemoved& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid() || ledger_.servers()[server].state != ServerState::down || is_in_use(server)) return;
  ServerDescription without_gpus = ledger_.servers()[server].description;
  without_gpus.gpus = 0;
  ledger_.describe(server, without_gpus);
  set_server_state(server, ServerState::removed);
}

void Core::on(const ServerLost& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid()) return;
  ledger_.set_state(server, ServerState::down);
  record_server(server);
  gate_.refresh();  // for the jobs that come back from there
  Exit lost;
  lost.failure = FailureKind::server_lost;
  std::vector<JobIndex> active(all_active());  // requeue changes the lists
  // Jobs that await GPUs first: GPUs released on this server must not start them there.
  std::stable_partition(active.begin(), active.end(), [this](JobIndex job) { return jobs_[job].gpus_awaited > 0; });
  for (const JobIndex index : active) {
    const Job& job = jobs_[index];
    const bool stood_there = job.frozen_on && job.frozen_on->is_on(server);
    if (!job.allocation.is_on(server) && !stood_there) {
      if (is_moving(job.state) && job.target.is_on(server)) lifecycle_.preempt(index);  // it runs elsewhere
      continue;
    }
    const bool is_ordered = job.state != JobState::starting || job.gpus_awaited == 0;  // else nothing of it runs
    if (event.spares_spread && job.allocation.parts().size() > 1 && is_ordered) continue;
    job.cancel_requested ? lifecycle_.finish(index, JobState::cancelled, {}) : lifecycle_.requeue(index, lost);
  }
  std::vector<JobIndex> waiting(jobs_.waiting());
  waiting.insert(waiting.end(), jobs_.aside().begin(), jobs_.aside().end());
  for (const JobIndex index : waiting) {
    if (!is_frozen(jobs_[index]) || !jobs_[index].frozen_on->is_on(server)) continue;
    lifecycle_.lose_process(index);
    lifecycle_.requeue(index, lost);
  }
  lifecycle_.review_line();
  policy_.wake(Trigger::cluster);
}

void Core::on(const TelemetrySampled& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid()) return;
  const Server& at = ledger_.servers()[server];
  const bool changes = at.outside != event.outside || at.unavailable != event.unavailable;
  const bool breaks = at.unavailable != event.unavailable;
  ledger_.set_telemetry(server, event.gpus, event.outside, event.unavailable);
  if (breaks) review_line();
  if (changes) policy_.wake(Trigger::cluster);
}

}  // namespace sl
