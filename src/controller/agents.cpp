#include "controller/agents.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/names.h"

namespace sl::controller {

Agent* Agents::by_server(const std::string& name) {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &at->second;
}

Agent* Agents::by_session(SessionId session) {
  const auto at = by_session_.find(session);
  return at == by_session_.end() ? nullptr : by_server(at->second);
}

Status Agents::check_free(const std::string& name) const {
  const Agent* agent = by_server(name);
  if (!agent || agent->session == 0) return {};
  return conflict("server-name-taken", "another agent is connected as server " + name).hint("choose another name");
}

Result<Agent*> Agents::open(SessionId session, wire::Hello hello, Instant now) {
  if (hello.protocol != wire::agent_protocol_version) {
    const bool is_older = hello.protocol < wire::agent_protocol_version;
    return invalid(
        "protocol-version",
        fmt::format("the agent of {} is of {} version of schedulearn than the controller (protocol {}, not "
                    "{}): install the same version on both and start the agent again; its jobs run on",
                    hello.server, is_older ? "an older" : "a newer", hello.protocol, wire::agent_protocol_version));
  }
  if (Status named = wire::check_server_name(hello.server); !named.ok()) return named.error();
  Agent& agent = by_name_[hello.server];
  const bool is_other = !agent.agent_id.empty() && agent.agent_id != hello.agent_id;
  if (Status free = check_free(hello.server); is_other && !free.ok()) return free.error();
  if (agent.session != 0)
    by_session_.erase(agent.session);  // the same agent, reconnecting before we noticed that it
                                       // had gone
  agent.session = session;
  agent.agent_id = hello.agent_id;
  agent.last_contact = now;
  agent.orders_sent = agent.reports_seen = 0;
  agent.lease_over = false;
  agent.refused.clear();
  by_session_[session] = hello.server;
  agent.hello = std::move(hello);
  return &agent;
}

void Agents::note_refusal(const std::string& name, const std::string& why, Instant now) {
  if (Agent* agent = by_server(name); agent && agent->session == 0) agent->refused = why, agent->refused_at = now;
}

std::string Agents::close(SessionId session) {
  const auto at = by_session_.find(session);
  if (at == by_session_.end()) return {};
  const std::string name = at->second;
  by_session_.erase(at);
  by_name_[name].session = 0;
  return name;
}

void Agents::remember(const std::string& name, wire::Hello hello, Instant now) {
  Agent& agent = by_name_[name];
  agent.last_contact = now;  // we cannot know when a previous agent last renewed its lease
  agent.agent_id = hello.agent_id;
  agent.hello = std::move(hello);
}

namespace {

template <typename Number>
void keep_within(std::optional<Number>& figure, double least, double most) {
  if (figure && !(static_cast<double>(*figure) >= least && static_cast<double>(*figure) <= most)) figure.reset();
}

constexpr double bytes_max = 1e18;

void keep_plausible(std::vector<wire::GpuReport>& gpus) {
  std::erase_if(gpus, [](const wire::GpuReport& gpu) { return gpu.index < 0 || gpu.index >= GpuSet::capacity; });
  for (wire::GpuReport& gpu : gpus) {
    gpu.memory_total_bytes = std::max<std::int64_t>(gpu.memory_total_bytes, 0);
    keep_within(gpu.memory_used_bytes, 0, bytes_max);
    keep_within(gpu.utilization_pct, 0, 100);
    keep_within(gpu.temperature_celsius, -100, 1'000);
    keep_within(gpu.power_watts, 0, 100'000);
  }
}

}  // namespace

wire::Hello plausible(wire::Hello hello) {
  keep_plausible(hello.gpus);
  hello.cpus = std::max(hello.cpus, 0);
  hello.memory_total_bytes = std::max<std::int64_t>(hello.memory_total_bytes, 0);
  return hello;
}

wire::Telemetry plausible(wire::Telemetry telemetry) {
  keep_plausible(telemetry.gpus);
  keep_within(telemetry.cpu_utilization_pct, 0, 100);
  keep_within(telemetry.memory_used_bytes, 0, bytes_max);
  keep_within(telemetry.job_files_bytes, 0, bytes_max);
  keep_within(telemetry.disk_free_bytes, 0, bytes_max);
  return telemetry;
}

ServerDescription describe(const wire::Hello& hello, Core& core) {
  ServerDescription server;
  server.name = hello.server;
  server.gpus = static_cast<int>(std::min<std::size_t>(hello.gpus.size(), GpuSet::capacity));
  server.simulated = hello.simulated;
  server.runs_containers = !hello.container_engine.empty();
  for (const auto& [name, value] : hello.labels) server.labels.push_back(name + "=" + value);
  server.capacity[Resource::cpu] = hello.cpus;
  server.capacity[Resource::memory] = static_cast<double>(hello.memory_total_bytes);
  if (hello.gpus.empty()) return server;
  // A job that asks for a type or for memory must get it with any of the server's GPUs.
  const wire::GpuReport& first = hello.gpus.front();
  bool is_mixed = false;
  std::int64_t memory = first.memory_total_bytes;
  for (const wire::GpuReport& gpu : hello.gpus) {
    is_mixed = is_mixed || gpu.name != first.name;
    memory = std::min(memory, gpu.memory_total_bytes);
  }
  if (!is_mixed) server.gpu_type = core.gpu_types().intern(first.name);
  server.gpu_memory_bytes = memory;
  return server;
}

TelemetrySampled sample(const ServerDescription& server, const std::vector<wire::GpuReport>& gpus, Instant now) {
  TelemetrySampled event;
  event.server = server.name;
  event.unavailable = GpuSet::first(server.gpus);
  for (const wire::GpuReport& gpu : gpus) {
    if (gpu.missing || gpu.index < 0 || gpu.index >= GpuSet::capacity) continue;
    event.unavailable -= GpuSet::only(gpu.index);
    if (event.gpus.size() <= static_cast<std::size_t>(gpu.index))
      event.gpus.resize(static_cast<std::size_t>(gpu.index) + 1);
    GpuFacts& facts = event.gpus[static_cast<std::size_t>(gpu.index)];
    facts.utilization_pct = gpu.utilization_pct;
    facts.memory_total_bytes = gpu.memory_total_bytes;
    facts.memory_used_bytes = gpu.memory_used_bytes;
    facts.sampled = now;
    if (!gpu.outside.empty()) event.outside |= GpuSet::only(gpu.index);
  }
  return event;
}

}  // namespace sl::controller
