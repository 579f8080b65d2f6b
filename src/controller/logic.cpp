#include "controller/logic.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/whole_number.h"
#include "controller/recording_json.h"
#include "controller/restart.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

CoreSettings core_settings() {
  CoreSettings settings;
  settings.abilities = {.suspend = false, .freeze = true, .migrate = true, .resize = true};
  return settings;
}

// As a line of a tape. Absent parts have their defaults.
boost::json::object to_input(const PolicyChange& change, const std::string& by) {
  boost::json::object given;
  for (const auto& [key, value] : change.parameters) given[key] = value;
  boost::json::object input = {{"name", change.name}, {"parameters", std::move(given)}, {"by", by}};
  if (!change.source.empty()) input["source"] = change.source;
  if (!change.reason.empty()) input["reason"] = change.reason;
  return input;
}

boost::json::object failure_input(const Error* failure) {
  return failure ? boost::json::object{{"failure", failure->message}} : boost::json::object{};
}

store::EventRow event_of(const store::Removal& removal, Instant now) {
  boost::json::array jobs;
  for (const store::FinishedJob& job : removal.jobs) jobs.emplace_back(job.id);
  return {.at_us = now.us,
          .kind = "history.removed",
          .actor_type = removal.by.empty() ? "system" : "user",
          .actor_name = removal.by.empty() ? "retention" : removal.by,
          .text = fmt::format("{} job{} that had ended and their events, by {}", removal.jobs.size(),
                              removal.jobs.size() == 1 ? "" : "s", removal.rule),
          .data_json = boost::json::serialize(boost::json::object{{"rule", removal.rule}, {"jobs", std::move(jobs)}})};
}

store::EventRow profile_event(const char* kind, const std::string& family, const std::string& by, Instant now) {
  return {.at_us = now.us, .kind = kind, .actor_type = "user", .actor_name = by, .text = "of the family " + family};
}

}  // namespace

Logic::Logic(LogicSettings settings, Outside& outside, const store::Loaded& loaded, Instant now)
    : settings_(std::move(settings)),
      core_(estimates_, core_settings()),
      incarnations_(agents_),
      recorder_(book_, profiles_.costs(), incarnations_, outside, loaded.next_event_seq),
      checkpoints_(core_, book_, agents_, recorder_, outside),
      images_(book_, recorder_),
      orders_(core_, book_, agents_, strangers_, checkpoints_, recorder_, outside),
      engine_(core_, recorder_, orders_),
      logs_(agents_, outside),
      health_(core_, book_, recorder_, engine_),
      drains_(core_, recorder_, engine_),
      reconciler_(core_, book_, recorder_, engine_, requeues_, strangers_, checkpoints_, images_, orders_, health_),
      progress_reports_(core_, book_, profiles_.costs(), recorder_, engine_),
      sessions_({settings_.version, Duration::seconds(settings_.lease_s), now}, core_, agents_, incarnations_, numbers_,
                recorder_, engine_, outside, logs_, reconciler_, progress_reports_, checkpoints_, images_, health_,
                drains_),
      submissions_(settings_.queue_max, settings_.user_bytes_max, core_, book_, profiles_, numbers_, recorder_, orders_,
                   engine_),
      interventions_(core_, book_, agents_, profiles_.costs(), submissions_, recorder_, orders_, engine_),
      policies_(settings_.policy, core_, recorder_, engine_, outside),
      stopping_(core_, book_, recorder_, engine_),
      started_(now) {
  restore(loaded, now);
}

void Logic::restore(const store::Loaded& loaded, Instant now) {
  incarnations_.restore(loaded.settings);
  numbers_.restore(loaded.next_job_id);
  for (const store::SettingRow& row : loaded.settings) {
    if (row.key == last_job_key) numbers_.skip(parse_whole_number(row.value).value_or(0));
  }
  for (store::EventRow& event : profiles_.restore(loaded.profiles, now)) recorder_.write_event(std::move(event));
  health_.restore(loaded.settings, now);
  drains_.restore(loaded.settings, now);
  profiles_.costs().restore(loaded.settings);
  Restart(core_, book_, profiles_, agents_, recorder_, engine_, requeues_).restore(loaded, now);
  for (const Job& job : core_.jobs()) {
    if (job.group) numbers_.skip(member_id(job.request.id, job.group->size - 1).value);
  }
  submissions_.restore(loaded.keys, now);
  policies_.restore(loaded, now);
}

std::optional<JobEntry> Logic::member_to_come(JobId job) const {
  const JobIndex group = core_.group_of_member_to_come(job);
  const JobEntry* entry = group.valid() ? book_.find(core_.job(group).request.id) : nullptr;
  if (!entry) return std::nullopt;
  return JobEntry{.row = member_row(entry->row, job)};
}

// ---- inputs ----

void Logic::on_agent_message(SessionId session, const wire::AgentMessage& message, Instant now) {
  if (tape_ && !std::holds_alternative<wire::LogChunk>(message))  // output of jobs decides nothing
    tape_->input(now, "message", {{"session", session}, {"message", boost::json::parse(wire::encode(message))}});
  sessions_.on_message(session, message, now);
}

void Logic::on_agent_closed(SessionId session, Instant now) {
  if (tape_) tape_->input(now, "closed", {{"session", session}});
  sessions_.on_closed(session, now);
}

void Logic::on_committed(const Status& status, Instant now) {
  if (tape_) tape_->input(now, "committed", failure_input(status.ok() ? nullptr : &status.error()));
  const BatchNumber batch = recorder_.on_committed(status, now);
  if (batch > 0) engine_.durable(batch);
}

void Logic::on_policy_made(Result<MadePolicy> made, Instant now) {
  if (tape_) tape_->input(now, "policy_made", failure_input(made.ok() ? nullptr : &made.error()));
  policies_.on_made(std::move(made), now);
}

void Logic::turn(Instant now) {
  if (tape_) tape_->input(now, "turn", {});
  const ServerIndex last_server = core_.memory().last_server;
  sessions_.check_leases(now);
  health_.end_quarantines(now);
  for (const JobId job : requeues_.take_due(now))
    engine_.feed(JobHeld{.job = job, .held = false, .by_user = false}, now);
  drains_.keep(now);
  stopping_.drain(now);
  policies_.carry_out_plan(now);
  engine_.turn(now);
  while (policies_.replace_failed(now)) engine_.turn(now);
  if (core_.memory().last_server != last_server) {
    recorder_.write(store::SettingRow{"last_server", core_.servers()[core_.memory().last_server].description.name});
  }
  stopping_.look();
  recorder_.flush(now);
}

Instant Logic::next_wake() const {
  return std::min({core_.next_wake(), recorder_.retry_at(), drains_.next_deadline(), sessions_.next_lease_check(),
                   requeues_.next_due(), health_.next_end(), policies_.next_plan()});
}

// ---- requests ----

void Logic::submit(Submission submission, Instant now, Done done) {
  if (tape_) {
    boost::json::object past;
    for (const auto& [id, state] : submission.past) past[std::to_string(id)] = state;
    tape_->input(now, "submit",
                 {{"spec", wire::to_value(submission.spec)},
                  {"key", submission.idempotency_key},
                  {"hash", submission.body_hash},
                  {"past", std::move(past)}});
  }
  submissions_.submit(std::move(submission), now, std::move(done));
}

void Logic::cancel(JobId job, const std::string& by, Instant now, Done done, const wire::Cancellation& wanted) {
  if (tape_) tape_->input(now, "cancel", {{"job", job.value}, {"by", by}, {"wanted", wire::to_value(wanted)}});
  submissions_.cancel(job, by, now, std::move(done), wanted);
}

void Logic::signal(JobId job, const std::string& signal, const std::string& by, Instant now, Done done) {
  if (tape_) tape_->input(now, "signal", {{"job", job.value}, {"by", by}, {"signal", signal}});
  interventions_.signal(job, signal, by, now, std::move(done));
}

void Logic::edit(JobId job, const wire::JobChange& change, const std::string& by, Instant now, Done done) {
  if (tape_) tape_->input(now, "edit", {{"job", job.value}, {"change", wire::to_value(change)}, {"by", by}});
  submissions_.edit(job, change, by, now, std::move(done));
}

void Logic::intervene(JobId job, const wire::Intervention& wanted, const std::string& by, Instant now, Done done) {
  if (tape_) tape_->input(now, "intervene", {{"job", job.value}, {"intervention", wire::to_value(wanted)}, {"by", by}});
  interventions_.intervene(job, wanted, by, now, std::move(done));
}

void Logic::declare_lost(const std::string& server, const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "lost", {{"server", server}, {"by", by}});
  sessions_.declare_lost(server, by, now, std::move(done));
}

void Logic::remove_server(const std::string& server, const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "server_removed", {{"server", server}, {"by", by}});
  sessions_.remove(server, by, now, std::move(done));
}

void Logic::release_server(const std::string& server, const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "server_released", {{"server", server}, {"by", by}});
  if (!agents_.by_server(server))
    return done(not_found("server-not-found", "there is no server " + server).hint("schedulearn servers ls"));
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted);
  if (const Status released = health_.release(server, by, now); !released.ok()) return done(released);
  recorder_.when_durable(std::move(done));
}

void Logic::drain_server(const std::string& server, const DrainRequest& wanted, const std::string& by, Instant now,
                         Told done) {
  if (tape_)
    tape_->input(now, "server_drained",
                 {{"server", server},
                  {"stops_jobs", wanted.stops_jobs},
                  {"by", by},
                  {"reason", wanted.reason},
                  {"deadline_us", wanted.deadline_us}});
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted);
  if (const Status drained = drains_.begin(server, wanted, by, now); !drained.ok()) return done(drained);
  recorder_.when_durable(std::move(done));
}

void Logic::undrain_server(const std::string& server, const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "server_undrained", {{"server", server}, {"by", by}});
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted);
  if (const Status back = drains_.end(server, by, now); !back.ok()) return done(back);
  recorder_.when_durable(std::move(done));
}

StopPlan Logic::stop_jobs(std::vector<std::string> servers, const std::string& why, Instant now,
                          std::function<void(const Status&)> done) {
  if (tape_) tape_->input(now, "stopping", {{"servers", boost::json::value_from(servers)}, {"why", why}});
  return stopping_.begin(std::move(servers), why, now, std::move(done));
}

void Logic::set_policy(PolicyChange change, const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "policy", to_input(change, by));
  policies_.set(std::move(change), by, now, std::move(done));
}

void Logic::undo_policy(const std::string& by, Instant now, Told done) {
  Result<PolicyChange> back = policies_.undo(now);
  back.ok() ? set_policy(std::move(*back), by, now, std::move(done)) : done(back.error());
}

void Logic::plan_policy(PolicyChange change, Instant at, const std::string& by, Instant now, Told done) {
  if (tape_) {
    boost::json::object input = to_input(change, by);
    input["planned_for"] = at.us;
    tape_->input(now, "policy_planned", std::move(input));
  }
  policies_.plan(std::move(change), at, by, now, std::move(done));
}

void Logic::call_off_policy(const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "policy_called_off", {{"by", by}});
  policies_.call_off(by, now, std::move(done));
}

void Logic::put_profile(wire::TrainingProfile profile, const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "profile", {{"profile", wire::profile_text(profile)}, {"by", by}});
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted);
  recorder_.write_event(profile_event("profile.stored", profile.family, by, now));
  recorder_.write(profiles_.put(std::move(profile), by, now.us));
  recorder_.when_durable(std::move(done));
}

void Logic::remove_history(store::Removal removal, Instant now, Told done) {
  if (tape_) tape_->input(now, "history_removed", {{"removal", wire::to_value(removal)}});
  for (const store::FinishedJob& job : removal.jobs) {
    book_.forget(JobId(job.id));
    if (const auto state = parse_job_state(job.state)) book_.add_to_count(*state, -1, job.is_group ? -1 : 0);
  }
  if (!removal.jobs.empty()) recorder_.write_event(event_of(removal, now));
  recorder_.write(std::move(removal));
  recorder_.when_durable(std::move(done));
}

void Logic::note(const std::vector<store::EventRow>& events, Instant now, Told done,
                 const std::vector<store::SettingRow>& settings) {
  if (tape_) tape_->input(now, "noted", {{"events", wire::to_value(events)}, {"settings", wire::to_value(settings)}});
  for (const store::EventRow& event : events) recorder_.write_event(event);
  for (const store::SettingRow& setting : settings) recorder_.write(setting);
  recorder_.when_durable(std::move(done));
}

void Logic::remove_profile(const std::string& family, const std::string& by, Instant now, Told done) {
  if (tape_) tape_->input(now, "profile_removed", {{"family", family}, {"by", by}});
  if (!profiles_.find(family))
    return done(not_found("profile-not-found", "there is no profile of " + family).hint("schedulearn profile ls"));
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted);
  recorder_.write_event(profile_event("profile.removed", family, by, now));
  recorder_.write(profiles_.remove(family, now.us));
  recorder_.when_durable(std::move(done));
}

}  // namespace sl::controller
