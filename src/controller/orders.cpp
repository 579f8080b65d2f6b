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
    if (command.kind == CommandKind::start && job.state == JobState::starting) start(*entry, job);
    if (command.kind == CommandKind::stop && job.state == JobState::stopping) stop(*entry, job);
    const bool moves = command.kind == CommandKind::migrate || command.kind == CommandKind::resize;
    if (moves && is_moving(job.state)) stop(*entry, job);
  }
}

Agent* Orders::agent_of(const Job& job) {
  Agent* agent = agents_.by_server(core_.servers()[job.allocation.parts().front().server].description.name);
  return agent && agent->session != 0 ? agent : nullptr;
}

void Orders::start(JobEntry& entry, const Job& job) {
  const ServerGpus& part = job.allocation.parts().front();
  Agent* agent = agent_of(job);
  if (!agent || strangers_.hold_back(job.request.id)) return;
  wire::StartAttempt order;
  const store::PlacementRow& placement = *latest_placement(entry);
  order.incarnation = incarnation_of(placement);
  order.first = entry.placements.front().incarnation;
  order.resume = job.first_start.happened();
  order.placement.rank = placement.rank;
  order.placement.gpu_uuids = split_at_commas(placement.gpu_uuids);
  part.gpus.for_each([&](int gpu) {
    order.placement.gpus.push_back(gpu);
    core_.ledger().for_each_tenant(part.server, gpu, [&](JobIndex tenant) {
      const JobEntry* neighbour = book_.find(core_.job(tenant).request.id);
      if (neighbour && neighbour != &entry && !neighbour->placements.empty())
        order.neighbours.push_back(incarnation_of(*latest_placement(*neighbour)));
    });
  });
  order.spec = spec_of(entry);
  if (checkpoints_.holds_back(entry, job, order, recorder_.committed_at())) return;
  send(*agent, std::move(order));
}

// One that moves is stopped like one that is preempted; its next attempt starts when it has ended (reconciler.h).
void Orders::stop(JobEntry& entry, const Job& job) {
  Agent* agent = job.allocation.empty() ? nullptr : agent_of(job);
  if (!agent) return;
  const bool moves = is_moving(job.state);
  wire::StopAttempt order = stop_order_for(entry, moves ? StopReason::preempted : entry.stopping);
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
    state == JobState::starting ? start(*entry, core_.job(index)) : stop(*entry, core_.job(index));
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
