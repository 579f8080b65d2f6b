// The connected agents, and what each has reported about its server: who may speak for a server name, and how an
// agent's attempts compare with those the core knows.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <string>

#include "controller/outside.h"
#include "core/core.h"

namespace sl::controller {

struct Agent {
  SessionId session = 0;  // 0: not connected
  std::string agent_id;
  wire::Hello hello;  // the latest one, its GPUs refreshed by telemetry
  std::optional<double> cpu_utilization_pct;
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<std::int64_t> job_files_bytes, disk_free_bytes;  // empty: it has not measured them yet
  Instant last_contact;
  std::int64_t orders_sent = 0, reports_seen = 0;  // in this session
  std::string refused;  // why the agent that called at `refused_at` may not join, while none is connected
  Instant refused_at;
  bool lease_over = false;  // it has been away for so long that everything that had to end with its lease has ended
};

class Agents {
 public:
  Agent* by_server(const std::string& name);
  const Agent* by_server(const std::string& name) const { return const_cast<Agents*>(this)->by_server(name); }
  Agent* by_session(SessionId session);
  const Agent* by_session(SessionId session) const { return const_cast<Agents*>(this)->by_session(session); }
  // Error "server-name-taken": an agent is connected as this server.
  Status check_free(const std::string& name) const;
  // Takes the session for its server. An error if another live agent has that name.
  Result<Agent*> open(SessionId session, wire::Hello hello, Instant now);
  // An agent that calls as this server may not join.
  void note_refusal(const std::string& name, const std::string& why, Instant now);
  // Returns the server's name, empty if the session had not said hello.
  std::string close(SessionId session);
  // A server known from before the restart whose agent has not connected yet.
  void remember(const std::string& name, wire::Hello hello, Instant now);
  void forget(const std::string& name) { by_name_.erase(name); }  // a server whose agent is not connected
  const std::map<std::string, Agent>& all() const { return by_name_; }
  std::map<std::string, Agent>& all() { return by_name_; }
  std::size_t connected() const { return by_session_.size(); }

 private:
  std::map<std::string, Agent> by_name_;
  boost::unordered_flat_map<SessionId, std::string> by_session_;
};

// What can be true of what an agent says about its server: GPUs with an index that there can be, and figures that can be
// measured. The rest is left out, as if it were not known.
wire::Hello plausible(wire::Hello hello);
wire::Telemetry plausible(wire::Telemetry telemetry);

// What a Hello says about the server, in the core's terms.
ServerDescription describe(const wire::Hello& hello, Core& core);
// GPU facts, GPUs used by foreign processes, and which of the server's GPUs have not answered.
TelemetrySampled sample(const ServerDescription& server, const std::vector<wire::GpuReport>& gpus, Instant now);

}  // namespace sl::controller
