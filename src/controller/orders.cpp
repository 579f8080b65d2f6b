#include "controller/orders.h"

#include <sstream>

namespace sl::controller {
namespace {

std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

wire::StopAttempt stop_order_for(JobEntry& entry, StopReason reason) {
  wire::StopAttempt order;
  order.incarnation = incarnation_of(*latest_placement(entry));
  order.reason = stop_reason_text(reason);
  order.grace_s = 30;
  if (reason == StopReason::preempted) {
    const wire::JobSpec& spec = spec_of(entry);
    order.signal = spec.checkpoint.signal;
    order.grace_s = spec.checkpoint.grace_s;
  }
  return order;
}

bool is_to_be_frozen(const JobEntry& entry, const Job& job) {
  const bool gives_up_gpus = job.state == JobState::stopping && entry.stopping == StopReason::none;
  return job.state == JobState::suspended || (gives_up_gpus && !job.frozen_on && !job.cancel_requested);
}

template <typename Order>
void Orders::send(Agent& agent, Order order) {
  order.seq = ++agent.orders_sent;
  outside_.send(agent.session, std::move(order));
}

void Orders::carry_out(const Core& core, std::vector<Command>& commands) {
  for (const Command& command : commands) {
    JobEntry* entry = book_.find(command.job);
    const JobIndex index = core.find(command.job);
    if (!entry || !index.valid() || core.job(index).attempt != command.attempt) continue;  // overtaken by events
    const Job& job = core.job(index);
    const bool starts = command.kind == CommandKind::start || command.kind == CommandKind::resume;
    if (starts && job.state == JobState::starting) start(*entry, job);
    if (command.kind == CommandKind::suspend && job.state == JobState::stopping) freeze(*entry);
    if (command.kind == CommandKind::stop && job.state == JobState::stopping) stop(*entry, job);
    const bool moves = command.kind == CommandKind::migrate || command.kind == CommandKind::resize;
    if (moves && is_moving(job.state)) stop(*entry, job);
  }
}

// Where its processes are, or will be.
Agent* Orders::agent_of(const JobEntry& entry) {
  const store::PlacementRow* placement = latest_placement(entry);
  Agent* agent = placement ? agents_.by_server(placement->server) : nullptr;
  return agent && agent->session != 0 ? agent : nullptr;
}

std::vector<Incarnation> Orders::neighbours_of(const JobEntry& entry, const Job& job) const {
  std::vector<Incarnation> neighbours;
  const ServerGpus& part = job.allocation.parts().front();
  part.gpus.for_each([&](int gpu) {
    core_.ledger().for_each_tenant(part.server, gpu, [&](JobIndex tenant) {
      const JobEntry* neighbour = book_.find(core_.job(tenant).request.id);
      if (neighbour && neighbour != &entry && !neighbour->placements.empty())
        neighbours.push_back(incarnation_of(*latest_placement(*neighbour)));
    });
  });
  return neighbours;
}

void Orders::freeze(const JobEntry& entry) {
  if (Agent* agent = agent_of(entry)) send(*agent, wire::FreezeAttempt{0, incarnation_of(*latest_placement(entry))});
}

// One that was frozen continues; any other is started.
void Orders::start(JobEntry& entry, const Job& job) {
  Agent* agent = agent_of(entry);
  if (!agent || strangers_.hold_back(job.request.id)) return;
  const store::PlacementRow& placement = *latest_placement(entry);
  if (job.resumes || job.state == JobState::running)
    return send(*agent, wire::ThawAttempt{0, incarnation_of(placement), neighbours_of(entry, job)});
  wire::StartAttempt order;
  order.incarnation = incarnation_of(placement);
  order.first = entry.placements.front().incarnation;
  order.resume = job.first_start.happened();
  order.placement.rank = placement.rank;
  order.placement.gpu_uuids = split_at_commas(placement.gpu_uuids);
  job.allocation.parts().front().gpus.for_each([&](int gpu) { order.placement.gpus.push_back(gpu); });
  order.neighbours = neighbours_of(entry, job);
  order.spec = spec_of(entry);
  if (checkpoints_.holds_back(entry, job, order, recorder_.committed_at())) return;
  send(*agent, std::move(order));
}

// One that moves is stopped like one that is preempted; its next attempt starts when it has ended (reconciler.h).
void Orders::stop(JobEntry& entry, const Job& job) {
  Agent* agent = agent_of(entry);
  if (!agent) return;
  const bool moves = is_moving(job.state);
  const bool was_freezing = entry.stopping == StopReason::none && job.cancel_requested;
  const StopReason why = moves ? StopReason::preempted : was_freezing ? StopReason::cancelled : entry.stopping;
  wire::StopAttempt order = stop_order_for(entry, why);
  if (moves) order.reason = to_string(job.state);
  send(*agent, std::move(order));
}

void Orders::stop_stranger(SessionId session, const wire::AttemptReport& report) {
  recorder_.when_durable([this, session, report](const Status& status) {
    Agent* agent = agents_.by_session(session);
    if (!agent) return;  // it will report the attempt again
    if (!status.ok()) return stop_stranger(session, report);
    send(*agent, wire::StopAttempt{0, report.incarnation, "stranger", "TERM", 30});
  });
}

void Orders::repeat(JobId id, int attempt, JobState state) {
  recorder_.when_durable([this, id, attempt, state](const Status& status) {
    const JobIndex index = core_.find(id);
    JobEntry* entry = book_.find(id);
    if (!entry || !index.valid() || core_.job(index).attempt != attempt || core_.job(index).state != state) return;
    if (!status.ok()) return repeat(id, attempt, state);
    const Job& job = core_.job(index);
    if (is_to_be_frozen(*entry, job)) return freeze(*entry);
    state == JobState::stopping || is_moving(state) ? stop(*entry, job) : start(*entry, job);
  });
}

void Orders::forget(const std::string& server, const wire::AttemptReport& report) {
  recorder_.when_durable([this, server, report](const Status& status) {
    if (!status.ok()) return forget(server, report);
    Agent* agent = agents_.by_server(server);
    if (agent && agent->session != 0) send(*agent, wire::ForgetAttempt{0, report.incarnation});
  });
}

}  // namespace sl::controller
