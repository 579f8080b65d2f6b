#include "controller/logic.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "policy/placer.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr Duration key_life = Duration::whole_seconds(24 * 3600);

CoreSettings core_settings() {
  CoreSettings settings;
  settings.abilities = {.suspend = false, .migrate = false, .resize = false};  // the live world cannot do these yet
  return settings;
}

// What a job without a name is called: the program it runs, or the script when that is an interpreter.
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

std::string largest_server(const Core& core) {
  const Server* largest = nullptr;
  for (const Server& server : core.servers()) {
    if (!largest || server.description.gpus > largest->description.gpus) largest = &server;
  }
  return largest ? fmt::format("the largest is {} with {}", largest->description.name, largest->description.gpus) : "";
}

}  // namespace

Logic::Logic(LogicSettings settings, Outside& outside, const store::Loaded& loaded, Instant now)
    : settings_(std::move(settings)),
      outside_(outside),
      core_(estimates_, core_settings()),
      recorder_(book_, outside, loaded.next_event_seq),
      engine_(core_, recorder_, *this),
      logs_(agents_, outside),
      next_job_(loaded.next_job_id),
      started_(now) {
  restore(loaded, now);
}

// ---- restart ----

void Logic::restore(const store::Loaded& loaded, Instant now) {
  for (const store::ServerRow& row : loaded.servers) {
    const auto hello = wire::read_json<wire::Hello>(row.description_json, wire::Unknown::ignore);
    if (!hello.ok()) continue;
    engine_.feed(ServerJoined{describe(*hello, core_)}, now);
    engine_.feed(ServerSilent{row.name}, now);  // until its agent calls
    agents_.remember(row.name, *hello, now);
  }
  for (const store::JobRow& row : loaded.finished_jobs) {
    book_.add(row);
    book_.mark_finished(JobId(row.id));
  }
  // Those that were to start come last: the GPUs they were promised may still be another's.
  for (const bool starting : {false, true}) {
    for (const store::JobRow& row : loaded.unfinished_jobs) {
      if ((row.state == to_string(JobState::starting)) == starting) restore_unfinished(row, now);
    }
  }
  for (const store::IdempotencyRow& row : loaded.keys)
    keys_[row.key] = {row.body_hash, JobId(row.job_id), Instant{row.at_us}, true};
  restore_policy(loaded, now);
}

void Logic::restore_unfinished(const store::JobRow& row, Instant now) {
  Result<RestoredJob> restored = restore_job(row, core_);
  SL_CHECK(restored.ok(), "every unfinished job of the store can be put back");
  JobEntry& entry = book_.add(row);
  if (row.extra_json == "preempted") entry.stopping = StopReason::preempted;
  if (row.extra_json == "time_limit") entry.stopping = StopReason::time_limit;
  if (row.extra_json == "cancelled") entry.stopping = StopReason::cancelled;
  if (core_.restore(std::move(*restored), now).ok()) return;
  SL_CHECK(restored->job.state == JobState::starting, "no two jobs of the store hold one GPU");
  restored->job.state = JobState::pending;  // its order was never given: it waited for these GPUs
  restored->job.allocation.clear();
  SL_CHECK(core_.restore(std::move(*restored), now).ok(), "a pending job can be put back");
  copy_state(core_, core_.job(core_.find(JobId(row.id))), entry.row);
  recorder_.write_job(entry.row);  // or after the next restart it stands in the way of who has had the GPUs since
}

// ---- submission ----

Status Logic::check(const wire::JobSpec& spec) const {
  if (Status valid = wire::validate(spec); !valid.ok()) return valid;
  if (core_.servers().empty()) return {};
  Core& core = const_cast<Core&>(core_);  // interning a name changes no decision
  const JobRequest request = make_request(spec, JobId(0), Instant{0}, core);
  if (is_satisfiable(core_.servers(), request, request.gpus_min)) return {};
  JobRequest plain = request;
  plain.gpu_types.clear();
  plain.gpu_memory_bytes.reset();
  plain.demand = {};
  if (is_satisfiable(core_.servers(), plain, plain.gpus_min)) {
    return invalid("resources-unsatisfiable", "no server has the GPU type, memory or CPUs this job asks for")
        .hint("schedulearn gpus");
  }
  return invalid("gpus-unsatisfiable", fmt::format("no server has {} GPUs", request.gpus_min))
      .note(largest_server(core_))
      .hint("ask for fewer:        schedulearn submit --gpus N …")
      .at("/gpus");
}

void Logic::submit(Submission submission, Instant now, Done done) {
  if (tape_)
    tape_->input(now, "submit",
                 {{"spec", wire::to_value(submission.spec)},
                  {"key", submission.idempotency_key},
                  {"hash", submission.body_hash}});
  expire_keys(now);
  if (!submission.idempotency_key.empty()) {
    const auto known = keys_.find(submission.idempotency_key);
    if (known != keys_.end()) {
      if (known->second.body_hash != submission.body_hash) {
        return done(invalid("idempotency-key-reused", "this idempotency key was used for another submission"));
      }
      if (!known->second.durable)
        return done(conflict("submission-in-flight", "the same submission is being written just now")
                        .hint("try again in a second"));
      return done(known->second.job);
    }
  }
  if (Status checked = check(submission.spec); !checked.ok()) return done(checked.error());
  if (recorder_.is_refusing()) return done(recorder_.failure());
  if (core_.unfinished() >= settings_.queue_max)
    return done(unavailable("queue-full",
                            fmt::format("{} jobs are waiting or running, no more are accepted", settings_.queue_max)));
  const JobId id(next_job_++);
  if (submission.spec.name.empty()) submission.spec.name = default_name(submission.spec.command);
  store::JobRow row;
  row.id = id.value;
  row.user = submission.spec.user;
  row.name = submission.spec.name;
  row.spec_json = wire::write_json(submission.spec);
  row.state = to_string(submission.spec.hold ? JobState::held : JobState::pending);
  row.submitted_us = row.state_since_us = now.us;
  book_.add(std::move(row));
  if (!submission.idempotency_key.empty()) {
    keys_[submission.idempotency_key] = {submission.body_hash, id, now, false};
    recorder_.write(store::IdempotencyRow{submission.idempotency_key, submission.body_hash, id.value, now.us});
  }
  engine_.feed(JobSubmitted{make_request(submission.spec, id, now, core_), submission.spec.hold}, now);
  recorder_.when_durable([this, id, key = submission.idempotency_key, done = std::move(done)](const Status& status) {
    if (!status.ok()) {
      keys_.erase(key);
      refuse_unwritten(id, committed_at_);
      return done(status.error());
    }
    if (const auto at = keys_.find(key); at != keys_.end()) at->second.durable = true;
    done(id);
  });
}

// The row of this submission could not be written: nothing of the job stays, here or (later) in the store.
void Logic::refuse_unwritten(JobId job, Instant now) {
  book_.forget(job);
  recorder_.drop_job(job);
  engine_.feed(JobCancelled{job}, now);
  const JobIndex index = core_.find(job);
  if (index.valid() && is_active(core_.job(index).state))
    engine_.feed(AttemptReleased{job, core_.job(index).attempt}, now);
}

void Logic::expire_keys(Instant now) {
  if (keys_.size() < 100'000) return;
  std::erase_if(keys_, [&](const auto& item) { return item.second.at + key_life < now; });
}

// ---- other requests ----

void Logic::cancel(JobId job, const std::string& by, Instant now, Done done) {
  if (tape_) tape_->input(now, "cancel", {{"job", job.value}, {"by", by}});
  JobEntry* entry = book_.find(job);
  if (!entry)
    return done(not_found("job-not-found", fmt::format("there is no job {}", job.value)).hint("schedulearn ls"));
  if (!core_.find(job).valid() || is_finished(core_.job(core_.find(job)).state)) {
    return done(conflict("job-finished", fmt::format("job {} has already ended: {}", job.value, entry->row.state)));
  }
  store::EventRow event;
  event.at_us = now.us;
  event.kind = "job.cancel_requested";
  event.job_id = job.value;
  event.actor_type = "user";
  event.actor_name = by;
  recorder_.write_event(std::move(event));
  engine_.feed(JobCancelled{job}, now);
  copy_state(core_, core_.job(core_.find(job)), entry->row);
  recorder_.write_job(entry->row);
  recorder_.when_durable(
      [job, done = std::move(done)](const Status& status) { status.ok() ? done(job) : done(status.error()); });
}

// ---- time ----

void Logic::turn(Instant now) {
  if (tape_) tape_->input(now, "turn", {});
  const ServerIndex last_server = core_.memory().last_server;
  check_leases(now);
  engine_.turn(now);
  while (replace_failed_policy(now)) engine_.turn(now);
  if (core_.memory().last_server != last_server) {
    recorder_.write(store::SettingRow{"last_server", core_.servers()[core_.memory().last_server].description.name});
  }
  recorder_.flush(now);
}

Instant Logic::next_wake() const {
  const Instant lease_check = agents_.all().empty() ? Instant::never() : next_lease_check_;
  return std::min({core_.next_wake(), recorder_.retry_at(), lease_check});
}

void Logic::on_committed(const Status& status, Instant now) {
  if (tape_)
    tape_->input(now, "committed",
                 status.ok() ? boost::json::object{} : boost::json::object{{"failure", status.error().message}});
  committed_at_ = now;
  const BatchNumber batch = recorder_.on_committed(status, now);
  if (batch > 0) engine_.durable(batch);
}

// ---- orders ----

void Logic::carry_out(const Core& core, std::vector<Command>& commands) {
  for (const Command& command : commands) {
    JobEntry* entry = book_.find(command.job);
    const JobIndex index = core.find(command.job);
    if (!entry || !index.valid() || core.job(index).attempt != command.attempt) continue;  // overtaken by events
    const Job& job = core.job(index);
    if (command.kind == CommandKind::start && job.state == JobState::starting) order_start(*entry, job);
    if (command.kind == CommandKind::stop && job.state == JobState::stopping) {
      entry->stopping = job.cancel_requested ? StopReason::cancelled : command.why;
      order_stop(*entry, job);
    }
  }
}

void Logic::order_start(JobEntry& entry, const Job& job) {
  entry.stopping = StopReason::none;
  entry.row.extra_json.clear();
  const ServerGpus& part = job.allocation.parts().front();
  Agent* agent = agents_.by_server(core_.servers()[part.server].description.name);
  if (!agent || agent->session == 0) return;  // sent when it calls again
  auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
  SL_CHECK(spec.ok(), "a stored submission can be read");
  wire::StartAttempt order;
  order.job_id = entry.row.id;
  order.attempt = job.attempt;
  order.resume = job.first_start.happened();
  part.gpus.for_each([&](int gpu) { order.gpus.push_back(gpu); });
  order.spec = std::move(*spec);
  give_order(*agent, std::move(order));
}

void Logic::order_stop(JobEntry& entry, const Job& job) {
  constexpr const char* names[] = {"none", "cancelled", "preempted", "time_limit"};
  if (job.allocation.empty()) return;
  Agent* agent = agents_.by_server(core_.servers()[job.allocation.parts().front().server].description.name);
  const char* why = names[static_cast<int>(entry.stopping)];
  if (entry.row.extra_json != why) {
    entry.row.extra_json = why;
    recorder_.write_job(entry.row);
  }
  if (!agent || agent->session == 0) return;
  const auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
  wire::StopAttempt order;
  order.job_id = entry.row.id;
  order.attempt = job.attempt;
  order.reason = why;
  const bool for_others = entry.stopping == StopReason::preempted;
  if (spec.ok() && for_others) order.signal = spec->checkpoint.signal;
  order.grace_s = for_others && spec.ok() ? spec->checkpoint.grace_s : 30;
  give_order(*agent, std::move(order));
}

}  // namespace sl::controller
