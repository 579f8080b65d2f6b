#include "controller/submissions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "policy/satisfiable.h"
#include "wire/job_spec_text.h"
#include "wire/members.h"

namespace sl::controller {
namespace {

std::string labels_text(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "none" : text;
}

// "failed,preempted=team, finished=me"
std::string notify_text(const std::vector<wire::NotifySpec>& notify) {
  std::string text;
  for (const wire::NotifySpec& each : notify)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", fmt::join(each.on, ","), each.to);
  return text.empty() ? "none" : text;
}

// "priority 0 → 5, gpus 2 → 1..4"; empty if they are equal in what a change may change.
std::string describe_change(const wire::JobSpec& before, const wire::JobSpec& after) {
  std::string text;
  const auto note = [&](const char* name, const std::string& from, const std::string& to) {
    if (from != to) text += fmt::format("{}{} {} → {}", text.empty() ? "" : ", ", name, from, to);
  };
  const auto gpus = [](const wire::GpuRange& range) {
    return range.min == range.max ? std::to_string(range.min) : fmt::format("{}..{}", range.min, range.max);
  };
  const auto limit = [](const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.10g} s", *seconds) : std::string("none");
  };
  note("priority", std::to_string(before.priority), std::to_string(after.priority));
  note("gpus", gpus(before.gpus), gpus(after.gpus));
  note("servers", std::to_string(before.servers), std::to_string(after.servers));
  note("time limit", limit(before.time_limit_s), limit(after.time_limit_s));
  note("estimate", limit(before.estimate_s), limit(after.estimate_s));
  note("name", before.name, after.name);
  note("labels", labels_text(before.labels), labels_text(after.labels));
  note("notify", notify_text(before.notify), notify_text(after.notify));
  const auto at_once = [](int members) { return members == 0 ? std::string("any number") : std::to_string(members); };
  note("members at once", at_once(before.max_running), at_once(after.max_running));
  return text;
}

}  // namespace

namespace {

// What a change of a group, which gives it this priority, is for each of its members.
wire::JobChange of_member(wire::JobChange change, int priority) {
  if (change.first || change.before) change.priority = priority;
  change.first = false;
  change.before.reset();
  change.notify.clear();  // only the whole is told
  change.max_running.reset();
  change.hold.reset();  // a group that is held holds up its members
  return change;
}

// What of it still counts for a member that runs: its name, labels and priority, not what it was started with.
wire::JobChange of_running(const wire::JobChange& change) {
  return {.priority = change.priority, .name = change.name, .labels = change.labels};
}

}  // namespace

std::string default_name(const wire::CommandLine& command) {
  const auto* words = std::get_if<std::vector<std::string>>(&command);
  std::istringstream line(words ? "" : std::get<std::string>(command));
  std::vector<std::string> first = words ? *words : std::vector<std::string>{};
  for (std::string word; !words && first.size() < 2 && line >> word;) first.push_back(word);
  const auto base = [](const std::string& word) { return word.substr(word.rfind('/') + 1); };
  if (first.empty()) return "job";
  const std::string program = base(first[0]);
  const bool interpreter = program.starts_with("python") || program == "bash" || program == "sh";
  const std::string name = interpreter && first.size() > 1 && first[1][0] != '-' ? base(first[1]) : program;
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
  return plain ? name.substr(0, 64) : "job";
}

Error already_ended(const store::JobRow& job) {
  return conflict("job-finished", fmt::format("job {} has already ended: {}", job.id, job.state));
}

void Submissions::restore(const std::vector<store::IdempotencyRow>& keys, Instant now) {
  for (const store::IdempotencyRow& row : keys)
    keys_.add(row.key, {row.body_hash, JobId(row.job_id), std::min(Instant{row.at_us}, now), true});
}

// The state of a job that another one names, "" if there is none.
std::string Submissions::state_of(JobId job, const PastStates& past) const {
  // Its row does not know yet what has ended it just now.
  if (const JobIndex index = core_.find(job); index.valid()) return to_string(core_.job(index).state);
  if (const JobEntry* entry = book_.find(job)) return entry->row.state;
  if (core_.group_of_member_to_come(job).valid()) return to_string(JobState::pending);
  const auto ended = past.find(job.value);
  return ended == past.end() ? "" : ended->second;
}

// A job can only follow jobs that exist, so none can follow itself.
Status Submissions::check_prerequisites(const wire::JobSpec& spec, const PastStates& past) const {
  for (const auto* jobs : {&spec.after, &spec.after_any}) {
    const char* key = jobs == &spec.after ? "/after" : "/after_any";
    for (const std::int64_t id : *jobs) {
      const std::string state = state_of(JobId(id), past);
      if (state.empty())
        return not_found("dependency-not-found", fmt::format("there is no job {} to start after", id))
            .hint("schedulearn ls --all")
            .at(key);
      const bool is_over = is_finished(*parse_job_state(state));
      if (jobs == &spec.after && is_over && state != to_string(JobState::succeeded))
        return conflict("dependency-failed", fmt::format("job {} has {}: a job after it would never start", id,
                                                         state == "failed" ? "failed" : "been cancelled"))
            .hint(fmt::format("run it again (schedulearn retry {}), and start after the new job: --after ID", id))
            .hint(fmt::format("or start whatever its end: --after-any {}", id))
            .at(key);
    }
  }
  return {};
}

namespace {

// Clients make paths absolute; a server does not know what a relative one is relative to.
bool is_absolute(const std::string& path) { return path.starts_with('/') || path == "~" || path.starts_with("~/"); }

// Which command shows what is lacking.
bool is_of_gpus(Lack lack) { return lack == Lack::gpus || lack == Lack::gpu_type || lack == Lack::gpu_memory; }

// What of a job asks for it.
const char* key_of(Lack lack) {
  switch (lack) {
    case Lack::gpu_type:
      return "/resources/gpu_type";
    case Lack::gpu_memory:
      return "/resources/gpu_memory";
    case Lack::gpus:
      return "/gpus";
    case Lack::cpu:
      return "/resources/cpus";
    case Lack::memory:
      return "/resources/memory";
    case Lack::containers:
      return "/image";
    case Lack::server:
      return "/on";
    default:
      return "";
  }
}

}  // namespace

Status Submissions::check(const wire::JobSpec& spec, const PastStates& past) const {
  if (Status valid = wire::validate(spec); !valid.ok()) return valid;
  if (!spec.snapshot && !spec.workdir.empty() && !is_absolute(spec.workdir))
    return invalid("bad-workdir", "workdir is not an absolute path: " + spec.workdir)
        .hint("begin it with / or ~/: /home/mei/train")
        .at("/workdir");
  if (Status known = check_prerequisites(spec, past); !known.ok()) return known;
  if (!core_.has_servers()) return {};
  const JobRequest request = request_of(spec, Instant{0});
  const Verdict verdict = could_ever_run(core_.servers(), request, request.gpus_min);
  if (verdict.possible()) return {};
  const std::string lack = "no server can ever run this job: " + lack_text(verdict);
  if (verdict.lack != Lack::gpus || !request.gpu_types.empty() || !request.servers_chosen.is_any())
    return invalid("resources-unsatisfiable", lack)
        .hint(is_of_gpus(verdict.lack) ? "schedulearn gpus" : "schedulearn servers ls")
        .at(key_of(verdict.lack));
  return invalid("gpus-unsatisfiable", lack).hint("ask for fewer: schedulearn submit --gpus N …").at("/gpus");
}

JobRequest Submissions::request_of(const wire::JobSpec& spec, Instant now) const {
  Core& core = const_cast<Core&>(core_);  // interning a name changes no decision
  return make_request(spec, JobId(0), now, profiles_, core);
}

// The answer to a key that has been seen before.
std::optional<Result<JobId>> Submissions::answer_known(const Submission& submission) {
  const auto* known = submission.idempotency_key.empty() ? nullptr : keys_.find(submission.idempotency_key);
  if (!known) return std::nullopt;
  if (known->body_hash != submission.body_hash)
    return invalid("idempotency-key-reused", "this idempotency key was used for another submission");
  if (!known->is_durable)
    return conflict("submission-in-flight", "the same submission is being written right now")
        .hint("try again in a second");
  return known->job;
}

Status Submissions::check(const Submission& submission, std::size_t others) {
  if (const auto known = answer_known(submission)) return known->ok() ? Status() : Status(known->error());
  if (Status checked = check(submission.spec, submission.past); !checked.ok()) return checked;
  if (Status accepted = recorder_.accepts(); !accepted.ok()) return accepted;
  if (core_.unfinished() + others >= queue_max_)
    return unavailable("queue-full", fmt::format("{} jobs are waiting or running; no more are accepted", queue_max_));
  return check_bytes(submission.spec.user);
}

Status Submissions::check_bytes(const std::string& user) const {
  if (book_.bytes_of(user) < user_bytes_max_) return {};
  return unavailable("too-much-submitted",
                     fmt::format("what the unfinished jobs of {} were submitted with takes {} MiB, as much as that of "
                                 "one user may",
                                 user, user_bytes_max_ >> 20))
      .hint("what is large belongs in a file, not in a command or a variable");
}

void Submissions::submit(Submission submission, Instant now, Done done) {
  expire_keys(now);
  if (const auto known = answer_known(submission)) return done(*known);
  if (Status checked = check(submission, 0); !checked.ok()) return done(checked.error());
  const std::int64_t members = wire::member_count(submission.spec);
  const JobId id = numbers_.take(1 + members), last(id.value + members);
  if (members > 0) recorder_.write(store::SettingRow{last_job_key, std::to_string(last.value)});
  if (submission.spec.name.empty()) submission.spec.name = default_name(submission.spec.command);
  book_.add(new_row(submission.spec, id, now));
  if (!submission.idempotency_key.empty()) {
    keys_.add(submission.idempotency_key, {submission.body_hash, id, now, false});
    recorder_.write(store::IdempotencyRow{submission.idempotency_key, submission.body_hash, id.value, now.us});
  }
  engine_.feed(JobSubmitted{make_request(submission.spec, id, now, profiles_, core_), submission.spec.hold, members,
                            submission.spec.max_running},
               now);
  recorder_.when_durable(
      [this, id, last, key = submission.idempotency_key, done = std::move(done)](const Status& status) {
        if (!status.ok()) {
          keys_.drop(key);
          refuse_unwritten(id, recorder_.committed_at());
          return done(recorder_.failure());
        }
        if (auto* known = keys_.find(key)) known->is_durable = true;
        numbers_.on_durable(last);
        done(id);
      });
}

// The row of this submission could not be written: nothing of the job stays, neither here nor (later) in the store.
void Submissions::refuse_unwritten(JobId job, Instant now) {
  std::vector<JobId> jobs = core_.unfinished_members(job);
  jobs.push_back(job);
  for (const JobId id : jobs) {
    book_.forget(id);
    recorder_.drop_job(id);
  }
  engine_.feed(JobCancelled{job}, now);
  for (const JobId id : jobs) {
    const JobIndex index = core_.find(id);
    if (index.valid() && is_active(core_.job(index).state))
      engine_.feed(AttemptReleased{id, core_.job(index).attempt}, now);
  }
}

void Submissions::expire_keys(Instant now) {
  if (const auto last = keys_.expire(now)) recorder_.forget_keys(*last);
}

// What does not change a member that has not come up.
Error Submissions::no_job(JobId job) const {
  const JobIndex group = core_.group_of_member_to_come(job);
  if (!group.valid())
    return not_found("job-not-found", fmt::format("there is no job {}", job.value)).hint("schedulearn ls");
  const std::int64_t id = core_.job(group).request.id.value;
  return conflict("member-to-come",
                  fmt::format("job {} is a member of group {} and has not come up yet: it is as its group is",
                              job.value, id))
      .hint(fmt::format("change the whole group, by its number: {}", id));
}

void Submissions::cancel(JobId job, const std::string& by, Instant now, Done done, const wire::Cancellation& wanted) {
  const std::string& reason = wanted.reason;
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted.error());
  JobEntry* entry = book_.find(job);
  if (const JobIndex group = core_.group_of_member_to_come(job); !entry && group.valid()) {
    // Its own history has not begun.
    note_request("job.cancel_requested", core_.job(group).request.id, by, now,
                 fmt::format("its member {}{}{}", job.value, reason.empty() ? "" : ": ", reason));
    engine_.feed(JobCancelled{job}, now);
    return answer_when_durable(job, std::move(done));
  }
  if (!entry) return done(no_job(job));
  if (!core_.find(job).valid() || is_finished(core_.job(core_.find(job)).state)) {
    return refuse_when_durable(already_ended(entry->row), std::move(done));
  }
  const std::string signal = wanted.now ? "KILL" : wire::plain_signal(wanted.signal);
  const std::string how = wanted.now ? "at once" : signal.empty() ? "" : "by " + signal;
  note_request("job.cancel_requested", job, by, now, how + (how.empty() || reason.empty() ? "" : ": ") + reason);
  std::vector<JobId> cancelled = is_group(entry->row) ? core_.unfinished_members(job) : std::vector<JobId>();
  cancelled.push_back(job);
  for (const JobId each : cancelled) {
    if (JobEntry* ended = book_.find(each); ended && !reason.empty()) ended->row.failure_message = reason;
    stop_with(each, signal);
  }
  engine_.feed(JobCancelled{job}, now);
  answer_when_durable(*entry, std::move(done));
}

// The orders that the cancellation leads to say so. One that is being stopped already needs another order: it may have
// been given much longer than a job that is cancelled.
void Submissions::stop_with(JobId job, const std::string& wanted) {
  JobEntry* entry = book_.find(job);
  const JobIndex index = core_.find(job);
  if (!entry || !index.valid()) return;
  if (core_.job(index).state != JobState::stopping) {
    if (!wanted.empty()) entry->stop_with = wanted;
    return;
  }
  const bool has_time = !core_.job(index).cancel_requested && entry->stopping != StopReason::none;
  if (wanted.empty() && !has_time) return;
  const std::string signal = wanted.empty() ? "TERM" : wanted;
  entry->row.extra_json = stop_text(entry->stopping, signal);
  recorder_.write_job(entry->row);
  orders_.hurry(job, core_.job(index).attempt, signal);
}

Status Submissions::may_have(const JobEntry& entry, const wire::JobSpec& next) const {
  const Job& job = core_.job(core_.find(JobId(entry.row.id)));
  if ((next.gpus.max == 0) != (spec_of(entry).gpus.max == 0))
    return invalid("bad-gpus", next.gpus.max == 0 ? "a job with GPUs cannot become one without"
                                                  : "a job without GPUs cannot become one with GPUs")
        .hint("cancel the job and submit it again")
        .at("/gpus");
  const bool has_list =
      !next.gpus.allowed.empty() || (job.request.model && !job.request.model->gpu_counts_allowed.empty());
  if (has_list || !next.roles.empty())
    return invalid("bad-gpus", "numbers of GPUs that follow from roles or from a list cannot be changed")
        .hint("cancel the job and submit it again")
        .at("/gpus");
  return check(next);
}

Status may_still_change(const JobEntry& entry, const Job& job) {
  if (job.cancel_requested)
    return conflict("job-cancelled", fmt::format("job {} is being cancelled", job.request.id.value));
  const bool is_final = entry.stopping == StopReason::time_limit || entry.stopping == StopReason::target_met;
  if (job.state != JobState::stopping || !is_final) return {};
  return conflict("job-ending",
                  fmt::format("job {} is being stopped: {}", job.request.id.value,
                              entry.stopping == StopReason::time_limit ? "it ran longer than its time limit"
                                                                       : "it has met its target"));
}

Result<Submissions::Edit> Submissions::plan_edit(JobId job, const wire::JobChange& change, Instant now) const {
  const JobEntry* entry = book_.find(job);
  if (!entry) return no_job(job);
  if (!core_.find(job).valid() || is_finished(core_.job(core_.find(job)).state)) return already_ended(entry->row);
  if (change.is_empty())
    return invalid("nothing-to-change", "the request changes nothing")
        .hint("keys: priority, gpus, servers, time_limit_s, name, labels, hold, first, before, notify, max_running");
  const Job& subject = core_.job(core_.find(job));
  if (const Status may = wire::concerns_its_run(change) ? may_still_change(*entry, subject) : Status(); !may.ok())
    return may.error();
  if (!change.notify.empty() && subject.request.member_of.valid())
    return invalid("bad-notify", fmt::format("nobody is told of single members of group {}, only of the whole",
                                             subject.request.member_of.value))
        .hint(fmt::format("schedulearn set {} --notify …", subject.request.member_of.value))
        .at("/notify");
  Edit edit;
  wire::JobChange wanted = change;
  if (change.first && core_.explain(core_.find(job)) == ReasonCode::max_running && !subject.group)
    return conflict("job-not-in-line",
                    fmt::format("job {} waits until fewer members of group {} run, whatever its priority", job.value,
                                subject.request.member_of.value))
        .hint(fmt::format("schedulearn set {} --max-running 0", subject.request.member_of.value));
  if (change.first) {
    const Result<int> first = priority_of_first(job);
    if (!first.ok()) return first.error();
    wanted.priority = *first;
  }
  if (change.before) {
    Result<std::vector<Priority>> moved = priorities_before(job, JobId(*change.before), now);
    if (!moved.ok()) return moved.error();
    edit.others = std::move(*moved);
    const auto own = std::ranges::find(edit.others, job, &Priority::job);
    if (own != edit.others.end()) wanted.priority = own->priority, edit.others.erase(own);
  }
  const wire::JobSpec& spec = spec_of(*entry);
  edit.next = wire::changed(spec, wanted);
  if (spec.estimate_s && spec.gpus.max > 0 && edit.next.gpus.max > 0 && edit.next.gpus.max != spec.gpus.max) {
    const SpeedCurve& curve = core_.job(core_.find(job)).request.speed_curve();
    edit.next.estimate_s = std::ceil(*spec.estimate_s / curve.speed_on(edit.next.gpus.max, spec.gpus.max));
  }
  if (const Status valid = wire::validate(edit.next); !valid.ok()) return valid.error();
  edit.gpus_differ = spec.gpus.min != edit.next.gpus.min || spec.gpus.max != edit.next.gpus.max;
  if (const Status may = edit.gpus_differ ? may_have(*entry, edit.next) : Status(); !may.ok()) return may.error();
  const JobState state = core_.job(core_.find(job)).state;
  const bool has_begun = state != JobState::pending && state != JobState::held;
  if (edit.gpus_differ && has_begun)
    return conflict("job-started", fmt::format("job {} is {}: its GPUs can be changed only while it waits", job.value,
                                               entry->row.state))
        .hint(fmt::format("schedulearn scale {} …   stops it at a checkpoint and continues", job.value));
  if (edit.next.servers != spec.servers) {
    if (has_begun)
      return conflict("job-started",
                      fmt::format("job {} is {}: how many servers it may be on can be changed only while "
                                  "it waits",
                                  job.value, entry->row.state));
    if (const Status may = check(edit.next); !may.ok()) return may.error();
  }
  if (const Status may = change.hold ? may_hold(*entry, *change.hold) : Status(); !may.ok()) return may.error();
  edit.what = describe_change(spec, edit.next);
  edit.hold = change.hold;
  return edit;
}

void Submissions::edit(JobId job, const wire::JobChange& change, const std::string& by, Instant now, Done done) {
  Result<Edit> planned = plan_edit(job, change, now);
  if (!planned.ok()) return refuse_when_durable(planned.error(), std::move(done));
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted.error());
  JobEntry* entry = book_.find(job);
  const std::string text = planned->what.empty() ? "" : wire::spec_text(planned->next);
  const bool grows = text.size() > entry->row.spec_json.size();
  if (const Status room = grows ? check_bytes(entry->row.user) : Status(); !room.ok()) return done(room.error());
  for (const Priority& other : planned->others)
    edit(other.job, {.priority = other.priority}, by, now, [](const Result<JobId>&) {});
  if (!planned->what.empty()) {
    const wire::JobSpec& next = planned->next;
    JobEdited edited{.job = job, .priority = {}};
    if (next.priority != spec_of(*entry).priority) edited.priority = next.priority;
    if (planned->gpus_differ) {
      edited.gpus_min = next.gpus.min, edited.gpus_max = edited.gpus = next.gpus.max;
      if (next.estimate_s) edited.estimate = Duration::seconds(*next.estimate_s);
    }
    edited.servers_max = change.servers;
    if (change.time_limit_s) edited.time_limit = Duration::seconds(*change.time_limit_s);
    edited.max_running = change.max_running;
    note_request("job.edited", job, by, now, planned->what);
    entry->row.spec_json = text;
    entry->row.name = next.name;
    entry->spec.reset();
    book_.recount(*entry);
    engine_.feed(std::move(edited), now);
  }
  if (planned->hold) {
    note_request(*planned->hold ? "job.suspend_requested" : "job.resume_requested", job, by, now);
    engine_.feed(JobHeld{job, *planned->hold}, now);
  }
  // Of a group: its members that have come up too, as far as they can still be changed.
  for (const JobId member : is_group(entry->row) ? core_.unfinished_members(job) : std::vector<JobId>()) {
    wire::JobChange its = of_member(change, planned->next.priority);
    const Job& known = core_.job(core_.find(member));
    if (its.name)
      its.name = wire::member_spec(planned->next, job.value, core_.job(core_.find(job)).group->place(member)).name;
    if (!known.is_queued() && known.state != JobState::held) its = of_running(its);
    if (!its.is_empty()) edit(member, its, by, now, [](const Result<JobId>&) {});
  }
  answer_when_durable(*entry, std::move(done));
}

Result<std::vector<Priority>> Submissions::priorities_before(JobId job, JobId other, Instant now) const {
  std::vector<InLine> line;
  for (const JobIndex each : core_.queue_order(now)) {
    const JobRequest& request = core_.job(each).request;
    line.push_back({request.id, request.priority, request.member_of});
  }
  return priorities_to_serve_before(with_groups_as_one(line, job, other), job, other);
}

// One above the highest of the others that wait; its own if that is higher already.
Result<int> Submissions::priority_of_first(JobId job) const {
  const int own = core_.job(core_.find(job)).request.priority;
  int first = own;
  for (const auto* line : {&core_.waiting(), &core_.aside()}) {
    for (const JobIndex other : *line) {
      const JobRequest& request = core_.job(other).request;
      if (request.id == job) continue;
      if (request.priority == std::numeric_limits<int>::max())
        return conflict("highest-priority-taken",
                        fmt::format("job {} has the highest priority that there is", request.id.value))
            .hint(fmt::format("schedulearn set {} --priority 0", request.id.value));
      first = std::max(first, request.priority + 1);
    }
  }
  return first;
}

// Only a job that waits: for one that runs this would be `suspend`.
Status Submissions::may_hold(const JobEntry& entry, bool hold) const {
  const Job& job = core_.job(core_.find(JobId(entry.row.id)));
  const std::string id = std::to_string(entry.row.id);
  const bool is_held = job.on_hold || job.state == JobState::held;
  if (hold && job.on_hold)
    return conflict("job-held", "job " + id + " is held already").hint("schedulearn set " + id + " --release");
  if (!hold && !is_held)
    return conflict("job-not-held", "job " + id + " is not held: it is " + to_string(job.state))
        .hint("see what it does: schedulearn show " + id);
  if (hold && !job.is_queued() && job.state != JobState::held)
    return conflict("job-started", "job " + id + " is " + to_string(job.state) + ": only a job that waits can be held")
        .hint("schedulearn suspend " + id + "   freezes it, or stops it at a checkpoint");
  return {};
}

// Records a user's request about a job, separately from its effect.
void Submissions::note_request(const char* kind, JobId job, const std::string& by, Instant now, std::string text) {
  recorder_.write_event({.at_us = now.us,
                         .kind = kind,
                         .job_id = job.value,
                         .actor_type = "user",
                         .actor_name = by,
                         .text = std::move(text)});
}

// A refusal that tells how a job stands promises that too.
void Submissions::refuse_when_durable(Error refusal, Done done) {
  recorder_.when_durable([this, refusal = std::move(refusal), done = std::move(done)](const Status& status) {
    done(status.ok() ? refusal : recorder_.failure());
  });
}

void Submissions::answer_when_durable(JobEntry& entry, Done done) {
  const JobId job(entry.row.id);
  copy_state(core_, core_.job(core_.find(job)), entry.row);
  recorder_.write_job(entry.row);
  answer_when_durable(job, std::move(done));
}

void Submissions::answer_when_durable(JobId job, Done done) {
  recorder_.when_durable(
      [job, done = std::move(done)](const Status& status) { status.ok() ? done(job) : done(status.error()); });
}

}  // namespace sl::controller
