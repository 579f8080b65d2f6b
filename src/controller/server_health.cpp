#include "controller/server_health.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "controller/damaged_rows.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr std::string_view setting_prefix = "quarantine/";  // + the server's name

std::string time_of_day(std::int64_t us) {
  return fmt::format("{:%H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(us / 1'000'000)));
}

std::string text_of(const wire::CommandLine& command) { return boost::json::serialize(wire::to_value(command)); }

std::string list(const std::vector<JobId>& jobs) {
  std::string text;
  for (const JobId job : jobs) text += (text.empty() ? "" : ", ") + std::to_string(job.value);
  return text;
}

Duration wait_after(int times) {
  Duration wait = ServerHealth::wait_first;
  for (int i = 1; i < times && wait < ServerHealth::wait_max; ++i) wait = std::min(wait * 2, ServerHealth::wait_max);
  return wait;
}

}  // namespace

// A clock that was wrong when the quarantine was written must not extend it beyond what the rule allows.
void ServerHealth::restore(const std::vector<store::SettingRow>& settings, Instant now) {
  for (const store::SettingRow& row : settings) {
    if (!row.key.starts_with(setting_prefix) || row.value.empty()) continue;
    const std::string server = row.key.substr(setting_prefix.size());
    auto known = wire::read_json<Quarantine>(row.value, wire::Unknown::ignore);
    if (!known.ok()) {
      recorder_.write_event(row_set_aside("the quarantine of server " + server, known.error().message, row.value, now));
      continue;
    }
    known->until_us = std::min(known->until_us, (now + wait_max).us);
    ends_[server] = Instant{known->until_us};
    quarantines_[server] = std::move(*known);
  }
}

void ServerHealth::on_server_fault(const std::string& server, const std::string& what, Instant now) {
  quarantine(server, what, now);
}

void ServerHealth::on_end(const AttemptEnd& end, Instant now) {
  const bool is_good = end.failure == FailureKind::none || end.ran >= QuickFailures::quick;
  if (!is_good && end.is_asked) return;
  const QuickFailures::End seen = {end.server, end.user, text_of(end.command), end.job, now};
  if (is_good) {
    quick_failures_.add_good(seen);
    const Quarantine* before = find(end.server);
    if (before && (now - end.ran).us >= before->until_us) drop(end.server);  // it began after the quarantine
    return;
  }
  quick_failures_.add_failure(seen);
  const std::vector<JobId> against =
      quick_failures_.against(end.server, now, [&](const std::string& user, const std::string& command) {
        return runs_elsewhere(user, command, end.server, now);
      });
  if (against.size() < QuickFailures::limit || is_only_one_up(end.server)) return;
  quarantine(
      end.server,
      fmt::format("jobs {} failed within {:.0f} s of their start", list(against), QuickFailures::quick.to_seconds()),
      now);
}

void ServerHealth::quarantine(const std::string& server, const std::string& reason, Instant now) {
  const Quarantine* before = find(server);
  if (before && !before->is_over(now)) return;
  const int times = before ? before->times + 1 : 1;
  const Instant until = now + wait_after(times);
  quarantines_[server] = {reason, now.us, until.us, times};
  ends_[server] = until;
  write(server);
  engine_.feed(ServerQuarantined{server}, now);
  write_event("server.quarantined", server, quarantine_text(quarantines_[server], now), now);
}

void ServerHealth::on_joined(const std::string& server, Instant now) {
  const Quarantine* known = find(server);
  if (known && !known->is_over(now)) engine_.feed(ServerQuarantined{server}, now);
}

void ServerHealth::end_quarantines(Instant now) {
  for (auto at = ends_.begin(); at != ends_.end();) {
    if (now < at->second) {
      ++at;
      continue;
    }
    const std::string server = at->first;
    at = ends_.erase(at);
    quick_failures_.pardon(server, now);
    engine_.feed(ServerQuarantined{server, false}, now);
    write_event("server.on_trial", server, quarantine_text(quarantines_[server], now), now);
  }
}

Instant ServerHealth::next_end() const {
  Instant next = Instant::never();
  for (const auto& [server, end] : ends_) next = std::min(next, end);
  return next;
}

Status ServerHealth::release(const std::string& server, const std::string& by, Instant now) {
  const Quarantine* known = find(server);
  if (!known) return conflict("server-not-quarantined", "server " + server + " is not quarantined");
  quick_failures_.pardon(server, now);
  engine_.feed(ServerQuarantined{server, false}, now);
  write_event("server.released", server, "it was " + quarantine_text(*known, now), now, by);
  drop(server);
  return {};
}

void ServerHealth::forget(const std::string& server) {
  quick_failures_.forget(server);
  if (find(server)) drop(server);
}

const Quarantine* ServerHealth::find(const std::string& server) const {
  const auto at = quarantines_.find(server);
  return at == quarantines_.end() ? nullptr : &at->second;
}

void ServerHealth::drop(const std::string& server) {
  quarantines_.erase(server);
  ends_.erase(server);
  write(server);
}

void ServerHealth::write(const std::string& server) {
  const Quarantine* known = find(server);
  recorder_.write(store::SettingRow{std::string(setting_prefix) + server, known ? wire::write_json(*known) : ""});
}

void ServerHealth::write_event(const char* kind, const std::string& server, const std::string& text, Instant now,
                               const std::string& user) {
  recorder_.write_event({.at_us = now.us,
                         .kind = kind,
                         .server = server,
                         .actor_type = user.empty() ? "" : "user",
                         .actor_name = user,
                         .text = text});
}

bool ServerHealth::is_only_one_up(const std::string& server) const {
  return std::none_of(core_.servers().begin(), core_.servers().end(), [&](const Server& other) {
    return other.state == ServerState::up && other.description.name != server;
  });
}

// Compares the text of the submissions: exact, and cheap with thousands of running jobs.
bool ServerHealth::runs_elsewhere(const std::string& user, const std::string& command, const std::string& server,
                                  Instant now) const {
  const std::string written = "\"command\":" + command;
  const ServerIndex here = core_.find_server(server);
  return std::ranges::any_of(core_.all_active(), [&](JobIndex index) {
    const Job& job = core_.job(index);
    if (job.state != JobState::running || now - job.last_start < QuickFailures::quick) return false;
    const JobEntry* other = book_.find(job.request.id);
    return other && other->row.user == user && !job.allocation.is_on(here) &&
           other->row.spec_json.find(written) != std::string::npos;
  });
}

std::string quarantine_text(const Quarantine& quarantine, Instant now) {
  if (quarantine.is_over(now))
    return fmt::format("on trial since {}: {}", time_of_day(quarantine.until_us), quarantine.reason);
  return fmt::format("quarantined until {}: {}", time_of_day(quarantine.until_us), quarantine.reason);
}

}  // namespace sl::controller
