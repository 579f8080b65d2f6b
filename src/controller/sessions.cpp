#include "controller/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/lease.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/names.h"

namespace sl::controller {

void Sessions::on_message(SessionId session, const wire::AgentMessage& message, Instant now) {
  std::visit([&](const auto& m) { on(session, m, now); }, message);
}

void Sessions::on_closed(SessionId session, Instant now) {
  logs_.on_closed(session);
  const std::string server = agents_.close(session);
  if (server.empty()) return;
  engine_.feed(ServerSilent{server}, now);
  reconciler_.on_agent_gone(server);
}

// For us the session is over at once; whatever its socket still delivers is ignored.
void Sessions::drop(SessionId session, const std::string& why, Instant now) {
  outside_.close(session, why);
  on_closed(session, now);
}

// Whether it is the next report in order. If one is missing, both sides start over with a new session.
bool Sessions::is_next(Agent& agent, SessionId session, std::int64_t seq, Instant now) {
  if (seq <= agent.reports_seen) return false;  // repeated
  if (seq != agent.reports_seen + 1) return drop(session, "report-missing", now), false;
  agent.reports_seen = seq;
  return true;
}

// A connection that an agent has given up may deliver its Hello after that of the next one. Another agent may take over
// a server's name only when the attempts of the one before it have certainly ended, and none may change its name while it
// has attempts.
Status Sessions::admit(const wire::Hello& hello, Instant now) const {
  if (Status may = check_other_cluster(hello, now); !may.ok()) return may;
  if (Status may = check_renamed(hello); !may.ok()) return may;
  const Agent* before = agents_.by_server(hello.server);
  if (!before || before->agent_id.empty()) return {};
  if (before->agent_id == hello.agent_id) {
    if (Status only = check_copy(*before, hello, now); !only.ok()) return only;
    if (hello.call >= before->hello.call) return {};
    return conflict("called-before", "a later call of the agent of " + hello.server + " is known")
        .hint("if this is its newest call: its data directory is an old copy and its clock is behind; set the clock");
  }
  if (!job_on(hello.server)) return {};
  return conflict("server-name-taken", "another agent ran jobs as server " + hello.server)
      .hint("start it with its old data directory")
      .hint("schedulearn servers lost " + hello.server + "   when those jobs are certainly gone");
}

// When all that had to end with the agent's lease has ended. The lease begins before we last heard from it, by its own
// clock; attempts that must end with it need their grace period, and clocks may differ a little.
Instant Sessions::end_of_lease(const Agent& agent) const {
  constexpr Duration margin = Duration::whole_seconds(5);
  return agent.last_contact + settings_.lease + fence_grace + margin;
}

// Two agents with copies of one data directory would take turns as the server, and jobs of the one would be started again
// on the other. Of an agent that was killed, the connection may outlive it until pings are missing; the next one knows
// what it ran from its data directory, which a copy from before does not.
Status Sessions::check_copy(const Agent& before, const wire::Hello& hello, Instant now) const {
  if (before.hello.process == 0 || hello.process == 0 || before.hello.process == hello.process) return {};
  const Duration heard_every = settings_.lease / wire::pings_per_lease;
  if (before.session != 0 && now - before.last_contact <= heard_every * 2)
    return conflict("server-name-taken",
                    fmt::format("an agent that runs from this data directory, or from a copy of it, is connected as "
                                "server {}: another needs a directory and a name of its own (--data, --name)",
                                hello.server));
  const bool is_restored = hello.cluster == incarnations_.cluster() && hello.last_job >= numbers_.next();
  const auto job = before.lease_over || is_restored ? std::nullopt : reconciler_.unknown_to(hello);
  if (!job) return {};
  return conflict("server-name-taken",
                  fmt::format("it does not know job {}, which ran on server {}: its data directory is an old copy, or "
                              "this database is. From {} on it may join, and such jobs count as lost then",
                              job->value, hello.server, wire::time_text(end_of_lease(before).us)));
}

// Under another name its attempts would count as strangers, and be stopped. Whose data folder was copied before it held
// any, such as that of a virtual machine, is welcome.
Status Sessions::check_renamed(const wire::Hello& hello) const {
  const store::PlacementRow* held = reconciler_.held_for_another(hello);
  if (!held) return {};
  return conflict("server-renamed",
                  fmt::format("it holds job {0}, which was started on server {1}; start it with --name {1}",
                              held->job_id, held->server));
}

// A controller that was started with the wrong data directory is another cluster, and would stop every job. So it takes
// nothing over while somebody may still notice.
Status Sessions::check_other_cluster(const wire::Hello& hello, Instant now) const {
  const auto jobs = std::ranges::count_if(hello.attempts, [&](const wire::AttemptReport& attempt) {
    const std::string& cluster = attempt.incarnation.cluster;
    return attempt.state != "exited" && !cluster.empty() && cluster != incarnations_.cluster();
  });
  const Instant until = settings_.began + takeover_after;
  if (jobs == 0 || now >= until) return {};
  return conflict(
      "other-cluster",
      fmt::format("it runs {} job{} of another cluster; from {} on it may join, and they are stopped then. Was "
                  "the controller started with another data directory?",
                  jobs, jobs == 1 ? "" : "s", wire::time_text(until.us)));
}

void Sessions::refuse(SessionId session, const wire::Hello& hello, const Error& why, Instant now) {
  constexpr std::size_t refusals_max = 1000;
  agents_.note_refusal(hello.server, why.message, now);
  const bool has_good_name = wire::check_server_name(hello.server).ok();
  const std::string name = has_good_name ? hello.server : "an odd name";
  if (refusals_.size() >= refusals_max) refusals_.clear();
  if (why.code != "called-before" && refusals_.insert(name + "\n" + why.message).second)  // it calls again and again
    recorder_.write_event({.at_us = now.us,
                           .kind = "server.refused",
                           .server = has_good_name ? name : "",
                           .text = fmt::format("an agent that calls as {} may not join: {}", name, why.message)});
  outside_.send(session, wire::Refused{why.code, why.message});
  outside_.close(session, why.code);
}

void Sessions::on(SessionId session, const wire::Hello& told, Instant now) {
  if (agents_.by_session(session)) return;  // repeated; it does not include later orders
  const wire::Hello hello = plausible(told);
  const Agent* before = agents_.by_server(hello.server);
  const std::string limits_before = before ? before->hello.cannot_enforce : "";
  const SessionId old = before && before->agent_id == hello.agent_id ? before->session : 0;
  const Status admitted = admit(hello, now);
  Result<Agent*> opened = admitted.ok() ? agents_.open(session, hello, now) : Result<Agent*>(admitted.error());
  if (!opened.ok()) return refuse(session, hello, opened.error(), now);
  Agent& agent = **opened;
  std::erase_if(refusals_, [&](const std::string& told) { return told.starts_with(hello.server + "\n"); });
  if (old != 0) {  // its socket may never tell that it is dead
    outside_.close(old, "called-again");
    logs_.on_closed(old);
    reconciler_.on_agent_gone(hello.server);
  }
  recorder_.stop_awaiting(hello.server);
  engine_.feed(ServerJoined{describe(hello, core_)}, now);
  note_limits(hello, limits_before, now);
  health_.on_joined(hello.server, now);
  drains_.keep(now);
  progress_reports_.on_gpus(hello.server, hello.gpus, now);
  wire::Hello kept = hello;
  kept.attempts.clear();
  recorder_.write(store::ServerRow{hello.server, hello.agent_id, wire::write_json(kept), now.us});
  const bool is_restored = notice_restore(hello, now);
  outside_.send(session, wire::Welcome{settings_.version, session, settings_.lease.to_seconds(),
                                       incarnations_.cluster(), numbers_.last_durable(), query_jobs_max});
  reconciler_.on_hello(agent, is_restored, now);
}

// Agents hear of a job only when it is in the database for good. One that has heard of a later job than there is has
// seen a later state of the database: this one was restored from a backup. Returns whether that is so.
bool Sessions::notice_restore(const wire::Hello& hello, Instant now) {
  if (hello.cluster != incarnations_.cluster()) return note_other_cluster(hello, now), false;
  const std::int64_t next = numbers_.next();
  if (!numbers_.skip(hello.last_job)) return false;
  recorder_.write(store::SettingRow{last_job_key, std::to_string(hello.last_job)});
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "database.restored",
       .server = hello.server,
       .text = fmt::format("{} has heard of job {}, and the last job of this database is {}: it was restored from a "
                           "backup; the next job is {}, and what agents run that it does not know is stopped",
                           hello.server, hello.last_job, next - 1, numbers_.next())});
  return true;
}

// Once, and again when it has changed.
void Sessions::note_limits(const wire::Hello& hello, const std::string& before, Instant now) {
  if (hello.cannot_enforce == before) return;
  recorder_.write_event({.at_us = now.us,
                         .kind = "server.limits",
                         .server = hello.server,
                         .text = hello.cannot_enforce.empty()
                                     ? "what jobs ask for is the limit of what they get"
                                     : "it cannot limit what plain jobs use: " + hello.cannot_enforce});
}

void Sessions::note_other_cluster(const wire::Hello& hello, Instant now) {
  if (hello.cluster.empty()) return;
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "server.other_cluster",
       .server = hello.server,
       .text = fmt::format("{} belonged to the cluster {} until now; what it still runs of it is stopped", hello.server,
                           hello.cluster)});
}

void Sessions::on(SessionId session, const wire::AttemptChanged& changed, Instant now) {
  Agent* agent = agents_.by_session(session);
  if (!agent) return outside_.close(session, "hello-expected");
  agent->last_contact = now;
  if (!is_next(*agent, session, changed.seq, now)) return;
  reconciler_.on_report(*agent, changed.report, now);
}

void Sessions::on(SessionId session, const wire::Progress& progress, Instant now) {
  if (const Agent* agent = agents_.by_session(session))
    progress_reports_.on_progress(agent->hello.server, progress, now);
}

void Sessions::on(SessionId session, const wire::CheckpointOffered& offered, Instant now) {
  Agent* agent = agents_.by_session(session);
  if (!agent) return outside_.close(session, "hello-expected");
  agent->last_contact = now;
  if (!is_next(*agent, session, offered.seq, now)) return;
  if (const auto job = checkpoints_.on_offered(*agent, offered)) reconciler_.start_held_back(*job);
}

void Sessions::on(SessionId session, const wire::CheckpointProgress& progress, Instant) {
  if (agents_.by_session(session)) checkpoints_.on_progress(progress);
}

void Sessions::on(SessionId session, const wire::ImageProgress& progress, Instant) {
  if (const Agent* agent = agents_.by_session(session)) images_.on_progress(agent->hello.server, progress);
}

void Sessions::on(SessionId session, const wire::Telemetry& telemetry, Instant now) {
  Agent* agent = agents_.by_session(session);
  if (!agent) return;
  agent->last_contact = now;
  progress_reports_.on_telemetry(*agent, plausible(telemetry), now);
}

void Sessions::on(SessionId session, const wire::LogChunk& chunk, Instant) { logs_.on_chunk(session, chunk); }

void Sessions::on(SessionId session, const wire::ForeignGpuUse& use, Instant now) {
  if (const Agent* agent = agents_.by_session(session))
    progress_reports_.on_foreign_gpu_use(agent->hello.server, use, now);
}

void Sessions::on(SessionId session, const wire::Ping& ping, Instant now) {
  Agent* agent = agents_.by_session(session);
  if (!agent) return outside_.close(session, "hello-expected");
  agent->last_contact = now;
  if (ping.last_seq > agent->reports_seen) return drop(session, "report-missing", now);
  outside_.send(session, wire::Ping{ping.at_us, agent->orders_sent, numbers_.last_durable()});
}

void Sessions::check_leases(Instant now) {
  constexpr Duration interval = Duration::whole_seconds(1);
  if (next_lease_check_.happened() && now < next_lease_check_) return;
  next_lease_check_ = now + interval;
  // All that are silent are known to be away before the jobs of one go on: not to another that is silent too.
  for (auto& [name, agent] : agents_.all()) {
    if (agent.session != 0 && agent.last_contact + settings_.lease < now) drop(agent.session, "silent", now);
  }
  for (auto& [name, agent] : agents_.all()) {
    if (agent.session != 0 || agent.lease_over || now < end_of_lease(agent)) continue;
    agent.lease_over = true;
    if (recorder_.stop_awaiting(name))
      recorder_.write_event({.at_us = now.us,
                             .kind = "server.state",
                             .server = name,
                             .to = to_string(ServerState::down),
                             .text = "its agent has not come back since the controller was started"});
    reconciler_.on_lease_over(name, now);
  }
}

Instant Sessions::next_lease_check() const { return agents_.all().empty() ? Instant::never() : next_lease_check_; }

Result<const Agent*> Sessions::find_silent(const std::string& server, const std::string& otherwise) const {
  const Agent* agent = agents_.by_server(server);
  if (!agent) return not_found("server-not-found", "there is no server " + server).hint("schedulearn servers ls");
  if (agent->session != 0)
    return conflict("server-connected", "server " + server + " is connected, " + otherwise)
        .hint("stop its agent first");
  return agent;
}

void Sessions::note_request(const char* kind, const std::string& server, const std::string& by, Instant now) {
  recorder_.write_event({.at_us = now.us, .kind = kind, .server = server, .actor_type = "user", .actor_name = by});
}

void Sessions::declare_lost(const std::string& server, const std::string& by, Instant now,
                            std::function<void(const Status&)> done) {
  if (const auto silent = find_silent(server, "it is not lost"); !silent.ok()) return done(silent.error());
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted);
  note_request("server.declared_lost", server, by, now);
  recorder_.stop_awaiting(server);
  engine_.feed(ServerLost{server, true}, now);
  reconciler_.on_server_lost(server, now);
  recorder_.when_durable(std::move(done));
}

void Sessions::remove(const std::string& server, const std::string& by, Instant now,
                      std::function<void(const Status&)> done) {
  const auto silent = find_silent(server, "it cannot be removed");
  if (!silent.ok()) return done(silent.error());
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted);
  if (const auto job = job_on(server))
    return done(conflict("server-has-jobs", fmt::format("job {} may still run on {}", job->value, server))
                    .hint("start its agent once more: it tells how the job is, or how it ended")
                    .hint("schedulearn servers lost " + server + "   when it is certainly dead"));
  if (const auto job = checkpoints_.job_with_newest_on(server))
    return done(conflict("server-has-jobs", fmt::format("the newest checkpoint of job {} is on {}", job->value, server))
                    .hint("start its agent once more, so that the job can continue from it")
                    .hint("schedulearn servers lost " + server + "   when it is certainly dead"));
  note_request("server.removed", server, by, now);
  recorder_.stop_awaiting(server);
  engine_.feed(ServerRemoved{server}, now);
  agents_.forget(server);
  reconciler_.on_server_lost(server, now);
  health_.forget(server);
  drains_.forget(server);
  recorder_.write(store::ServerRow{server, "", "", now.us});
  recorder_.when_durable(std::move(done));
}

std::optional<JobId> Sessions::job_on(const std::string& server) const {
  const ServerIndex index = core_.find_server(server);
  for (const JobIndex job : jobs_with_processes(core_)) {
    if (where_it_is(core_.job(job)).is_on(index)) return core_.job(job).request.id;
  }
  return reconciler_.stranger_on(server);
}

}  // namespace sl::controller
