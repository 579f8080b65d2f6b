#include "controller/explain.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "controller/estimate_views.h"
#include "controller/explain_group.h"
#include "controller/views.h"
#include "policy/placer.h"
#include "policy/satisfiable.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

// When a policy decided the job's place. After a restart of the controller: when it last started.
Instant placed_at(const Job& job) {
  if (job.placed.happened()) return job.placed;
  return job.last_start.happened() ? job.last_start : job.state_since;
}

// The policy at that time; null if it is no longer known.
const store::PolicyRow* policy_at(const Logic& logic, Instant at) {
  const auto& history = logic.policies().history();
  const auto later =
      std::find_if(history.begin(), history.end(), [&](const store::PolicyRow& row) { return row.since_us > at.us; });
  return later == history.begin() ? nullptr : &*std::prev(later);
}

// The rule by which the policy placed the job.
std::string placement_text(const Logic& logic, const Job& job) {
  if (job.migrations + job.resizes > 0) return "";  // where it was moved may be its user's choice
  if (!job.request.needs_gpus()) return ", of those with room for it the server with the fewest free GPUs";
  const store::PolicyRow* policy = policy_at(logic, placed_at(job));
  if (!policy) return "";
  if (!policy->source.empty()) return fmt::format(", where {} put it", policy->name);
  const PolicyEntry* entry = find_policy(policy->name);
  if (!entry) return "";
  const char* or_else = entry->info.preemptive ? ", or where jobs that rank lower made room" : "";
  // What follows a semicolon concerns jobs that share their GPUs.
  const std::string_view rule = entry->info.placement;
  const bool is_usual = rule.substr(0, rule.find(';')) == PolicyInfo().placement;
  const bool is_apart = job.allocation.parts().size() > 1 && is_usual;
  const std::string_view placement = is_apart                ? "as few servers as had room for it"
                                     : job.request.shareable ? rule
                                                             : rule.substr(0, rule.find(';'));
  return fmt::format(", {}{} (policy {})", placement, or_else, policy->name);
}

bool is_own_policy(const Logic& logic) { return !logic.policies().in_force().source.empty(); }

std::string neighbours_text(const Core& core, const Job& job) {
  std::string text;
  for_each_tenancy(core.ledger().tenants(), job.allocation, [&](const Tenancy& tenancy) {
    for (const JobIndex tenant : tenancy.jobs.items()) {
      const std::string id = std::to_string(core.job(tenant).request.id.value);
      const bool is_new = text.find(" " + id + ",") == std::string::npos;
      if (&core.job(tenant) != &job && is_new) text += " " + id + ",";
    }
  });
  return text.empty() ? "" : "; it shares GPUs with job" + text.substr(0, text.size() - 1);
}

std::string summary_of_placed(const Logic& logic, const JobEntry& entry, const Job* job) {
  const store::JobRow& row = entry.row;
  if (!job)
    return fmt::format("job {} has ended: {}{}", row.id, row.state,
                       row.failure_message.empty() ? "" : " (" + row.failure_message + ")");
  if (job->allocation.empty()) return fmt::format("job {} is {}", row.id, row.state);
  const std::string servers = servers_of(logic.core(), job->allocation);
  if (const auto awaited = awaited_by(logic, entry, *job))
    return fmt::format("job {} is {} on {}: {}", row.id, row.state, servers, awaited->text);
  if (entry.gang && entry.gang->is_broken())
    return fmt::format("job {} is ending on {}: a part of it has ended", row.id, servers);
  return fmt::format("job {} is {} on {}{}{}", row.id, row.state, servers, placement_text(logic, *job),
                     neighbours_text(logic.core(), *job));
}

}  // namespace

std::string gpus_text(int count) { return fmt::format("{} GPU{}", count, count == 1 ? "" : "s"); }

namespace {

answers::Room room_view(const Core& core, ServerIndex server, const JobRequest& request) {
  const ResourceVector& free = core.ledger().free().resources(server);
  const double memory = free[Resource::memory], needed = request.demand[Resource::memory];
  const auto known = [](double amount) {
    return std::isfinite(amount) ? std::optional(std::max(0.0, amount)) : std::nullopt;
  };
  const auto bytes = [](double amount) { return static_cast<std::int64_t>(amount); };
  const std::optional<double> memory_free = known(memory);
  return {known(free[Resource::cpu]), request.demand[Resource::cpu],
          memory_free ? std::optional(bytes(*memory_free)) : std::nullopt, bytes(needed)};
}

answers::ServerVerdict server_verdict(const Logic& logic, const Server& server, ServerIndex index,
                                      const JobRequest& request, int needed, Instant now) {
  const Core& core = logic.core();
  const Quarantine* quarantine = logic.health().find(server.description.name);
  const bool is_quarantined = server.state == ServerState::quarantined && quarantine;
  const int free = core.ledger().free().count(index);
  const bool up = server.state == ServerState::up;
  const bool is_right = is_eligible(server, request);
  const bool has_gpus =
      up && is_right && free_for(core.ledger().free(), core.servers(), request, index).count() >= needed;
  const bool has_rest = !request.single_server() || core.ledger().free().fits(index, Demand(request).on(needed));
  const bool fits = has_gpus && has_rest;
  return {server.description.name,
          free,
          needed,
          request.needs_gpus() ? std::nullopt : std::optional(room_view(core, index, request)),
          fits,
          request.needs_gpus() ? frees_view(logic, index, now) : std::vector<answers::Frees>(),
          fits                                                 ? "has room"
          : has_gpus                                           ? "too few free CPUs or too little memory"
          : is_quarantined                                     ? quarantine_text(*quarantine, now)
          : !up                                                ? to_string(server.state)
          : !request.servers_chosen.allows(server.description) ? "the job may run " + request.servers_chosen.text()
          : free < needed                                      ? fmt::format("{} short", needed - free)
                                                               : "not what it asks for"};
}

answers::Kept reservation_view(const Core& core, const Reservation& reservation) {
  answers::Kept kept{core.job(reservation.job).request.id.value, {reservation.at.us}, {}};
  for (const ServerCount& part : reservation.on)
    kept.on.push_back({core.servers()[part.server].description.name, part.gpus});
  return kept;
}

// What is kept for this job and, if it waits behind others, for those.
std::vector<answers::Kept> reservations_view(const Core& core, JobIndex job, ReasonCode reason, Instant now) {
  std::vector<answers::Kept> views;
  for (const Reservation& kept : core.reservations(now)) {
    if (kept.job == job || reason == ReasonCode::behind_others) views.push_back(reservation_view(core, kept));
  }
  return views;
}

void explain_waiting(const Logic& logic, JobIndex index, Instant now, answers::Explanation& view) {
  const Core& core = logic.core();
  const Job& job = core.job(index);
  const std::int64_t id = job.request.id.value;
  const Line line(logic, now, SIZE_MAX);
  const std::size_t position = line.position(job.request.id);
  const bool own = job.request.needs_gpus() && is_own_policy(logic);
  const ReasonCode reason = core.explain(index);
  std::string text = reason_text(logic, job, reason, &line, now);
  if (const std::int64_t to_come = core.members_to_come(false); position > 1 && to_come > 0 && !job.group)
    text += fmt::format(" ({} member{} of arrays that stand{} in no line yet may come before it)", to_come,
                        to_come == 1 ? "" : "s", to_come == 1 ? "s" : "");
  const bool possible = !core.has_servers() || reason != ReasonCode::unsatisfiable;
  const bool held = job.on_hold || reason == ReasonCode::held;
  view.verdict = !possible                                          ? "cannot_run"
                 : held                                             ? "held"
                 : own                                              ? "policy_decides"
                 : position > 1 || reason == ReasonCode::dependency ? "will_run_after"
                                                                    : "will_run";
  const std::int64_t waiting = job.group ? job.group->to_come.count() + job.group->in(JobState::pending) : 0;
  view.summary = job.group
                     ? fmt::format("{} of the {} members of group {} wait: {}", waiting, job.group->size, id, text)
                     : fmt::format("job {} waits: {}", id, text);
  view.reasons = {{to_string(reason), text}};
  if (position > 0) view.position = position;
  view.ahead = line.ahead(job.request.id);
  view.queue_length = line.length(job);
  view.needs_gpus = job.request.needs_gpus();
  view.reservations = reservations_view(core, index, reason, now);
  if (reason == ReasonCode::dependency || reason == ReasonCode::not_before) return;  // whatever is free
  for_each_server(core, [&](const Server& server, ServerIndex at_server) {
    view.servers.push_back(server_verdict(logic, server, at_server, job.request, core.gpus_least(index), now));
  });
}

}  // namespace

const char* rejection_text(ReasonCode reason) {
  return reason == ReasonCode::quota           ? "its budget is used up"
         : reason == ReasonCode::unsatisfiable ? "what it asks for, its deadline included, can no longer be met"
                                               : "no reason given";
}

namespace {

// "gpu4 is quarantined until 10:23:11 UTC: …", of the first that is tried again.
std::string quarantined_text(const Logic& logic, Instant now) {
  const Quarantine* first = nullptr;
  std::string name;
  for_each_server(logic.core(), [&](const Server& server, ServerIndex) {
    const Quarantine* known = logic.health().find(server.description.name);
    if (server.state != ServerState::quarantined || !known || (first && first->until_us <= known->until_us)) return;
    first = known, name = server.description.name;
  });
  return first ? fmt::format("{} is {}", name, quarantine_text(*first, now)) : "they are quarantined";
}

// Policies that serve in the same order, the second one without letting a job wait for a wider one before it.
constexpr std::pair<std::string_view, std::string_view> lets_pass[] = {{"fifo", "fifo_first_fit"},
                                                                       {"round_robin", "fifo_first_fit"}};

// Whether its parameters, not its kind, keep jobs from passing the first one in line.
bool blocks_behind_head(const Logic& logic) {
  json::error_code error;
  const json::value given = json::parse(logic.policies().in_force().parameters_json, error);
  const json::value* head = error || !given.is_object() ? nullptr : given.get_object().if_contains("head");
  return head && *head == "block";
}

std::string servers_text(const JobRequest& request) {
  return request.single_server() ? "one server" : fmt::format("{} servers", request.servers_max);
}

// "2 free CPUs and 4.0 GiB of free memory"
std::string rest_text(const JobRequest& request) {
  const double cpus = request.demand[Resource::cpu], bytes = request.demand[Resource::memory];
  const std::string memory = bytes > 0 ? fmt::format(" and {:.1f} GiB of free memory", bytes / (1 << 30)) : "";
  return fmt::format("{:g} free CPU{}{}", cpus, cpus == 1 ? "" : "s", memory);
}

// `gpus`: as few as the policy would give it.
std::string needs_text(const JobRequest& request, int gpus) {
  if (gpus == 0) return "needs " + rest_text(request) + " on one server";
  return fmt::format("needs {} free GPU{}{}{}", gpus, gpus == 1 ? "" : "s", gpus == 1 ? "" : " on ",
                     gpus == 1                 ? ""
                     : request.single_server() ? servers_text(request)
                                               : "at most " + servers_text(request));
}

// Of a job for which there is room.
std::string passed_over_text(const Logic& logic, std::size_t position, JobId first) {
  const std::string& policy = logic.policies().in_force().name;
  const JobIndex head = logic.core().find(first);
  if (position == 1) return "first in line, the next decision will consider it";
  if (position == 0 || !head.valid())
    return "a server has room, but " + policy + " has not started it" +
           (is_own_policy(logic) ? "" : ": others may come before it");
  const auto* other = std::ranges::find(lets_pass, policy, [](const auto& pair) { return pair.first; });
  const std::string way_out = blocks_behind_head(logic)      ? ", with head=skip it would"
                              : other == std::end(lets_pass) ? ""
                                                             : fmt::format(", {} would", other->second);
  return fmt::format("behind job {}, which {}; {} does not let it pass{}", first.value,
                     needs_text(logic.core().job(head).request, logic.core().gpus_least(head)), policy, way_out);
}

// ": gpu3-1 by mei (python3, pid 4711, 4.0 GiB)", of the first few.
std::string outsiders_text(const Logic& logic) {
  constexpr std::size_t named_most = 3;
  std::vector<std::string> found;
  for (const auto& [server, agent] : logic.agents().all()) {
    for (const wire::GpuReport& gpu : agent.hello.gpus) {
      if (gpu.outside.empty()) continue;
      const wire::GpuProcess& first = gpu.outside.front();
      const std::string memory =
          first.memory_bytes ? fmt::format(", {:.1f} GiB", static_cast<double>(*first.memory_bytes) / (1 << 30)) : "";
      found.push_back(fmt::format("{}-{} by {} ({}, pid {}{})", server, gpu.index,
                                  first.user.empty() ? "nobody known" : first.user,
                                  first.program.empty() ? "ended" : first.program, first.pid, memory));
    }
  }
  const std::size_t shown = std::min(found.size(), named_most);
  std::string text = shown > 0 ? ": " : "";
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "; ") + found[i];
  return found.size() > shown ? fmt::format("{} and {} more", text, found.size() - shown) : text;
}

// "gpu3", "gpu3 or gpu4", "gpu3, gpu4 or one of 5 others"
std::string any_of(const Core& core, const std::vector<ServerIndex>& servers) {
  constexpr std::size_t named_most = 2;
  std::string text;
  for (std::size_t i = 0; i < std::min(servers.size(), named_most); ++i) {
    text += i == 0 ? "" : servers.size() <= named_most ? " or " : ", ";
    text += core.servers()[servers[i]].description.name;
  }
  return servers.size() <= named_most ? text : fmt::format("{} or one of {} others", text, servers.size() - named_most);
}

bool is_drained(ServerState state) { return state == ServerState::draining || state == ServerState::drained; }

// "gpu3 or gpu4 returns", "gpu3 is undrained or gpu4 returns": what would let one of them run jobs again.
std::string any_back(const Core& core, const std::vector<ServerIndex>& servers) {
  std::map<std::string_view, std::vector<ServerIndex>> by_event;
  for (const ServerIndex server : servers) {
    const ServerState state = core.servers()[server].state;
    by_event[is_drained(state)          ? "is undrained"
             : state == ServerState::up ? "has all its GPUs again"
                                        : "returns"]
        .push_back(server);
  }
  std::string text;
  for (const auto& [event, those] : by_event)
    text += fmt::format("{}{} {}", text.empty() ? "" : " or ", any_of(core, those), event);
  return text;
}

// " (jobs 3, 8)", those whose memory is in the way; empty: none is known.
std::string frozen_jobs_text(const Core& core) {
  std::string ids;
  int count = 0;
  for (const auto* jobs : {&core.waiting(), &core.aside()}) {  // one that a user has suspended stands aside
    for (const JobIndex index : *jobs) {
      const Job& job = core.job(index);
      if (is_frozen(job) && memory_if_frozen(job) > 0)
        ids += fmt::format("{}{}", count++ > 0 ? ", " : "", job.request.id.value);
    }
  }
  return count == 0 ? "" : fmt::format(" (job{} {})", count == 1 ? "" : "s", ids);
}

// Of a job that no server can run now; one that is not here could.
std::string away_text(const Logic& logic, const Job& job, int gpus) {
  const Core& core = logic.core();
  if (logic.is_stopping()) return "until schedulearn is started again: it is being stopped";
  if (is_frozen(job))
    return fmt::format("until {}: it was frozen there and cannot continue elsewhere",
                       any_back(core, {job.last_server}));
  const auto awaited = awaited_servers(core.servers(), job.request, gpus);
  const Verdict now = could_run_now(core.servers(), job.request, gpus);
  const bool any_up =
      std::ranges::any_of(core.servers(), [](const Server& server) { return server.state == ServerState::up; });
  const std::string lack = any_up ? lack_text(now) + " (of those that are up)" : "no server is up";
  if (now.lack == Lack::containers && awaited.empty())
    return "until a container engine answers again on a server that it may run on: none does now";
  const bool all_drained = std::ranges::all_of(
      core.servers(), [](const Server& server) { return server.state == ServerState::up || is_drained(server.state); });
  const char* const several = all_drained ? "several servers are undrained" : "several servers return";
  return fmt::format("until {}: {}", awaited.empty() ? several : any_back(core, awaited), lack);
}

// Of a job that no server of the cluster can run on as many GPUs as the policy gives it.
std::string never_text(const Logic& logic, const Job& job, int gpus) {
  const ServerTable& servers = logic.core().servers();
  const std::string never = "no server can ever hold it: " + lack_text(could_ever_run(servers, job.request, gpus));
  const int least = job.request.gpus_min;
  if (gpus <= least || !is_satisfiable(servers, job.request, least)) return never;
  return fmt::format("{}; {} gives it {} GPUs, an elastic policy could run it on {}", never,
                     logic.policies().in_force().name, gpus, least);
}

std::string place_text(std::size_t position, JobId first) {
  return position == 0   ? ""
         : position == 1 ? "first in line, "
                         : fmt::format("number {} in line behind job {}, ", position, first.value);
}

// "jobs 5 (running) and 7 (pending)", of the first few.
std::string jobs_text(const Core& core, const std::vector<JobId>& jobs) {
  constexpr std::size_t named_most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(jobs.size(), named_most); ++i) {
    const bool is_last = i + 1 == jobs.size();
    text += fmt::format("{}{} ({})",
                        i == 0    ? ""
                        : is_last ? " and "
                                  : ", ",
                        jobs[i].value,
                        to_string(core.find(jobs[i]).valid() ? core.job(core.find(jobs[i])).state : JobState::pending));
  }
  const std::string more = jobs.size() > named_most ? fmt::format(" and {} more", jobs.size() - named_most) : "";
  return (jobs.size() == 1 ? "job " : "jobs ") + text + more;
}

// "it starts when job 5 (running) has succeeded".
std::string dependency_text(const Core& core, const Prerequisites& prerequisites) {
  std::string text;
  for (const auto& [jobs, what] : {std::pair{&prerequisites.after, "succeeded"}, {&prerequisites.after_any, "ended"}}) {
    std::vector<JobId> open;
    for (const JobId job : *jobs) {
      const JobIndex index = core.find(job);
      const bool is_open =
          index.valid() ? !is_finished(core.job(index).state) : core.group_of_member_to_come(job).valid();
      if (is_open) open.push_back(job);
    }
    if (open.empty()) continue;
    text += fmt::format("{}{} {} {}", text.empty() ? "it starts when " : ", and ", jobs_text(core, open),
                        open.size() == 1 ? "has" : "have", what);
  }
  return text;
}

std::string not_before_text(const JobRequest& request) {
  return fmt::format("it starts at {:%Y-%m-%d %H:%M:%S} UTC or later",
                     fmt::gmtime(static_cast<std::time_t>(request.prerequisites->not_before.us / 1'000'000)));
}

// Whose reason a group's is: its first member that waits, if one has come up; else its own.
const Job& spokesman(const Core& core, const Job& job) {
  const JobId member = job.group ? core.waiting_member(job) : JobId::none();
  return member.valid() ? core.job(core.find(member)) : job;
}

}  // namespace

std::string to_come_text(const Logic& logic, JobId member, const Line& line, Instant now) {
  const Job& group = logic.core().job(logic.core().group_of_member_to_come(member));
  const ReasonCode reason = logic.core().explain(logic.core().find(group.request.id));
  const std::string why = reason == ReasonCode::none ? "" : ": " + reason_text(logic, group, reason, &line, now);
  return fmt::format("comes up after the members of group {} before it{}", group.request.id.value, why);
}

const std::vector<JobId>& Line::order() const {
  if (order_) return *order_;
  order_.emplace();
  const Core& core = logic_.core();
  if (core.waiting().size() + core.aside().size() > most_) return *order_;
  add(core.line_without_gpus(now_), order_without_gpus_);
  if (!is_own_policy(logic_)) add(core.queue_order(now_), *order_);
  return *order_;
}

void Line::add(const std::vector<JobIndex>& jobs, std::vector<JobId>& order) const {
  std::int64_t gpus = 0;
  for (const JobIndex job : jobs) {
    const JobRequest& request = logic_.core().job(job).request;
    order.push_back(request.id);
    for (const JobId id : {request.id, request.member_of})
      if (id.valid()) ++places_.try_emplace(id.value, Place{order.size(), gpus}).first->second.count;
    gpus += logic_.core().gpus_least(job);
  }
}

std::size_t Line::length(const Job& job) const {
  order();
  if (job.request.needs_gpus()) return logic_.core().waiting().size();
  return order_without_gpus_.empty() ? logic_.core().aside_without_gpus() : order_without_gpus_.size();
}

JobId Line::first(const Job& job) const {
  order();
  const std::vector<JobId>& of = job.request.needs_gpus() ? *order_ : order_without_gpus_;
  return of.empty() ? JobId::none() : of.front();
}

const Line::Place* Line::find(JobId job) const {
  order();
  const auto at = places_.find(job.value);
  return at == places_.end() ? nullptr : &at->second;
}

std::size_t Line::position(JobId job) const {
  const Place* place = find(job);
  return place ? place->position : 0;
}

std::size_t Line::count(JobId group) const {
  const Place* place = find(group);
  return place ? place->count : 0;
}

std::optional<answers::Ahead> Line::ahead(JobId job) const {
  const Place* place = find(job);
  return place ? std::optional(answers::Ahead{place->position - 1, place->gpus_ahead}) : std::nullopt;
}

// Of a job that is tried again by itself later.
std::string backoff_text(const Logic& logic, const Job& job, Instant now) {
  const JobId id = job.request.id;
  const Instant until = logic.requeues().until(id);
  const std::string then = until.is_never() ? "soon" : "at " + clock_text(until.us, now.us);
  if (logic.requeues().quick_ends(id) == 0) {
    std::string failed = job.failures == 1 ? "once" : fmt::format("{} times", job.failures);
    const JobEntry* entry = logic.book().find(id);
    if (entry && !entry->last_failure.empty()) failed += " (" + entry->last_failure + ")";
    return fmt::format("has failed {} and is tried again {} ([retry] backoff)", failed, then);
  }
  return fmt::format(
      "asked to be started again (exit code 75), or was lost by its server, soon after its start, "
      "{} of at most {} times in a row; it is started again {}",
      logic.requeues().quick_ends(id), Requeues::quick_max, then);
}

std::string reason_text(const Logic& logic, const Job& asked, ReasonCode reason, const Line* in, Instant now) {
  const Job& job = spokesman(logic.core(), asked);
  const int gpus = logic.core().gpus_least(logic.core().find(job.request.id));
  const std::string needs = needs_text(job.request, gpus);
  const std::size_t position = in ? in->position(job.request.id) : 0;
  const JobId first = in ? in->first(job) : JobId::none();
  const std::string line = place_text(position, first);
  if (is_frozen(job) && !logic.core().ledger().all_free(*job.frozen_on) && reason != ReasonCode::held)
    return logic.core().servers()[job.last_server].state != ServerState::up
               ? line + away_text(logic, job, gpus)
               : line + "it was frozen, and goes on when the GPUs that it had are free again";
  if (is_frozen(job) && !job.request.needs_gpus() && reason == ReasonCode::cpu_or_memory)
    return needs + ", where it was frozen";
  switch (reason) {
    case ReasonCode::retry_backoff:
      return backoff_text(logic, job, now);
    case ReasonCode::held:
      return is_frozen(job) ? "suspended by its user, where it ran" : "held by its user";
    case ReasonCode::server_down:
      return !logic.core().has_servers() ? "no server has joined yet" : "no server is up";
    case ReasonCode::quarantined:
      return "no server takes jobs; " + quarantined_text(logic, now);
    case ReasonCode::behind_others:
      if (!job.request.needs_gpus()) return line + needs + "; jobs that come before it are to have what is free";
      return passed_over_text(logic, position, first);
    case ReasonCode::fragmented:
      return line + needs + "; enough are free, but not on " + servers_text(job.request);
    case ReasonCode::gpu_type:
      return line + "no server that is up has the GPU type it asks for";
    case ReasonCode::gpu_memory:
      return line + "no server that is up has GPUs with the memory it asks for";
    case ReasonCode::cpu_or_memory:
      if (!job.request.needs_gpus()) return line + needs;
      return line + "a server has the GPUs, but not the CPUs or memory it asks for";
    case ReasonCode::frozen_memory:
      return line + needs + "; enough are free, but frozen jobs hold too much of their memory" +
             frozen_jobs_text(logic.core());
    case ReasonCode::used_outside:
      return line + "the free GPUs are used by processes that were not started here" + outsiders_text(logic);
    case ReasonCode::gang_incomplete:
      return line + "only some of its members have GPUs, and none starts before all have";
    case ReasonCode::draining:
    case ReasonCode::server_away:
      return away_text(logic, job, gpus);
    case ReasonCode::unsatisfiable:
      return never_text(logic, job, gpus);
    case ReasonCode::quota:
      return rejection_text(reason);
    case ReasonCode::dependency:
      return dependency_text(logic.core(), *job.request.prerequisites);
    case ReasonCode::not_before:
      return not_before_text(job.request);
    case ReasonCode::max_running:
      return asked.group ? max_running_text(*asked.group)
                         : fmt::format("the members of group {} before it are as many as may run at once (max_running)",
                                       asked.request.member_of.value);
    case ReasonCode::none:
    case ReasonCode::no_free_gpus:
      return line + needs;
  }
  return line + needs;
}

answers::Explanation explain_view(const Logic& logic, const JobEntry& entry, Instant now) {
  const JobIndex index = logic.core().find(JobId(entry.row.id));
  const Job* job = index.valid() ? &logic.core().job(index) : nullptr;
  answers::Explanation view;
  view.verdict = "running_here_because";
  view.policy = logic.policies().in_force().name;
  view.evaluated_at = {now.us};
  if (job) view.estimate = estimate_view(logic, index, now, true);
  const std::string standing = job && !is_finished(job->state) ? logic.core().standing(index, now) : "";
  if (!standing.empty()) view.standing = standing;
  const bool waits = job && (job->is_queued() || job->state == JobState::held);
  const auto busy = waits && job->group ? busy_group_text(logic.core(), *job) : std::nullopt;
  if (busy) {
    view.summary = *busy;
  } else if (waits) {
    explain_waiting(logic, index, now, view);
  } else if (!job && logic.core().group_of_member_to_come(JobId(entry.row.id)).valid()) {
    const std::string text = to_come_text(logic, JobId(entry.row.id), Line(logic, now, SIZE_MAX), now);
    view.verdict = "will_run_after";
    view.summary = fmt::format("job {} {}", entry.row.id, text);
    view.reasons = {{"group", text}};
  } else {
    view.summary = summary_of_placed(logic, entry, job);
  }
  return view;
}

}  // namespace sl::controller
