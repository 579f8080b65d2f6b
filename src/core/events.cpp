// One function per event: check that it still means something, change the ledger, leave records and commands. An event
// about an attempt that is over is ignored: messages may arrive late or twice.
#include <algorithm>

#include "core/core.h"

namespace sl {

void Core::on(JobSubmitted& event) {
  const JobIndex index = free_slot();
  Job& job = jobs_[index];
  job.request = std::move(event.request);
  if (!by_id_.insert(index).second) return give_back_slot(index);  // it is here already
  job.state = event.held ? JobState::held : JobState::pending;
  job.state_since = job.waiting_since = job.accounted = now_;
  effects_->records.push_back({.kind = RecordKind::job_submitted,
                               .from = job.state,
                               .to = job.state,
                               .index = index,
                               .job = job.request.id,
                               .at = now_});
  if (event.held) return;
  enter_queue(index);
  notice(NoticeKind::waiting, index);
  wake_policy(Trigger::arrival);
}

void Core::on(const JobCancelled& event) {
  const JobIndex index = find(event.job);
  if (!index.valid()) return;
  Job& job = jobs_[index];
  if (is_finished(job.state) || job.cancel_requested) return;
  job.cancel_requested = true;
  const bool nothing_runs = job.state == JobState::pending || job.state == JobState::held ||
                            (job.state == JobState::starting && job.gpus_awaited > 0 && !job.resumes);
  if (nothing_runs) return finish(index, JobState::cancelled, {});
  if (job.state == JobState::suspended) leave_suspension(index);
  if (job.state != JobState::stopping) return stop(index, StopReason::cancelled);
  job.stop_is_preemption = false;
}

// A suspended job is not served again: it is about to end, or its process has gone.
void Core::leave_suspension(JobIndex index) {
  leave_queue(index);
  enter_active(index);
  notice(NoticeKind::active, index);
  wake_policy(Trigger::ending);  // it may have blocked those behind it
}

void Core::on(const JobHeld& event) {
  const JobIndex index = find(event.job);
  if (!index.valid()) return;
  if (event.held && jobs_[index].state == JobState::pending) {
    set_state(index, JobState::held);
    leave_queue(index);
    notice(NoticeKind::ended, index);
    wake_policy(Trigger::ending);  // it may have blocked those behind it
  } else if (!event.held && jobs_[index].state == JobState::held) {
    set_state(index, JobState::pending);
    jobs_[index].waiting_since = now_;
    enter_queue(index);
    notice(NoticeKind::waiting, index);
    wake_policy(Trigger::arrival);
  }
}

void Core::on(const JobEdited& event) {
  const JobIndex index = find(event.job);
  if (!index.valid() || is_finished(jobs_[index].state)) return;
  const bool queued = jobs_[index].is_waiting();
  if (queued) notice(NoticeKind::ended, index);  // with the old request, so that private indexes find it
  JobRequest& request = jobs_[index].request;
  if (event.priority) request.priority = *event.priority;
  if (event.time_limit) {
    request.time_limit = *event.time_limit;
    const Job& job = jobs_[index];
    if (job.state == JobState::running)
      limits_.push({now_ + (*event.time_limit - job.run_at(now_)), event.job, job.attempt});
  }
  const int least = event.gpus_min.value_or(request.gpus_min), most = event.gpus_max.value_or(request.gpus_max);
  const bool still_open = jobs_[index].state == JobState::pending || jobs_[index].state == JobState::held;
  if (still_open && least >= 1 && least <= most) {
    request.gpus_min = least;
    request.gpus_max = most;
    request.gpus = std::clamp(request.gpus, least, most);
  }
  effects_->records.push_back({.kind = RecordKind::job_edited, .index = index, .job = event.job, .at = now_});
  notice(queued ? NoticeKind::waiting : NoticeKind::edited, index);
  wake_policy(Trigger::arrival);
}

void Core::on(const AttemptStarted& event) {
  JobIndex index;
  Job* job = find_attempt(event.job, event.attempt, &index, event.index);
  if (!job || job->gpus_awaited > 0) return;
  const bool moved = job->state == JobState::migrating || job->state == JobState::resizing;
  if (job->state != JobState::starting && !moved) return;
  const bool took_time = job->state_since < now_;
  set_state(index, JobState::running);
  if (moved) {
    ledger_.give_back_excess(job->target, job->allocation, job->request.demand);
    release(index, difference(job->allocation, job->target), {});
    job->allocation = job->target;
    job->target.clear();
  }
  if (!job->first_start.happened()) job->first_start = now_;
  job->last_start = now_;
  if (!job->allocation.empty()) job->last_server = job->allocation.parts().front().server;
  if (job->request.time_limit) limits_.push({now_ + (*job->request.time_limit - job->run), event.job, event.attempt});
  notice(NoticeKind::running, index);
  if (took_time && !waiting_.empty()) wake_policy(Trigger::progress);  // from now on it can be stopped for them
}

void Core::on(AttemptProgressed& event) {
  JobIndex index;
  Job* job = find_attempt(event.job, event.attempt, &index);
  if (!job) return;
  if (!event.loss && !event.speed && !event.accuracy) return;
  if (!job->telemetry) job->telemetry = std::make_unique<JobTelemetry>();
  if (event.loss) job->telemetry->loss_by_epoch.push_back(*event.loss);
  if (event.accuracy) job->telemetry->accuracy = event.accuracy;
  if (event.speed) job->telemetry->speeds.push_back(*event.speed);
  effects_->records.push_back({.kind = RecordKind::job_progress, .index = index, .job = event.job, .at = now_});
  wake_policy(Trigger::progress);
}

void Core::on(const AttemptSuspended& event) {
  JobIndex index;
  Job* job = find_attempt(event.job, event.attempt, &index);
  if (!job || job->state != JobState::stopping) return;
  if (job->cancel_requested) {  // cancelled while it was being suspended: now it can be ended
    command(CommandKind::stop, index, {});
    effects_->commands.back().why = StopReason::cancelled;
    return;
  }
  set_state(index, JobState::suspended);
  leave_active(index);
  release_all(index);
  job->allocation.clear();
  job->waiting_since = now_;
  enter_queue(index);
  notice(NoticeKind::waiting, index);
  wake_policy(Trigger::ending);
}

void Core::on(const AttemptReleased& event) {
  JobIndex index;
  Job* job = find_attempt(event.job, event.attempt, &index, event.index);
  if (!job || !is_active(job->state) || job->state == JobState::suspended) return;
  if (job->cancel_requested) return finish(index, JobState::cancelled, {});
  requeue(index);
}

void Core::on(const AttemptExited& event) {
  JobIndex index;
  Job* job = find_attempt(event.job, event.attempt, &index, event.index);
  if (!job) return;
  if (job->state == JobState::suspended) {  // its frozen process has gone
    leave_suspension(index);
    set_state(index, JobState::stopping);
  }
  const bool success = event.exit.failure == FailureKind::none;
  if (job->cancel_requested && !success) return finish(index, JobState::cancelled, event.exit);
  if (event.retry) {
    ++job->failures;
    return requeue(index);
  }
  finish(index, success ? JobState::succeeded : JobState::failed, event.exit);
}

void Core::on(const ServerJoined& event) {
  ServerIndex server = ledger_.find_server(event.server.name);
  if (!server.valid()) {
    server = ledger_.add_server(event.server);
  } else {
    ledger_.describe(server, event.server);
    if (ledger_.servers()[server].state == ServerState::down) ledger_.set_state(server, ServerState::up);
  }
  effects_->records.push_back({.kind = RecordKind::server_state, .server = server, .at = now_});
  wake_policy(Trigger::cluster);
}

void Core::on(const ServerSilent& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid() || ledger_.servers()[server].state == ServerState::down) return;
  ledger_.set_state(server, ServerState::down);
  effects_->records.push_back({.kind = RecordKind::server_state, .server = server, .at = now_});
  wake_policy(Trigger::cluster);  // what was reserved there must be reserved elsewhere
}

void Core::on(const ServerDrained& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid() || ledger_.servers()[server].state == ServerState::down) return;
  ledger_.set_state(server, event.drain ? ServerState::draining : ServerState::up);
  effects_->records.push_back({.kind = RecordKind::server_state, .server = server, .at = now_});
  wake_policy(Trigger::cluster);
}

void Core::on(const ServerLost& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid()) return;
  ledger_.set_state(server, ServerState::down);
  effects_->records.push_back({.kind = RecordKind::server_state, .server = server, .at = now_});
  std::vector<JobIndex> active(active_);  // requeue changes the list
  // Jobs that await GPUs first: what others give up on this server must not start them there.
  std::stable_partition(active.begin(), active.end(), [this](JobIndex job) { return jobs_[job].gpus_awaited > 0; });
  for (const JobIndex index : active) {
    const Job& job = jobs_[index];
    if (job.allocation.on(server).empty() && job.target.on(server).empty()) continue;
    job.cancel_requested ? finish(index, JobState::cancelled, {}) : requeue(index);
  }
  wake_policy(Trigger::cluster);
}

void Core::on(const TelemetrySampled& event) {
  const ServerIndex server = ledger_.find_server(event.server);
  if (!server.valid()) return;
  const Server& at = ledger_.servers()[server];
  const bool changes = at.outside != event.outside || at.unavailable != event.unavailable;
  ledger_.set_telemetry(server, event.gpus, event.outside, event.unavailable);
  if (changes) wake_policy(Trigger::cluster);
}

void Core::on(const TimerFired&) {}  // time itself is what schedule() looks at

}  // namespace sl
