#include "controller/drains.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "controller/damaged_rows.h"
#include "controller/views.h"
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

Status Drains::may_begin(const std::string& server, const DrainRequest& wanted, Instant now) const {
  if (Status known = find_server(server); !known.ok()) return known;
  if (wanted.deadline_us != 0 && wanted.deadline_us < now.us)
    return invalid("bad-deadline", "the deadline is past").at("/deadline");
  const bool another_is_up = std::ranges::any_of(core_.servers(), [&](const Server& other) {
    return other.state == ServerState::up && other.description.name != server;
  });
  if (find(server) || another_is_up) return {};
  return conflict("last-server", "no server but " + server + " is up: all jobs would wait")
      .hint("let another server join first: schedulearn agent run --join URL --data DIR")
      .hint("to stop this one when its jobs allow it, stop its agent");
}

Status Drains::begin(const std::string& server, const DrainRequest& wanted, const std::string& by, Instant now) {
  if (Status may = may_begin(server, wanted, now); !may.ok()) return may;
  const bool is_new = !find(server);
  Drain& drain = drains_[server];
  if (is_new) drain.by = by, drain.since_us = now.us;
  if (!wanted.reason.empty()) drain.reason = wanted.reason;
  if (wanted.deadline_us != 0) drain.deadline_us = wanted.deadline_us, drain.is_over = false;
  recorder_.write(store::SettingRow{drain_key(server), wire::write_json(drain)});
  if (is_new) note("server.drain_requested", server, by, drain.reason, now);
  keep(now);
  if (wanted.stops_jobs) stop_jobs(server, false, now);
  return {};
}

namespace {

bool stops_at_checkpoint(const Job& job) {
  return job.request.preemptible && job.request.capability == Capability::checkpoint;
}

}  // namespace

// With processes there; promised GPUs of other servers are none of a drain's business.
std::vector<JobIndex> Drains::jobs_on(const std::string& server) const {
  const ServerIndex index = core_.find_server(server);
  std::vector<JobIndex> jobs = jobs_with_processes(core_);
  std::erase_if(jobs, [&](JobIndex at) { return !where_it_is(core_.job(at)).is_on(index); });
  std::ranges::sort(jobs, {}, [&](JobIndex at) { return core_.job(at).request.id; });
  return jobs;
}

Result<std::vector<DrainedJob>> Drains::preview(const std::string& server, const DrainRequest& wanted,
                                                Instant now) const {
  if (Status may = may_begin(server, wanted, now); !may.ok()) return may.error();
  const Drain* standing = find(server);
  const bool keeps_deadline = wanted.deadline_us == 0 && standing && !standing->is_over;
  const std::int64_t deadline_us = keeps_deadline ? standing->deadline_us : wanted.deadline_us;
  std::vector<DrainedJob> drained;
  for (const JobIndex at : jobs_on(server)) {
    const Job& job = core_.job(at);
    const bool resumes = stops_at_checkpoint(job);
    const std::string until = deadline_us == 0 ? "runs to its end" : "runs on until " + clock_text(deadline_us, 0);
    const std::string where = ", elsewhere if another server suits it";
    const std::string after = (resumes ? "then continues from its checkpoint" : "then starts anew") + where;
    drained.push_back({job.request.id, wanted.stops_jobs && resumes ? "stops at a checkpoint now and continues" + where
                                       : deadline_us == 0           ? until
                                                                    : until + ", " + after});
  }
  return drained;
}

// All that is there, or only what continues from a checkpoint.
void Drains::stop_jobs(const std::string& server, bool all, Instant now) {
  for (const JobIndex at : jobs_on(server)) {
    const Job& job = core_.job(at);
    if (all || stops_at_checkpoint(job)) engine_.feed(JobPreempted{job.request.id}, now);
  }
}

Status Drains::may_end(const std::string& server) const {
  if (Status known = find_server(server); !known.ok()) return known;
  if (find(server)) return {};
  return conflict("server-not-drained", "server " + server + " is not drained");
}

Status Drains::end(const std::string& server, const std::string& by, Instant now) {
  if (Status may = may_end(server); !may.ok()) return may;
  forget(server);
  note("server.undrained", server, by, "", now);
  engine_.feed(ServerDrained{server, false}, now);
  return {};
}

void Drains::forget(const std::string& server) {
  if (drains_.erase(server) > 0) recorder_.write(store::SettingRow{drain_key(server), ""});
}

void Drains::keep(Instant now) {
  for (auto& [name, drain] : drains_) {
    const ServerIndex server = core_.find_server(name);
    if (server.valid() && core_.servers()[server].state == ServerState::up) engine_.feed(ServerDrained{name}, now);
    if (drain.deadline_us == 0 || drain.is_over || now.us < drain.deadline_us) continue;
    drain.is_over = true;
    recorder_.write(store::SettingRow{drain_key(name), wire::write_json(drain)});
    note("server.drain_deadline", name, drain.by, "what still runs there is stopped", now);
    if (server.valid()) stop_jobs(name, true, now);
  }
}

Instant Drains::next_deadline() const {
  Instant next = Instant::never();
  for (const auto& [name, drain] : drains_) {
    if (drain.deadline_us != 0 && !drain.is_over) next = std::min(next, Instant{drain.deadline_us});
  }
  return next;
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

void Drains::note(const char* kind, const std::string& server, const std::string& by, std::string text, Instant now) {
  recorder_.write_event({.at_us = now.us,
                         .kind = kind,
                         .server = server,
                         .actor_type = "user",
                         .actor_name = by,
                         .text = std::move(text)});
}

std::string drain_text(const Core& core, const Server& server, ServerIndex index, const Drain& drain) {
  const auto jobs = std::ranges::count_if(jobs_with_processes(core),
                                          [&](JobIndex job) { return where_it_is(core.job(job)).is_on(index); });
  const std::string until = drain.deadline_us == 0 || jobs == 0 ? "" : " until " + clock_text(drain.deadline_us, 0);
  return fmt::format("drained by {} since {:%H:%M:%S} UTC{}{}{}{}", drain.by,
                     fmt::gmtime(static_cast<std::time_t>(drain.since_us / 1'000'000)),
                     drain.reason.empty() ? "" : ": " + drain.reason,
                     jobs == 0   ? ", no job is left there"
                     : jobs == 1 ? ", 1 job is left there"
                                 : fmt::format(", {} jobs are left there", jobs),
                     until, server.state == ServerState::down ? "; its agent is not connected" : "");
}

}  // namespace sl::controller
