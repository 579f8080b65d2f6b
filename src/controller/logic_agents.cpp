// The side of the controller's logic that talks with agents: sessions, reports, and making both sides agree again after
// either of them was away.
#include <fmt/format.h>

#include <algorithm>

#include "base/lease.h"
#include "controller/logic.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

bool matches_retry(const wire::RetrySpec& retry, const Exit& exit) {
  return std::any_of(retry.on.begin(), retry.on.end(), [&](const std::string& on) {
    return on == "any" || on == to_string(exit.failure) || on == fmt::format("exit:{}", exit.exit_code);
  });
}

Exit exit_of(const wire::AttemptReport& report) {
  Exit exit;
  exit.exit_code = report.exit_code.value_or(0);
  exit.signal = report.signal.value_or(0);
  if (report.failure_kind) {
    exit.failure = parse_failure_kind(*report.failure_kind == "lost" ? "server_lost" : *report.failure_kind)
                       .value_or(FailureKind::exit);
  } else if (exit.signal != 0) {
    exit.failure = FailureKind::signal;
  } else if (exit.exit_code != 0) {
    exit.failure = FailureKind::exit;
  }
  return exit;
}

std::string describe_failure(const Exit& exit, const wire::AttemptReport& report) {
  if (report.failure_message && !report.failure_message->empty()) return *report.failure_message;
  switch (exit.failure) {
    case FailureKind::none:
      return "";
    case FailureKind::signal:
      return fmt::format("ended by signal {}", exit.signal);
    case FailureKind::time_limit:
      return "it ran longer than its time limit";
    case FailureKind::server_lost:
      return "its process vanished and its exit code is not known";
    default:
      return fmt::format("exit code {}", exit.exit_code);
  }
}

}  // namespace

void Logic::on_agent_message(SessionId session, const wire::AgentMessage& message, Instant now) {
  if (tape_ && !std::holds_alternative<wire::LogChunk>(message))  // output of jobs decides nothing
    tape_->input(now, "message", {{"session", session}, {"message", boost::json::parse(wire::encode(message))}});
  std::visit([&](const auto& m) { on(session, m, now); }, message);
}

void Logic::on_agent_closed(SessionId session, Instant now) {
  if (tape_) tape_->input(now, "closed", {{"session", session}});
  end_session(session, now);
}

void Logic::end_session(SessionId session, Instant now) {
  logs_.on_closed(session);
  const std::string server = agents_.close(session);
  if (!server.empty()) engine_.feed(ServerSilent{server}, now);
}

// The session is over for us at once; what its socket still brings is not heard.
void Logic::drop_session(SessionId session, const std::string& why, Instant now) {
  outside_.close(session, why);
  end_session(session, now);
}

template <typename Order>
void Logic::give_order(Agent& agent, Order order) {
  order.seq = ++agent.orders_sent;
  outside_.send(agent.session, std::move(order));
}
template void Logic::give_order(Agent&, wire::StartAttempt);
template void Logic::give_order(Agent&, wire::StopAttempt);

// Whether it is the report after the last one. When one is missing, both sides start over with a new session.
bool Logic::is_next(Agent& agent, SessionId session, std::int64_t seq, Instant now) {
  if (seq <= agent.reports_seen) return false;  // came twice
  if (seq != agent.reports_seen + 1) return drop_session(session, "report-missing", now), false;
  agent.reports_seen = seq;
  return true;
}

// Another agent may take over a server's name only when the attempts of the one before it have surely ended.
Status Logic::admit_newcomer(const wire::Hello& hello) const {
  const Agent* before = agents_.by_server(hello.server);
  if (!before || before->agent_id.empty() || before->agent_id == hello.agent_id) return {};
  const ServerIndex server = core_.find_server(hello.server);
  for (const JobIndex index : core_.active()) {
    if (core_.job(index).allocation.on(server).empty()) continue;
    return conflict("server-name-taken", "another agent ran jobs as server " + hello.server)
        .hint("start it with its old data directory")
        .hint("schedulearn servers lost " + hello.server + "   when those jobs are surely gone");
  }
  return {};
}

void Logic::on(SessionId session, const wire::Hello& hello, Instant now) {
  if (agents_.by_session(session)) return;  // came twice; what has been ordered since is not in it
  const Status admitted = admit_newcomer(hello);
  Result<Agent*> opened = admitted.ok() ? agents_.open(session, hello, now) : Result<Agent*>(admitted.error());
  if (!opened.ok()) {
    outside_.send(session, wire::Refused{opened.error().code, opened.error().message});
    return outside_.close(session, opened.error().code);
  }
  Agent& agent = **opened;
  engine_.feed(ServerJoined{describe(hello, core_)}, now);
  engine_.feed(sample(hello.server, hello.gpus, now), now);
  wire::Hello kept = hello;
  kept.attempts.clear();
  recorder_.write(store::ServerRow{hello.server, hello.agent_id, wire::write_json(kept), now.us});
  outside_.send(session, wire::Welcome{settings_.version, session, settings_.lease_s});
  reconcile(agent, now);
}

// Makes both sides agree: what the agent tells is taken in, what it holds and should not is stopped, what it should
// hold and does not is started (the order was lost) or goes back to the queue (the attempt was). Orders wait until what
// they rest on is durable: else a restart of ours would know nothing of them.
void Logic::reconcile(Agent& agent, Instant now) {
  for (const wire::AttemptReport& report : agent.hello.attempts) {
    const bool ours = apply_report(agent.hello.server, report, now);
    if (report.state == "exited") {
      forget_when_durable(agent.hello.server, report);
    } else if (!ours) {
      stop_stranger(agent, report);
    }
  }
  requeue_missing(agent, now);
}

void Logic::stop_stranger(Agent& agent, const wire::AttemptReport& report) {
  recorder_.when_durable([this, session = agent.session, report](const Status& status) {
    Agent* still = agents_.by_session(session);
    if (!still) return;  // it will tell again
    if (!status.ok()) return stop_stranger(*still, report);
    give_order(*still, wire::StopAttempt{0, report.job_id, report.attempt, "stranger", "TERM", 30});
  });
}

void Logic::requeue_missing(Agent& agent, Instant now) {
  const ServerIndex server = core_.find_server(agent.hello.server);
  const std::vector<JobIndex> active(core_.active().begin(), core_.active().end());
  for (const JobIndex index : active) {
    const Job& job = core_.job(index);
    JobEntry* entry = book_.find(job.request.id);
    if (!entry || job.allocation.on(server).empty() || job.gpus_awaited > 0) continue;
    const bool held =
        std::any_of(agent.hello.attempts.begin(), agent.hello.attempts.end(), [&](const wire::AttemptReport& report) {
          return report.job_id == entry->row.id && report.attempt == job.attempt;
        });
    if (held ? job.state == JobState::stopping : job.state == JobState::starting) {
      repeat_order(job.request.id, job.attempt, job.state);
    } else if (!held) {
      engine_.feed(AttemptExited{job.request.id, job.attempt, {FailureKind::server_lost}, true}, now);
    }
  }
}

// The order that this state calls for, once the state is durable, if it still stands then.
void Logic::repeat_order(JobId id, int attempt, JobState state) {
  recorder_.when_durable([this, id, attempt, state](const Status& status) {
    const JobIndex index = core_.find(id);
    JobEntry* entry = book_.find(id);
    if (!entry || !index.valid() || core_.job(index).attempt != attempt || core_.job(index).state != state) return;
    if (!status.ok()) return repeat_order(id, attempt, state);
    state == JobState::starting ? order_start(*entry, core_.job(index)) : order_stop(*entry, core_.job(index));
  });
}

bool Logic::apply_report(const std::string& server, const wire::AttemptReport& report, Instant now) {
  const JobId id(report.job_id);
  JobEntry* entry = book_.find(id);
  const JobIndex index = core_.find(id);
  if (!entry || !index.valid()) return false;
  const Job& job = core_.job(index);
  if (job.attempt != report.attempt || !is_active(job.state)) return false;
  const ServerIndex here = core_.find_server(server);
  if (job.allocation.on(here).empty()) return false;
  entry->pid = report.pid;
  // An attempt may have ended before its start was heard of: then it did start.
  if (report.state != "starting" && job.state == JobState::starting &&
      !(report.failure_kind && *report.failure_kind == "setup")) {
    engine_.feed(AttemptStarted{id, report.attempt}, now);
  }
  if (report.state == "exited") apply_exit(*entry, core_.job(index), report, now);
  return true;
}

void Logic::apply_exit(JobEntry& entry, const Job& job, const wire::AttemptReport& report, Instant now) {
  Exit exit = exit_of(report);
  const JobId id(entry.row.id);
  const auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
  const bool preempted = job.state == JobState::stopping && entry.stopping == StopReason::preempted;
  // It said that it may be started elsewhere when its server fails it.
  const bool fenced = exit.failure == FailureKind::server_lost && spec.ok() && spec->on_partition == "stop";
  if (preempted || fenced || exit.exit_code == 75) {
    engine_.feed(AttemptReleased{id, job.attempt}, now);
  } else {
    if (job.state == JobState::stopping && entry.stopping == StopReason::time_limit)
      exit.failure = FailureKind::time_limit;
    const bool retry = exit.failure != FailureKind::none && !job.cancel_requested && spec.ok() &&
                       job.failures < spec->retry.max && matches_retry(spec->retry, exit);
    if (!retry) {
      if (exit.signal != 0) entry.row.signal = exit.signal;
      if (report.exit_code) entry.row.exit_code = exit.exit_code;
      const bool cancelled = job.cancel_requested && exit.failure != FailureKind::none;
      if (exit.failure != FailureKind::none && !cancelled) {
        entry.row.failure_kind = to_string(exit.failure);
        entry.row.failure_message = describe_failure(exit, report);
      }
    }
    engine_.feed(AttemptExited{id, job.attempt, exit, retry}, now);
    if (!retry) book_.mark_finished(id);
  }
  entry.pid = 0;
}

// The agent may drop what it keeps of the attempt once its end cannot be lost any more; a full disk only delays that.
void Logic::forget_when_durable(const std::string& server, const wire::AttemptReport& report) {
  recorder_.when_durable([this, server, report](const Status& status) {
    if (!status.ok()) return forget_when_durable(server, report);
    Agent* agent = agents_.by_server(server);
    if (agent && agent->session != 0) give_order(*agent, wire::ForgetAttempt{0, report.job_id, report.attempt});
  });
}

void Logic::on(SessionId session, const wire::AttemptChanged& changed, Instant now) {
  Agent* agent = agents_.by_session(session);
  if (!agent) return outside_.close(session, "hello-expected");
  agent->last_contact = now;
  if (!is_next(*agent, session, changed.seq, now)) return;
  const bool ours = apply_report(agent->hello.server, changed.report, now);
  if (!ours && changed.report.state != "exited") stop_stranger(*agent, changed.report);
  if (changed.report.state == "exited") forget_when_durable(agent->hello.server, changed.report);
}

void Logic::on(SessionId session, const wire::Progress& progress, Instant now) {
  const JobId id(progress.job_id);
  JobEntry* entry = book_.find(id);
  if (!agents_.by_session(session) || !entry) return;
  entry->progress_unit = progress.unit;
  entry->loss = progress.loss ? progress.loss : entry->loss;
  entry->accuracy = progress.accuracy ? progress.accuracy : entry->accuracy;
  boost::json::object object;
  const auto number = [](const std::optional<double>& v) {
    return v ? boost::json::value(*v) : boost::json::value(nullptr);
  };
  object["done"] = number(progress.done);
  object["total"] = number(progress.total);
  object["unit"] = progress.unit;
  object["loss"] = number(entry->loss);
  object["accuracy"] = number(entry->accuracy);
  object["updated_us"] = progress.at_us;
  entry->row.progress_json = boost::json::serialize(object);
  AttemptProgressed event{id, progress.attempt};
  event.loss = progress.loss;
  event.accuracy = progress.accuracy;
  const JobIndex index = core_.find(id);
  if (index.valid()) {
    engine_.feed(std::move(event), now);
  } else {
    recorder_.write_job(entry->row);  // the last line came after the end
  }
}

void Logic::on(SessionId session, const wire::Telemetry& telemetry, Instant now) {
  Agent* agent = agents_.by_session(session);
  if (!agent) return;
  agent->last_contact = now;
  agent->hello.gpus = telemetry.gpus;
  agent->cpu_utilization_pct = telemetry.cpu_utilization_pct;
  agent->memory_used_bytes = telemetry.memory_used_bytes;
  engine_.feed(sample(agent->hello.server, telemetry.gpus, now), now);
}

void Logic::on(SessionId session, const wire::LogChunk& chunk, Instant) { logs_.on_chunk(session, chunk); }

void Logic::on(SessionId session, const wire::Ping& ping, Instant now) {
  Agent* agent = agents_.by_session(session);
  if (!agent) return outside_.close(session, "hello-expected");
  agent->last_contact = now;
  if (ping.last_seq > agent->reports_seen) return drop_session(session, "report-missing", now);
  outside_.send(session, wire::Ping{ping.at_us, agent->orders_sent});
}

// ---- leases ----

// An agent counts its lease from before we last heard of it, on its own clock; what had to end with it needs the grace
// to end, and clocks may differ a little.
void Logic::check_leases(Instant now) {
  constexpr Duration interval = Duration::whole_seconds(1);
  constexpr Duration margin = Duration::whole_seconds(5);
  if (next_lease_check_.happened() && now < next_lease_check_) return;
  next_lease_check_ = now + interval;
  const Duration lease = Duration::seconds(settings_.lease_s);
  for (auto& [name, agent] : agents_.all()) {
    if (agent.session != 0 && agent.last_contact + lease < now) drop_session(agent.session, "silent", now);
    if (agent.session != 0 || agent.lease_over || now < agent.last_contact + lease + fence_grace + margin) continue;
    agent.lease_over = true;
    end_lease(name, now);
  }
}

void Logic::end_lease(const std::string& server, Instant now) {
  const ServerIndex index = core_.find_server(server);
  const std::vector<JobIndex> active(core_.active().begin(), core_.active().end());
  for (const JobIndex job : active) {
    const JobEntry* entry = book_.find(core_.job(job).request.id);
    if (!entry || core_.job(job).allocation.on(index).empty()) continue;
    const auto spec = wire::read_json<wire::JobSpec>(entry->row.spec_json, wire::Unknown::ignore);
    if (spec.ok() && spec->on_partition == "stop")
      engine_.feed(AttemptReleased{core_.job(job).request.id, core_.job(job).attempt}, now);
  }
}

void Logic::declare_lost(const std::string& server, const std::string& by, Instant now,
                         std::function<void(const Status&)> done) {
  if (tape_) tape_->input(now, "lost", {{"server", server}, {"by", by}});
  const Agent* agent = agents_.by_server(server);
  if (!agent) return done(not_found("server-not-found", "there is no server " + server).hint("schedulearn servers ls"));
  if (agent->session != 0)
    return done(conflict("server-connected", "server " + server + " is connected, it is not lost"));
  store::EventRow event;
  event.at_us = now.us;
  event.kind = "server.declared_lost";
  event.server = server;
  event.actor_type = "user";
  event.actor_name = by;
  recorder_.write_event(std::move(event));
  engine_.feed(ServerLost{server}, now);
  recorder_.when_durable(std::move(done));
}

}  // namespace sl::controller
