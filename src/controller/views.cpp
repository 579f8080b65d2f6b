#include "controller/views.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <numeric>
#include <sstream>

#include "controller/estimate_views.h"
#include "controller/explain.h"
#include "controller/policy_views.h"
#include "wire/job_spec_text.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

namespace json = boost::json;
using wire::Time;

std::optional<Time> time_view(const std::optional<std::int64_t>& us) {
  return us ? std::optional(Time{*us}) : std::nullopt;
}

// Nothing if it is empty.
std::optional<std::string> text_view(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

json::value parsed(const std::string& text) {
  json::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value(nullptr) : value;
}

std::vector<std::string> gpu_names(const std::string& server, const std::string& gpus) {
  std::vector<std::string> names;
  parse_gpu_list(gpus).for_each([&](int gpu) { names.push_back(fmt::format("{}-{}", server, gpu)); });
  return names;
}

answers::Place place_view(const JobEntry& entry, const std::string& server, const std::string& gpus, int rank) {
  answers::Place place{server, gpu_names(server, gpus), rank, {}, {}, {}};
  if (const std::int64_t pid = rank == 0 ? entry.pid : 0) place.pid = pid;
  if (const store::PlacementRow* placement = entry.image.empty() ? nullptr : latest_placement(entry)) {
    place.image = entry.image;
    place.container_id = wire::container_name(incarnation_of(*placement), rank);
  }
  return place;
}

std::vector<answers::Place> placement_view(const JobEntry& entry) {
  const store::JobRow& row = entry.row;
  if (row.server.empty()) return {};
  if (entry.placements.empty() || latest_placements(entry).size() == 1)
    return {place_view(entry, row.server, row.gpus, 0)};
  std::vector<answers::Place> places;
  for (const store::PlacementRow& part : latest_placements(entry))
    places.push_back(place_view(entry, part.server, part.gpus, part.rank));
  return places;
}

// One run of the job on one server.
answers::Attempt attempt_view(const store::PlacementRow& row) {
  answers::Attempt attempt{row.attempt, row.server, row.rank, gpu_names(row.server, row.gpus), {}, {}, {}};
  std::istringstream list(row.gpu_uuids);
  for (std::string uuid; std::getline(list, uuid, ',');) attempt.gpu_uuids.push_back(uuid);
  if (row.incarnation) attempt.began_at = Time{row.incarnation};
  attempt.ended_at = time_view(row.ended_us);
  return attempt;
}

// `run_s`: how long it has run in all.
std::optional<answers::Progress> progress_view(const store::JobRow& row, double run_s) {
  const json::value value = row.progress_json.empty() ? json::value() : parsed(row.progress_json);
  if (!value.is_object()) return std::nullopt;
  const auto number = [&](const char* key) {
    const json::value* found = value.get_object().if_contains(key);
    return found && found->is_number() ? std::optional(found->to_number<double>()) : std::nullopt;
  };
  answers::Progress progress;
  progress.done = number("done"), progress.total = number("total");
  if (const json::value* unit = value.get_object().if_contains("unit"); unit && unit->is_string())
    progress.unit = unit->get_string();
  progress.epoch = number("epoch"), progress.epochs = number("epochs");
  progress.step = number("step"), progress.steps = number("steps");
  progress.loss = number("loss"), progress.accuracy = number("accuracy");
  if (const json::value* found = value.get_object().if_contains("loss_is_not_finite"); found && found->is_bool())
    progress.loss_is_not_finite = found->get_bool();
  if (progress.done && run_s > 0) progress.rate_per_s = *progress.done / run_s;
  if (const auto updated = number("updated_us")) progress.updated_at = Time{static_cast<std::int64_t>(*updated)};
  return progress;
}

std::optional<answers::Failure> failure_view(const store::JobRow& row) {
  if (row.failure_kind.empty()) return std::nullopt;
  return answers::Failure{row.failure_kind, row.failure_message, row.exit_code, row.signal, {}, {}, {}};
}

// Why a job was cancelled, if its user gave a reason or it was not a user's wish.
std::optional<answers::Reason> reason_of_end(const store::JobRow& row) {
  if (row.state != to_string(JobState::cancelled) || row.failure_message.empty()) return std::nullopt;
  return answers::Reason{"stopped", row.failure_message};
}

// How a group's members are; nothing for a job that is no group.
std::optional<answers::Members> members_view(const store::JobRow& row) {
  if (!is_group(row)) return std::nullopt;
  Group group;
  if (!read_members_text(row.extra_json, group)) return std::nullopt;
  using enum JobState;
  answers::Members members;
  members.total = std::accumulate(group.by_state.begin(), group.by_state.end(), group.to_come.count());
  members.waiting = group.to_come.count() + group.in(pending) + group.in(held);
  members.running = group.unfinished() - group.in(pending)-group.in(held);
  members.succeeded = group.in(succeeded);
  members.failed = group.in(failed);
  members.cancelled = group.in(cancelled);
  members.to_come = group.to_come.text();
  return members;
}

std::optional<answers::Exit> exit_view(const store::JobRow& row) {
  if (!row.finished_us || (!row.exit_code && !row.signal)) return std::nullopt;
  return answers::Exit{row.exit_code, row.signal};
}

}  // namespace

std::string rfc3339(std::int64_t us) { return wire::time_text(us); }

std::string clock_text(std::int64_t us, std::int64_t beside_us) {
  constexpr std::int64_t day_us = 86'400'000'000;
  const bool same_day = us / day_us == beside_us / day_us;
  const auto time = fmt::gmtime(static_cast<std::time_t>(us / 1'000'000));
  return same_day ? fmt::format("{:%H:%M:%S} UTC", time) : fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", time);
}

namespace {

// Everything but the specification, whose place is kept. `core`: null for a job that has ended.
answers::Job job_frame(const Core* core, const JobEntry& entry, Instant now) {
  const store::JobRow& row = entry.row;
  const JobIndex index = core ? core->find(JobId(row.id)) : JobIndex();
  const Job* live = index.valid() ? &core->job(index) : nullptr;
  const std::int64_t waited_until = row.first_start_us.value_or(row.finished_us.value_or(now.us));
  const auto seconds = [](std::int64_t us) { return static_cast<double>(us) / 1e6; };
  answers::Job job;
  job.id = row.id;
  job.name = row.name;
  job.user = row.user;
  job.state = row.state;
  job.state_since = {row.state_since_us};
  job.reason = reason_of_end(row);
  if (row.group_id > 0) job.group_id = row.group_id, job.index = row.member_index;
  job.members = members_view(row);
  job.priority = row.priority;
  job.placement = placement_view(entry);
  job.created_at = {row.submitted_us};
  job.started_at = time_view(row.first_start_us);
  job.finished_at = time_view(row.finished_us);
  job.wait_s = seconds(waited_until - row.submitted_us);
  job.run_s = live ? live->run_at(now).to_seconds() : seconds(row.run_us);
  job.gpu_seconds = seconds(live ? live->attained_at(now) : row.attained_gpu_us);
  job.attempt = row.attempt;
  job.migrations = row.migrations;
  job.preemptions = row.preemptions;
  job.resizes = row.resizes;
  job.progress = progress_view(row, job.run_s);
  job.exit = exit_view(row);
  job.failure = failure_view(row);
  return job;
}

answers::Job live_frame(const Logic& logic, const JobEntry& entry, Instant now, const Line* line) {
  answers::Job job = job_frame(&logic.core(), entry, now);
  const JobIndex index = logic.core().find(JobId(entry.row.id));
  const Job* live = index.valid() ? &logic.core().job(index) : nullptr;
  const bool waits = live && (live->is_queued() || live->state == JobState::held);
  const ReasonCode reason = waits ? logic.core().explain(index) : ReasonCode::none;
  if (waits && !(live->group && reason == ReasonCode::none))
    job.reason = {to_string(reason), reason_text(logic, *live, reason, line, now)};
  if (!live && logic.core().group_of_member_to_come(JobId(entry.row.id)).valid())
    job.reason = {"group", to_come_text(logic, JobId(entry.row.id), Line(logic, now), now)};
  if (live) {
    if (auto awaited = awaited_by(logic, entry, *live)) job.reason = std::move(awaited);
    job.estimate = estimate_view(logic, index, now);
  }
  if (const Checkpoints::Transfer* transfer = logic.checkpoints().find(entry))
    job.checkpoint_copy = {transfer->from, transfer->bytes_done, transfer->bytes, transfer->through_controller};
  return job;
}

template <typename JobView>
JobView with_spec(JobView job, const JobEntry& entry, bool may_see_env) {
  json::value spec = wire::full_spec(entry.row.spec_json);
  if (json::object* keys = spec.if_object()) {
    for (const auto& [name, value] : (*keys)["labels"].get_object()) job.labels[name] = value.get_string();
    if (const json::value& deadline = (*keys)["deadline_s"]; deadline.is_number())
      job.deadline_at = {entry.row.submitted_us + static_cast<std::int64_t>(deadline.to_number<double>() * 1e6)};
    if (!may_see_env) (*keys)["env"] = nullptr;
    // Whoever knows the digests could submit a job with them, and read.
    if (json::object* snapshot = (*keys)["snapshot"].if_object(); snapshot && !may_see_env)
      (*snapshot)["id"] = "", (*snapshot)["diff"] = "";
    job.snapshot = (*keys)["snapshot"];
  }
  job.spec.value = std::move(spec);
  return job;
}

}  // namespace

json::object answers::Spec::schema() {
  json::object schema = wire::schema_of<wire::JobSpec>(wire::KeysOf::partial);
  json::value& env = schema["properties"].get_object()["env"];
  env = wire::detail::or_null(std::move(env.get_object()));
  return schema;
}

answers::Job job_view(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env, const Line* line) {
  return with_spec(live_frame(logic, entry, now, line), entry, may_see_env);
}

namespace {

std::string fields_text(answers::Job job, const JobEntry& entry, bool may_see_env, const JobFields& fields) {
  if (fields.need_spec()) job = with_spec(std::move(job), entry, may_see_env);
  return wire::json_text(fields.of(std::move(wire::to_value(job).get_object())));
}

}  // namespace

std::string job_text(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env, const Line* line,
                     const JobFields& fields) {
  return fields_text(live_frame(logic, entry, now, line), entry, may_see_env, fields);
}

std::string queued_job_text(const Logic& logic, const JobEntry& entry, JobId first, Instant now, bool may_see_env,
                            const Line& line) {
  // Its place in line is told by fields of their own, not again by the reason.
  answers::QueuedJob job{live_frame(logic, entry, now, nullptr), {}, 1, line.ahead(JobId(entry.row.id))};
  if (const std::size_t position = line.position(JobId(entry.row.id)); position > 0) job.position = position;
  if (is_group(entry.row)) {
    job.in_line = std::max<std::size_t>(1, line.count(JobId(entry.row.id)));
    job.estimate = estimate_view(logic, logic.core().find(first), now);
  }
  return wire::json_text(wire::to_value(with_spec(std::move(job), entry, may_see_env)));
}

std::string past_job_text(const JobEntry& entry, bool may_see_env, const JobFields& fields) {
  return fields_text(job_frame(nullptr, entry, {}), entry, may_see_env, fields);
}

answers::JobDetails job_details_view(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env) {
  const Line line(logic, now);
  answers::JobDetails job{job_view(logic, entry, now, may_see_env, &line), {}, {}};
  for (const store::PlacementRow& placement : entry.placements) job.attempts.push_back(attempt_view(placement));
  if (!entry.row.telemetry_json.empty()) job.telemetry = {parsed(entry.row.telemetry_json)};
  return job;
}

const char* condition_of(const Logic& logic, const Server& server, ServerIndex index, int gpu) {
  if (!logic.core().ledger().tenants()[index][static_cast<std::size_t>(gpu)].jobs.items().empty()) return "allocated";
  if (server.unavailable.has(gpu) || server.state == ServerState::down) return "unavailable";
  if (server.outside.has(gpu)) return "outside";
  return server.state == ServerState::quarantined ? "quarantined" : "free";
}

answers::Gpu gpu_view(const Logic& logic, const Server& server, ServerIndex index, int gpu) {
  const Agent* agent = logic.agents().by_server(server.description.name);
  answers::Gpu view;
  view.identifier = fmt::format("{}-{}", server.description.name, gpu);
  view.server = server.description.name;
  view.index = gpu;
  view.simulated = server.description.simulated;
  for (const JobIndex tenant : logic.core().ledger().tenants()[index][static_cast<std::size_t>(gpu)].jobs.items())
    view.job_ids.push_back(logic.core().job(tenant).request.id.value);
  std::ranges::sort(view.job_ids);
  if (!view.job_ids.empty()) view.job_id = view.job_ids.front();
  if (const JobEntry* entry = view.job_id ? logic.book().find(JobId(*view.job_id)) : nullptr)
    view.user = entry->row.user;
  view.condition = condition_of(logic, server, index, gpu);
  if (!agent) return view;
  if (agent->last_contact.happened()) view.sampled_at = Time{agent->last_contact.us};
  for (const wire::GpuReport& report : agent->hello.gpus) {
    if (report.index != gpu) continue;
    view.uuid = report.uuid;
    const bool has_device = report.device_number && std::ranges::count(agent->hello.enforces, "devices") > 0;
    if (!view.simulated) view.isolation = has_device ? "device_cgroup" : "visible_devices";
    view.name = report.name;
    view.utilization_pct = report.utilization_pct;
    view.memory_used_bytes = report.memory_used_bytes;
    view.memory_total_bytes = report.memory_total_bytes;
    view.temperature_celsius = report.temperature_celsius;
    view.power_watts = report.power_watts;
    view.processes = report.outside;
  }
  return view;
}

namespace {

// Why it is not simply up; nothing when it is.
std::optional<std::string> state_reason(const Logic& logic, const Server& server, Instant now) {
  const ServerIndex index = logic.core().find_server(server.description.name);
  if (const Drain* drain = logic.drains().find(server.description.name))
    return drain_text(logic.core(), server, index, *drain);
  if (server.state == ServerState::down) {
    const Agent* agent = logic.agents().by_server(server.description.name);
    constexpr Duration calls_again_within = Duration::whole_seconds(60);
    return agent && !agent->refused.empty() && now < agent->refused_at + calls_again_within
               ? "its agent may not join: " + agent->refused
               : "its agent is not connected";
  }
  const Quarantine* quarantine = logic.health().find(server.description.name);
  return quarantine ? std::optional(quarantine_text(*quarantine, now)) : std::nullopt;
}

void show_agent(const Agent& agent, answers::Server& view) {
  view.cpus = agent.hello.cpus;
  view.memory_total_bytes = agent.hello.memory_total_bytes;
  view.memory_used_bytes = agent.memory_used_bytes;
  view.job_files_bytes = agent.job_files_bytes;
  view.disk_free_bytes = agent.disk_free_bytes;
  view.cpu_utilization_pct = agent.cpu_utilization_pct;
  view.agent_version = agent.hello.agent_version;
  view.driver_version = text_view(agent.hello.driver_version);
  view.container_engine = text_view(agent.hello.container_engine);
  view.labels = agent.hello.labels;
  view.enforces = agent.hello.enforces;
  view.cannot_enforce = text_view(agent.hello.cannot_enforce);
  if (view.container_engine) view.runtimes.push_back("container");
  if (agent.last_contact.happened()) view.last_contact_at = Time{agent.last_contact.us};
  view.keep = agent.hello.keep;
}

}  // namespace

answers::Server server_view(const Logic& logic, const Server& server, ServerIndex index, Instant now) {
  answers::Server view;
  view.name = server.description.name;
  view.state = to_string(server.state);
  view.state_reason = state_reason(logic, server, now);
  if (const Quarantine* quarantine = logic.health().find(view.name))
    view.quarantine = {quarantine->reason, {quarantine->since_us}, {quarantine->until_us}, quarantine->times};
  view.simulated = server.description.simulated;
  view.runtimes = {"process"};
  if (const Agent* agent = logic.agents().by_server(view.name)) show_agent(*agent, view);
  for (int gpu = 0; gpu < server.description.gpus; ++gpu) view.gpus.push_back(gpu_view(logic, server, index, gpu));
  return view;
}

std::int64_t count_jobs(const Logic& logic, JobState state) {
  const std::int64_t jobs = logic.book().count(state) - logic.book().groups(state);
  const bool is_held = state == JobState::held;
  if (!is_held && state != JobState::pending) return jobs;
  const std::int64_t held_up = logic.core().members_held_up();
  return jobs + logic.core().members_to_come(is_held) + (is_held ? held_up : -held_up);
}

answers::Cluster cluster_view(const Logic& logic, Instant now) {
  const Core& core = logic.core();
  answers::Cluster view;
  for_each_server(core, [&](const Server& server, ServerIndex) {
    view.gpus.total += server.description.gpus;
    view.servers_up += server.state == ServerState::up;
  });
  view.gpus.allocated = core.ledger().gpus_in_use();
  view.gpus.free = core.ledger().free().total();
  for (int s = 0; s <= static_cast<int>(JobState::cancelled); ++s)
    view.jobs[to_string(static_cast<JobState>(s))] = count_jobs(logic, static_cast<JobState>(s));
  view.version = logic.settings().version;
  view.cluster_id = logic.incarnations().cluster();
  view.started_at = {logic.started().us};
  view.now = {now.us};
  view.policy = logic.policies().in_force().name;
  view.acting = acting_policy(logic.policies());
  view.planned = planned_policy_view(logic.policies());
  const auto milliseconds = [](Duration time) { return static_cast<double>(time.us) * 1e-3; };
  const TurnTimes& times = logic.turn_times();
  view.decisions = {times.count(), milliseconds(times.quantile(0.5)), milliseconds(times.quantile(0.99)),
                    milliseconds(times.max())};
  const JobTotals& totals = logic.recorder().totals();
  view.since_start = {totals.preemptions, totals.migrations, totals.resizes, totals.deadlines_met,
                      totals.deadlines_missed};
  return view;
}

answers::Event event_view(const store::EventRow& row) {
  return {row.seq,
          {row.at_us},
          row.kind,
          row.job_id,
          text_view(row.server),
          {row.actor_type, row.actor_name},
          text_view(row.from),
          text_view(row.to),
          row.text,
          row.data_json.empty() ? json::value(nullptr) : parsed(row.data_json)};
}

namespace {

const char* original_status(std::string_view state) {
  return state == "pending" || state == "held"       ? "Pending"
         : state == "starting" || state == "running" ? "Running"
         : state == "succeeded"                      ? "Completed"
         : state == "failed" || state == "cancelled" ? "Error"
         : state == "migrating"                      ? "Migrating"
         : state == "resizing"                       ? "ScalingOut"
                                                     : "Suspended";
}

}  // namespace

answers::OriginalJob original_job_view(const JobEntry& entry) {
  const store::JobRow& row = entry.row;
  answers::OriginalJob job;
  job.id = row.id;
  job.name = row.name;
  if (const auto spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore); spec.ok()) {
    job.type = spec->framework;
    job.container_image = spec->image;
    job.command = spec->command;
    job.required_gpus = spec->gpus.max;
  }
  if (!entry.image.empty() && latest_placement(entry))
    job.container_name = wire::container_name(incarnation_of(*latest_placement(entry)), 0);
  job.created_at = {row.submitted_us};
  job.started_at = time_view(row.first_start_us);
  job.completed_at = time_view(row.finished_us);
  job.no_of_migrations = row.migrations;
  job.trained_at = text_view(row.server);
  job.status = original_status(row.state);
  parse_gpu_list(row.gpus).for_each([&](int gpu) { job.at_gpus.push_back(gpu); });
  job.error = text_view(row.failure_message);
  return job;
}

std::string list_opening() { return "{\"items\":["; }

std::string list_ending(const json::value& total, const json::value& next_cursor) {
  return "],\"next_cursor\":" + wire::json_text(next_cursor) + ",\"total\":" + wire::json_text(total) + "}\n";
}

void ListText::add(const json::value& item) {
  if (count_++ > 0) text_ += ',';
  text_ += wire::json_text(item);
}

std::string ListText::end(const json::value& total, const json::value& next_cursor) && {
  return std::move(text_) + list_ending(total, next_cursor);
}

}  // namespace sl::controller
