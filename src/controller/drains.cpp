#include "controller/drains.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "controller/damaged_rows.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr std::string_view drain_prefix = "drain/";  // + the server's name

std::string drain_key(const std::string& server) { return std::string(drain_prefix) + server; }

}  // namespace

void Drains::restore(const std::vector<store::SettingRow>& settings, Instant now) {
  for (const store::SettingRow& row : settings) {
    if (!row.key.starts_with(drain_prefix) || row.value.empty()) continue;
    const std::string server = row.key.substr(drain_prefix.size());
    auto known = wire::read_json<Drain>(row.value, wire::Unknown::ignore);
    if (!known.ok())
      recorder_.write_event(row_set_aside("the drain of server " + server, known.error().message, row.value, now));
    drains_[server] = known.ok() ? *known : Drain{"nobody known", now.us};  // that it is drained is certain
  }
}

Status Drains::begin(const std::string& server, bool stops_jobs, const std::string& by, Instant now) {
  if (Status known = find_server(server); !known.ok()) return known;
  if (!find(server)) {
    const bool another_is_up = std::ranges::any_of(core_.servers(), [&](const Server& other) {
      return other.state == ServerState::up && other.description.name != server;
    });
    if (!another_is_up)
      return conflict("last-server", "no server but " + server + " is up: all jobs would wait")
          .hint("let another server join first: schedulearn agent run --join URL")
          .hint("to stop this one when its jobs allow it, stop its agent");
    drains_[server] = {by, now.us};
    recorder_.write(store::SettingRow{drain_key(server), wire::write_json(drains_[server])});
    note("server.drain_requested", server, by, now);
    keep(now);
  }
  if (stops_jobs) stop_jobs(server, now);
  return {};
}

// Promised GPUs of other servers are none of its business.
void Drains::stop_jobs(const std::string& server, Instant now) {
  const ServerIndex index = core_.find_server(server);
  for (const JobIndex at : jobs_with_processes(core_)) {
    const Job& job = core_.job(at);
    const bool may_stop = job.request.preemptible && job.request.capability == Capability::checkpoint;
    if (may_stop && !where_it_is(job).on(index).empty()) engine_.feed(JobPreempted{job.request.id}, now);
  }
}

Status Drains::end(const std::string& server, const std::string& by, Instant now) {
  if (Status known = find_server(server); !known.ok()) return known;
  if (!find(server)) return conflict("server-not-drained", "server " + server + " is not drained");
  forget(server);
  note("server.undrained", server, by, now);
  engine_.feed(ServerDrained{server, false}, now);
  return {};
}

void Drains::forget(const std::string& server) {
  if (drains_.erase(server) > 0) recorder_.write(store::SettingRow{drain_key(server), ""});
}

void Drains::keep(Instant now) {
  for (const auto& [name, drain] : drains_) {
    const ServerIndex server = core_.find_server(name);
    if (server.valid() && core_.servers()[server].state == ServerState::up) engine_.feed(ServerDrained{name}, now);
  }
}

const Drain* Drains::find(const std::string& server) const {
  const auto at = drains_.find(server);
  return at == drains_.end() ? nullptr : &at->second;
}

Status Drains::find_server(const std::string& server) const {
  const ServerIndex index = core_.find_server(server);
  if (index.valid() && core_.servers()[index].state != ServerState::removed) return {};
  return not_found("server-not-found", "there is no server " + server).hint("schedulearn servers ls");
}

void Drains::note(const char* kind, const std::string& server, const std::string& by, Instant now) {
  recorder_.write_event({.at_us = now.us, .kind = kind, .server = server, .actor_type = "user", .actor_name = by});
}

std::string drain_text(const Core& core, const Server& server, ServerIndex index, const Drain& drain) {
  const auto jobs =
      std::ranges::count_if(core.active(), [&](JobIndex job) { return !core.job(job).allocation.on(index).empty(); });
  return fmt::format("drained by {} since {:%H:%M:%S} UTC{}{}", drain.by,
                     fmt::gmtime(static_cast<std::time_t>(drain.since_us / 1'000'000)),
                     jobs == 0   ? ", no job is left there"
                     : jobs == 1 ? ", 1 job is left there"
                                 : fmt::format(", {} jobs are left there", jobs),
                     server.state == ServerState::down ? "; its agent is not connected" : "");
}

}  // namespace sl::controller
