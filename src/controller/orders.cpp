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

std::vector<int> indexes_of(GpuSet gpus) {
  std::vector<int> indexes;
  gpus.for_each([&](int gpu) { indexes.push_back(gpu); });
  return indexes;
}

wire::StopAttempt stop_order_for(const JobEntry& entry, StopReason reason) {
  wire::StopAttempt order;
  order.incarnation = incarnation_of(*latest_placement(entry));
  order.reason = stop_reason_text(reason);
  order.grace_s = 30;
  if (reason == StopReason::preempted || reason == StopReason::time_limit || reason == StopReason::target_met) {
    const wire::JobSpec& spec = spec_of(entry);
    order.signal = spec.checkpoint.signal;
    order.grace_s = spec.checkpoint.grace_s;
  }
  if (reason == StopReason::cancelled && !entry.stop_with.empty()) order.signal = entry.stop_with;
  if (order.signal == "KILL") order.grace_s = 0;
  return order;
}

bool can_resize_in_place(const JobEntry& entry, const Allocation& from, const Allocation& to) {
  return spec_of(entry).resize == "in_place" && from.parts().size() == 1 && to.parts().size() == 1 &&
         from.parts().front().server == to.parts().front().server;
}

bool resizes_in_place(const JobEntry& entry, const Job& job) {
  return job.state == JobState::resizing && can_resize_in_place(entry, job.allocation, job.target);
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
    if (moves && is_moving(job.state)) move(*entry, job);
  }
}

Agent* Orders::agent_of(const std::string& server) {
  Agent* agent = agents_.by_server(server);
  return agent && agent->session != 0 ? agent : nullptr;
}

std::vector<Incarnation> Orders::neighbours_of(const JobEntry& entry, const ServerGpus& part) const {
  std::vector<Incarnation> neighbours;
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
  const store::PlacementRow& placement = *latest_placement(entry);
  if (Agent* agent = agent_of(placement.server)) send(*agent, wire::FreezeAttempt{0, incarnation_of(placement)});
}

template <typename Order>
void Orders::send_parts(const JobEntry& entry, const Order& order) {
  for (const store::PlacementRow& placement : latest_placements(entry)) {
    Agent* agent = agent_of(placement.server);
    const bool is_over = entry.gang && entry.gang->has_told_end(placement.rank);
    if (agent && !is_over) send(*agent, order);
  }
}

// One that resizes in place is told its GPUs. Any other is stopped like one that is preempted, and its next attempt
// starts when it has ended (reconciler.h).
void Orders::move(JobEntry& entry, const Job& job) {
  const store::PlacementRow& placement = *latest_placement(entry);
  Agent* agent = agent_of(placement.server);
  if (!agent || !agent->hello.resizes_in_place || !resizes_in_place(entry, job)) return stop(entry, job);
  const ServerGpus& part = job.target.parts().front();
  wire::ResizeAttempt order;
  order.incarnation = incarnation_of(placement);
  order.placement = {placement.rank, 1, indexes_of(part.gpus), split_at_commas(uuids_of(agent, part.gpus))};
  order.neighbours = neighbours_of(entry, part);
  order.signal = spec_of(entry).checkpoint.signal;
  order.grace_s = spec_of(entry).checkpoint.grace_s;
  send(*agent, std::move(order));
}

// One that was frozen continues; any other is started, on several servers only once all are ready (Gang).
void Orders::start(JobEntry& entry, const Job& job) {
  if (strangers_.hold_back(job.request.id)) return;
  if (entry.gang && (entry.gang->is_broken() || entry.gang->has_begun())) return;
  const auto placements = latest_placements(entry);
  for (const store::PlacementRow& placement : placements) {
    Agent* agent = agent_of(placement.server);
    const ServerIndex server = core_.find_server(placement.server);
    const ServerGpus part{server, job.allocation.on(server)};
    if (!agent || !job.allocation.is_on(server)) continue;
    if (job.resumes || job.state == JobState::running) {
      send(*agent, wire::ThawAttempt{0, incarnation_of(placement), neighbours_of(entry, part)});
      continue;
    }
    wire::StartAttempt order;
    order.incarnation = incarnation_of(placement);
    order.first = entry.placements.front().incarnation;
    order.resume = job.first_start.happened();
    order.placement.rank = placement.rank;
    order.placement.servers = static_cast<int>(placements.size());
    order.placement.gpu_uuids = split_at_commas(placement.gpu_uuids);
    order.placement.gpus = indexes_of(part.gpus);
    order.neighbours = neighbours_of(entry, part);
    order.spec = spec_of(entry);
    order.run_s = job.run.to_seconds();
    if (placement.rank == 0 && checkpoints_.holds_back(entry, job, order, recorder_.committed_at())) continue;
    send(*agent, std::move(order));
  }
}

void Orders::stop(JobEntry& entry, const Job& job) {
  const bool moves = is_moving(job.state);
  const bool was_freezing = entry.stopping == StopReason::none && job.cancel_requested;
  const bool is_hurried = job.cancel_requested && !entry.stop_with.empty();
  const StopReason why = moves                        ? StopReason::preempted
                         : was_freezing || is_hurried ? StopReason::cancelled
                                                      : entry.stopping;
  wire::StopAttempt order = stop_order_for(entry, why);
  if (moves) order.reason = to_string(job.state);
  send_parts(entry, order);
}

void Orders::when_durable(JobId id, int attempt, std::function<void(JobEntry&, const Job&)> act) {
  recorder_.when_durable([this, id, attempt, act = std::move(act)](const Status& status) {
    const JobIndex index = core_.find(id);
    JobEntry* entry = book_.find(id);
    if (!entry || !index.valid() || core_.job(index).attempt != attempt) return;
    status.ok() ? act(*entry, core_.job(index)) : when_durable(id, attempt, act);
  });
}

void Orders::hurry(JobId id, int attempt, const std::string& signal) {
  when_durable(id, attempt, [this, signal](JobEntry& entry, const Job& job) {
    if (job.state != JobState::stopping) return;
    entry.stop_with = signal;
    stop(entry, job);
  });
}

void Orders::signal(JobId id, int attempt, const std::string& signal) {
  when_durable(id, attempt, [this, signal](JobEntry& entry, const Job& job) {
    if (job.state == JobState::running)
      send_parts(entry, wire::SignalAttempt{0, incarnation_of(*latest_placement(entry)), signal});
  });
}

void Orders::launch(JobId id, int attempt) {
  when_durable(id, attempt, [this](JobEntry& entry, const Job& job) {
    if (job.state != JobState::starting || !entry.gang->is_ready()) return;
    wire::LaunchAttempt order;
    const auto placements = latest_placements(entry);
    order.incarnation = incarnation_of(placements.front());
    for (const store::PlacementRow& placement : placements) {
      const auto rank = static_cast<std::size_t>(placement.rank);
      const Agent* agent = agents_.by_server(placement.server);
      order.parts.push_back({placement.server, agent ? agent->hello.address : "", entry.gang->parts()[rank].port,
                             job.allocation.on(core_.find_server(placement.server)).count()});
    }
    entry.gang->launch();
    for (const store::PlacementRow& placement : placements) {
      if (Agent* agent = agent_of(placement.server)) send(*agent, order);
    }
  });
}

void Orders::stop_rest(JobId id, int attempt) {
  when_durable(id, attempt, [this](JobEntry& entry, const Job& job) {
    constexpr double grace_s = 10;  // without the others it can only end
    if (job.state != JobState::starting && job.state != JobState::running) return;  // it is told so anyway
    send_parts(entry, wire::StopAttempt{0, incarnation_of(*latest_placement(entry)), "part_ended", "TERM", grace_s});
  });
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
  when_durable(id, attempt, [this, state](JobEntry& entry, const Job& job) {
    if (job.state != state) return;
    if (is_to_be_frozen(entry, job)) return freeze(entry);
    if (is_moving(state)) return move(entry, job);
    state == JobState::stopping ? stop(entry, job) : start(entry, job);
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
