#include "controller/reconciler.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "controller/attempt_exit.h"
#include "controller/telemetry.h"

namespace sl::controller {
namespace {

// The report for an attempt that its agent no longer knows.
wire::AttemptReport lost_report() {
  wire::AttemptReport report;
  report.state = "exited";
  report.failure_kind = to_string(FailureKind::server_lost);
  return report;
}

// Whatever its report says, it was about to end.
bool is_being_ended(JobState state) { return state == JobState::stopping || is_moving(state); }

// Its next attempt begins in this turn: of that nothing is known yet.
bool is_of_present_attempt(const JobEntry& entry, const Job& job) {
  return entry.placements.back().attempt == job.attempt;
}

// How long its processes lived, by the agent's clock.
Duration duration_of(const wire::AttemptReport& report) {
  return report.started_us && report.ended_us ? Duration{*report.ended_us - *report.started_us} : Duration{};
}

// How long ago this part of it ended: its agent, or we, may have been away. Of clocks only differences count, and one
// that was frozen meanwhile lived longer than it ran.
Duration lateness_of(const Job& job, const wire::AttemptReport& report, Instant now) {
  constexpr Duration usual = Duration::whole_seconds(1);
  const Duration lived = duration_of(report);
  if (lived.us <= 0 || !job.last_start.happened()) return {};
  const Duration late = (now - job.last_start) - lived;
  return late > usual ? late : Duration{};
}

// The same of all of it: it has its GPUs until its last part ends.
Duration lateness_of(const JobEntry& entry, const Job& job, const wire::AttemptReport& report, Instant now) {
  Duration late = lateness_of(job, report, now);
  for (const Gang::Part& part : entry.gang ? entry.gang->parts() : std::vector<Gang::Part>())
    late = std::min(late, part.end ? lateness_of(job, *part.end, now) : Duration{});
  return late;
}

}  // namespace

void Reconciler::on_hello(const Agent& agent, bool is_restored, Instant now) {
  const std::set<JobId> held_back = strangers_.forget(agent.hello.server);
  for (const wire::AttemptReport& report : agent.hello.attempts) on_report(agent, report, now);
  settle_missing(agent, is_restored, now);
  for (const JobId job : held_back) start_held_back(job);
  for (const JobId job : checkpoints_.on_joined(agent.hello.server)) start_held_back(job);
}

const store::PlacementRow* Reconciler::held_for_another(const wire::Hello& hello) const {
  for (const wire::AttemptReport& held : hello.attempts) {
    const JobEntry* entry = book_.find(JobId(held.incarnation.job));
    if (!entry || has_part_on(hello.server, *entry, held.incarnation)) continue;
    const auto there = std::ranges::find_if(entry->placements, [&](const store::PlacementRow& row) {
      return !row.ended_us && incarnation_of(row) == held.incarnation;
    });
    if (there != entry->placements.end()) return &*there;
  }
  return nullptr;
}

std::optional<JobId> Reconciler::unknown_to(const wire::Hello& hello) const {
  for (const JobIndex index : jobs_with_processes(core_)) {
    const Job& job = core_.job(index);
    const JobEntry* entry = book_.find(job.request.id);
    const store::PlacementRow* placement = entry ? present_placement(*entry, hello.server) : nullptr;
    const bool may_be_unheard = job.state == JobState::starting && !job.resumes;  // of its order to start
    if (!placement || may_be_unheard) continue;
    const Incarnation present = incarnation_of(*placement);
    if (std::ranges::find(hello.attempts, present, &wire::AttemptReport::incarnation) == hello.attempts.end())
      return job.request.id;
  }
  return std::nullopt;
}

void Reconciler::on_server_lost(const std::string& server, Instant now) {
  lose_parts_on(server, now);
  for (const JobId job : strangers_.forget(server)) start_held_back(job);
  for (const JobId job : checkpoints_.on_server_lost(server, now)) start_held_back(job);
}

void Reconciler::start_held_back(JobId job) {
  const JobIndex index = core_.find(job);
  if (!index.valid() || core_.job(index).state != JobState::starting || core_.job(index).gpus_awaited > 0) return;
  orders_.repeat(job, core_.job(index).attempt, JobState::starting);
}

void Reconciler::on_report(const Agent& agent, const wire::AttemptReport& report, Instant now) {
  const bool is_ours = apply_report(agent.hello.server, report, now);
  if (report.state == "exited") {
    if (!is_ours) orders_.forget(agent.hello.server, report);
    strangers_.remove(report.incarnation);
    if (!is_ours) start_held_back(JobId(report.incarnation.job));
  } else if (!is_ours) {
    if (is_of_same_job(report.incarnation)) strangers_.add(agent.hello.server, report.incarnation);
    note_foreign(agent.hello.server, report.incarnation, now);
    orders_.stop_stranger(agent.session, report);
  }
}

// An incarnation that began after the job with this number was submitted belongs to that job: the backup has the
// submission but not the start. One that began earlier belongs to another job that had the number before the restore.
bool Reconciler::is_of_same_job(const Incarnation& incarnation) const {
  const JobEntry* entry = book_.find(JobId(incarnation.job));
  return entry && (knows(*entry, incarnation) || incarnation.number >= entry->row.submitted_us);
}

// Goes into the history of the server, not of the job: here the number may belong to another job.
void Reconciler::note_foreign(const std::string& server, const Incarnation& incarnation, Instant now) {
  const JobEntry* entry = book_.find(JobId(incarnation.job));
  if (entry && knows(*entry, incarnation)) return;  // given up earlier
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "attempt.foreign",
       .server = server,
       .text = fmt::format("{} runs an attempt that this database does not know, {} of job {}; it is stopped, and its "
                           "output stays in the folder {}",
                           server, incarnation.attempt, incarnation.job, key_of(incarnation))});
}

void Reconciler::on_lease_over(const std::string& server, Instant now) {
  for (const JobIndex at : jobs_with_processes(core_)) {
    const Job& job = core_.job(at);
    JobEntry* entry = book_.find(job.request.id);
    if (!entry || !present_placement(*entry, server)) continue;
    if (spec_of(*entry).on_partition != "stop") continue;
    const bool is_ordered = job.state != JobState::starting || job.gpus_awaited == 0;  // else nothing of it runs
    if (entry->gang && is_ordered) {
      lose_part(*entry, job, present_placement(*entry, server)->rank, now);
    } else {
      engine_.feed(AttemptReleased{job.request.id, job.attempt}, now);
    }
  }
  for (const JobId job : checkpoints_.on_lease_over(server)) start_held_back(job);
}

void Reconciler::settle_missing(const Agent& agent, bool is_restored, Instant now) {
  for (const JobIndex index : jobs_with_processes(core_)) {
    const Job& job = core_.job(index);
    JobEntry* entry = book_.find(job.request.id);
    const store::PlacementRow* placement = entry ? present_placement(*entry, agent.hello.server) : nullptr;
    if (!placement) continue;
    const Incarnation present = incarnation_of(*placement);
    const auto report = std::ranges::find(agent.hello.attempts, present, &wire::AttemptReport::incarnation);
    const bool held = report != agent.hello.attempts.end();
    const bool stands_still = held && report->state == "frozen";
    const bool has_no_order = job.state == JobState::starting || (held && is_moving(job.state));
    if (job.gpus_awaited > 0 && has_no_order) continue;
    if (entry->gang) {
      settle_missing_part(*entry, job, *placement, held, is_restored, now);
      continue;
    }
    if (!held && is_restored && job.state == JobState::starting) {
      engine_.feed(AttemptReleased{job.request.id, job.attempt}, now);
    } else if (held ? is_being_ended(job.state) || stands_still != (job.state == JobState::suspended)
                    : job.state == JobState::starting && !job.resumes) {
      orders_.repeat(job.request.id, job.attempt, job.state);
    } else if (!held) {
      apply_exit(*entry, job, agent.hello.server, lost_report(), now);
    }
  }
}

// ---- attempts on several servers ----

// A part that its agent has is told again to end, if it is to; one that it does not have was never ordered to start, or
// is lost.
void Reconciler::settle_missing_part(JobEntry& entry, const Job& job, const store::PlacementRow& placement,
                                     bool is_held, bool is_restored, Instant now) {
  const JobId id = job.request.id;
  if (!is_of_present_attempt(entry, job)) return;
  if (is_being_ended(job.state) || entry.gang->is_broken()) {
    if (!is_held) return lose_part(entry, job, placement.rank, now);
    is_being_ended(job.state) ? orders_.repeat(id, job.attempt, job.state) : orders_.stop_rest(id, job.attempt);
  } else if (!is_held) {
    const bool may_have_run = entry.gang->has_begun() || is_restored;
    if (may_have_run) return lose_part(entry, job, placement.rank, now);
    entry.gang->miss(placement.rank);
    orders_.repeat(id, job.attempt, JobState::starting);
  }
}

void Reconciler::on_agent_gone(const std::string& server) {
  for (const JobIndex at : core_.active()) {
    JobEntry* entry = book_.find(core_.job(at).request.id);
    const store::PlacementRow* placement = entry && entry->gang ? present_placement(*entry, server) : nullptr;
    if (placement) entry->gang->unprepare(placement->rank);
  }
}

void Reconciler::lose_part(JobEntry& entry, const Job& job, int rank, Instant now) {
  if (!is_of_present_attempt(entry, job)) return;
  entry.gang->lose(rank);
  follow_up(entry, job, now);
}

// For good: after a restart of the controller they are still lost.
void Reconciler::lose_parts_on(const std::string& server, Instant now) {
  for (const JobIndex at : jobs_with_processes(core_)) {
    const Job& job = core_.job(at);
    JobEntry* entry = book_.find(job.request.id);
    const store::PlacementRow* placement = entry && entry->gang ? present_placement(*entry, server) : nullptr;
    if (!placement) continue;
    const int rank = placement->rank;
    recorder_.write({end_placement(*entry, rank, now)});
    lose_part(*entry, job, rank, now);
  }
}

void Reconciler::apply_part(JobEntry& entry, const Job& job, int rank, const wire::AttemptReport& report, Instant now) {
  entry.gang->on_report(rank, report);
  follow_up(entry, job, now);
}

// What follows from the state of its parts.
void Reconciler::follow_up(JobEntry& entry, const Job& job, Instant now) {
  const JobId id = job.request.id;
  const Gang& gang = *entry.gang;
  if (job.state == JobState::starting && gang.has_started() && !gang.is_broken())
    engine_.feed(AttemptStarted{id, job.attempt}, now);
  if (gang.has_ended()) {
    const std::vector<Gang::Part> parts = gang.parts();
    const int rank = gang.rank_of_failure().value_or(0);
    const std::vector<store::PlacementRow> placements(latest_placements(entry).begin(), latest_placements(entry).end());
    apply_exit(entry, job, placements[static_cast<std::size_t>(rank)].server, gang.outcome(), now);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].end->incarnation.job != 0) orders_.forget(placements[i].server, *parts[i].end);
    }
  } else if (!is_being_ended(job.state) && entry.gang->take_break()) {
    note_break(entry, job, now);
    orders_.stop_rest(id, job.attempt);
  } else if (gang.is_ready() && job.state == JobState::starting) {
    orders_.launch(id, job.attempt);
  }
}

// Goes into the history of the job: what the others are stopped for.
void Reconciler::note_break(const JobEntry& entry, const Job& job, Instant now) {
  const int rank = entry.gang->rank_of_failure().value_or(0);
  const auto& end = entry.gang->parts()[static_cast<std::size_t>(rank)].end;
  const std::string what = end ? describe_failure(exit_of(*end), *end) : "it cannot follow the others any more";
  recorder_.write_event({.at_us = now.us,
                         .kind = "job.part_ended",
                         .job_id = entry.row.id,
                         .server = latest_placements(entry)[static_cast<std::size_t>(rank)].server,
                         .text = fmt::format("rank {} of attempt {}: {}; the others are stopped", rank, job.attempt,
                                             what.empty() ? "it was stopped" : what)});
}

// ---- reports ----

// Returns whether the attempt should exist.
bool Reconciler::apply_report(const std::string& server, const wire::AttemptReport& report, Instant now) {
  const JobId id(report.incarnation.job);
  JobEntry* entry = book_.find(id);
  const JobIndex index = core_.find(id);
  if (!entry || !index.valid()) return false;
  const Job& job = core_.job(index);
  if (!is_active(job.state)) return false;
  const store::PlacementRow* placement = present_placement(*entry, server);
  if (!placement || incarnation_of(*placement) != report.incarnation) return false;
  if (placement->attempt != job.attempt) return false;  // that of its next attempt will be known after this turn
  if (placement->rank == 0) entry->pid = report.pid, images_.on_report(*entry, job, report, now);
  for (store::PlacementRow& row : entry->placements) {
    if (&row == placement && row.rank == 0) checkpoints_.on_report(*entry, row, report, now);
  }
  if (report.started_us && placement->rank == 0) entry->measuring().started_us = *report.started_us;
  if (entry->gang) {
    apply_part(*entry, job, placement->rank, report, now);
    return true;
  }
  const bool stands_still = report.state == "frozen";
  if (job.state == JobState::starting && has_started(report) && !stands_still) {
    // A report from before it stood still may have come meanwhile.
    if (job.resumes && entry->measured) entry->measured->meter.begin_again();
    engine_.feed(AttemptStarted{id, job.attempt}, now);
  }
  if (resizes_in_place(*entry, job) && report.state == "running" &&
      report.gpus == indexes_of(job.target.parts().front().gpus)) {
    if (entry->measured) entry->measured->meter.begin_again();
    engine_.feed(AttemptStarted{id, job.attempt}, now);
  }
  if (job.state == JobState::stopping && stands_still && (is_to_be_frozen(*entry, job) || job.cancel_requested)) {
    if (entry->measured) entry->measured->meter.begin_again();
    engine_.feed(AttemptSuspended{id, job.attempt}, now);
  }
  if (report.state == "exited") {
    apply_exit(*entry, core_.job(index), server, report, now);
    orders_.forget(server, report);
  }
  return true;
}

void Reconciler::apply_exit(JobEntry& entry, const Job& job, const std::string& server,
                            const wire::AttemptReport& report, Instant now) {
  Exit exit = exit_of(report);
  const JobId id(entry.row.id);
  const wire::JobSpec& spec = spec_of(entry);
  if (report.checkpoint_bytes) {
    entry.measuring().checkpoint_bytes = report.checkpoint_bytes;
    entry.measuring().checkpoint_s = report.checkpoint_s;
  }
  if (entry.measured && entry.measured->is_any()) write_telemetry(core_, &job, entry);
  // An attempt that ended by itself has ended, even if a stop was on its way.
  const bool stopped = job.state == JobState::stopping && was_interrupted(report);
  if (stopped && entry.stopping == StopReason::time_limit) exit.failure = FailureKind::time_limit;
  // One that was lost may not have saved its model: it starts again.
  const bool is_done = stopped && report.stopped_by && entry.stopping == StopReason::target_met;
  if (is_done) exit.failure = FailureKind::none;
  if (is_server_fault(exit.failure)) {
    note_server_fault(entry, job, server, exit, report, now);
  } else {
    health_.on_end({server, entry.row.user, id, spec.command, exit.failure, duration_of(report),
                    is_being_ended(job.state) || asks_again(exit)},
                   now);
  }
  const bool unordered = report.stopped_by == "order" && !is_being_ended(job.state);
  // It may be started elsewhere if its server fails. That it was its lease may have been forgotten with its launcher.
  const bool fenced = (report.stopped_by == "lease" || unordered) && spec.on_partition == "stop" &&
                      exit.failure != FailureKind::time_limit;
  const bool preempted = stopped && entry.stopping == StopReason::preempted;
  const bool moved = is_moving(job.state) && was_interrupted(report);
  // Stopped because of a part that had ended, and how is not known any more; or because it did not answer a request to
  // resize in time, which it did afterwards.
  const bool may_be_stopped_by_its_agent = entry.gang || spec.resize == "in_place";
  const bool taken_along = may_be_stopped_by_its_agent && unordered;
  // By an order that could not be recorded, or that the database has lost with its newest rows: the training has saved
  // its model, but is not known to have finished.
  const bool saved = unordered && job.request.capability == Capability::checkpoint;
  const bool goes_on = fenced || preempted || moved || taken_along || saved;
  const Duration late = lateness_of(entry, job, report, now);
  const std::optional<Instant> again = is_done ? std::nullopt : goes_on ? now : next_start(entry, job, exit, late, now);
  if (again) {
    engine_.feed(AttemptReleased{id, job.attempt, {}, late}, now);
    if (*again > now) hold_until(id, *again, now);
  } else {
    end_or_retry(entry, job, spec, server, exit, report, late, now);
  }
  entry.pid = 0;
}

// When the job may start again without using one of its retries; empty: it may not. `late`: how long ago it ended.
std::optional<Instant> Reconciler::next_start(JobEntry& entry, const Job& job, const Exit& exit, Duration late,
                                              Instant now) {
  if (exit.failure == FailureKind::server_setup) return now;
  if (job.cancel_requested || !(asks_again(exit) || is_server_fault(exit.failure))) return std::nullopt;
  const JobId id(entry.row.id);
  const Duration ran = job.state == JobState::running ? now - job.last_start - late : Duration{};
  const std::optional<Instant> again = requeues_.ask(id, ran, now);
  entry.row.quick_requeues = requeues_.quick_ends(id);
  return again;
}

// Goes into the history of the job. A server that fails jobs gets no new ones for a while.
void Reconciler::note_server_fault(const JobEntry& entry, const Job& job, const std::string& server, const Exit& exit,
                                   const wire::AttemptReport& report, Instant now) {
  const bool is_lost = exit.failure == FailureKind::server_lost;
  if (is_lost && is_being_ended(job.state)) return;
  const std::string what = describe_failure(exit, report);
  recorder_.write_event({.at_us = now.us,
                         .kind = "job.server_fault",
                         .job_id = entry.row.id,
                         .server = server,
                         .text = fmt::format("attempt {} ended by the server's fault ({}): {}", job.attempt,
                                             to_string(exit.failure), what)});
  if (!is_lost) health_.on_server_fault(server, fmt::format("job {}: {}", entry.row.id, what), now);
}

// Goes into the history of the job, which is tried again.
void Reconciler::note_failed_attempt(JobEntry& entry, const Job& job, const std::string& server, const Exit& exit,
                                     const wire::AttemptReport& report, Instant now) {
  entry.last_failure = (entry.gang ? "on " + server + ": " : "") + describe_failure(exit, report);
  if (is_server_fault(exit.failure)) return;  // told already
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "job.attempt_failed",
       .job_id = entry.row.id,
       .server = server,
       .text = fmt::format("attempt {} failed ({}): {}", job.attempt, to_string(exit.failure), entry.last_failure)});
}

void Reconciler::end_or_retry(JobEntry& entry, const Job& job, const wire::JobSpec& spec, const std::string& server,
                              const Exit& exit, const wire::AttemptReport& report, Duration late, Instant now) {
  const JobId id(entry.row.id);
  const bool retry = exit.failure != FailureKind::none && !job.cancel_requested && job.failures < spec.retry.max &&
                     matches_retry(spec.retry, exit);
  if (retry) {
    note_failed_attempt(entry, job, server, exit, report, now);
  } else {
    if (exit.signal != 0) entry.row.signal = exit.signal;
    if (report.exit_code) entry.row.exit_code = exit.exit_code;
    if (exit.failure != FailureKind::none && !job.cancel_requested) {
      entry.row.failure_kind = to_string(exit.failure);
      entry.row.failure_message = describe_final_failure(exit, report);
      if (entry.gang) entry.row.failure_message = fmt::format("on {}: {}", server, entry.row.failure_message);
    }
  }
  // One that has met its target is stopped too, and has succeeded.
  const bool was_asked = report.stopped_by && entry.stopping != StopReason::target_met;
  engine_.feed(AttemptExited{id, job.attempt, exit, retry, {}, was_asked, late}, now);
  if (retry) return wait_before_retry(entry, spec, now);
  requeues_.forget(id);
}

// It may have asked to start again before, in vain: a failure is another matter.
void Reconciler::wait_before_retry(JobEntry& entry, const wire::JobSpec& spec, Instant now) {
  const JobId id(entry.row.id);
  requeues_.forget(id);
  entry.row.quick_requeues = 0;
  const Duration wait = Requeues::wait_before_retry(spec.retry, core_.job(core_.find(id)).failures);
  if (wait.us > 0) hold_until(id, now + wait, now);
}

void Reconciler::hold_until(JobId job, Instant until, Instant now) {
  if (core_.job(core_.find(job)).state != JobState::pending) return;  // it was moving and starts at once
  requeues_.hold(job, until);
  engine_.feed(JobHeld{.job = job, .by_user = false}, now);
}

}  // namespace sl::controller
