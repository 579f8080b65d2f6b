#include "controller/views.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <numeric>
#include <sstream>

#include "controller/estimate_views.h"
#include "controller/explain.h"
#include "wire/job_spec_text.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

json::value time_view(const std::optional<std::int64_t>& us) {
  return us ? json::value(rfc3339(*us)) : json::value(nullptr);
}

template <typename T>
json::value maybe(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::value parsed(const std::string& text) {
  json::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value(nullptr) : value;
}

json::array gpu_names(const std::string& server, const std::string& gpus) {
  json::array names;
  parse_gpu_list(gpus).for_each([&](int gpu) { names.push_back(json::string(fmt::format("{}-{}", server, gpu))); });
  return names;
}

json::object part_view(const JobEntry& entry, const std::string& server, const std::string& gpus, int rank) {
  const std::int64_t pid = rank == 0 ? entry.pid : 0;
  const store::PlacementRow* placement = entry.image.empty() ? nullptr : latest_placement(entry);
  return {{"server", server},
          {"gpus", gpu_names(server, gpus)},
          {"rank", rank},
          {"pid", pid ? json::value(pid) : json::value(nullptr)},
          {"image", placement ? json::value(entry.image) : json::value(nullptr)},
          {"container_id",
           placement ? json::value(wire::container_name(incarnation_of(*placement), rank)) : json::value(nullptr)}};
}

json::array placement_view(const JobEntry& entry) {
  const store::JobRow& row = entry.row;
  if (row.server.empty()) return {};
  if (!entry.gang) return {part_view(entry, row.server, row.gpus, 0)};
  json::array parts;
  for (const store::PlacementRow& part : latest_placements(entry))
    parts.push_back(part_view(entry, part.server, part.gpus, part.rank));
  return parts;
}

// One run of the job on one server.
json::object attempt_view(const store::PlacementRow& row) {
  json::array uuids;
  std::istringstream list(row.gpu_uuids);
  for (std::string uuid; std::getline(list, uuid, ',');) uuids.push_back(json::string(uuid));
  return {{"attempt", row.attempt},
          {"server", row.server},
          {"rank", row.rank},
          {"gpus", gpu_names(row.server, row.gpus)},
          {"gpu_uuids", std::move(uuids)},
          {"began_at", row.incarnation ? json::value(rfc3339(row.incarnation)) : json::value(nullptr)},
          {"ended_at", row.ended_us ? json::value(rfc3339(*row.ended_us)) : json::value(nullptr)}};
}

json::value progress_view(const store::JobRow& row) {
  if (row.progress_json.empty()) return nullptr;
  json::value value = parsed(row.progress_json);
  if (!value.is_object()) return nullptr;
  json::object& progress = value.get_object();
  progress["rate_per_s"] = nullptr;
  const auto* done = progress.if_contains("done");
  if (done && done->is_number() && row.run_us > 0)
    progress["rate_per_s"] = done->to_number<double>() / (static_cast<double>(row.run_us) * 1e-6);
  const auto* updated = progress.if_contains("updated_us");
  progress["updated_at"] =
      updated && updated->is_int64() ? json::value(rfc3339(updated->get_int64())) : json::value(nullptr);
  progress.erase("updated_us");
  return value;
}

json::value failure_view(const store::JobRow& row) {
  if (row.failure_kind.empty()) return nullptr;
  return json::object{{"kind", row.failure_kind},
                      {"message", row.failure_message},
                      {"exit_code", maybe(row.exit_code)},
                      {"signal", maybe(row.signal)},
                      {"label", nullptr},
                      {"log_line", nullptr},
                      {"last_lines", nullptr}};
}

// Why a job was cancelled, if it was not a user's wish.
json::value reason_of_end(const store::JobRow& row) {
  if (row.state != to_string(JobState::cancelled) || row.failure_message.empty()) return nullptr;
  return json::object{{"code", "stopped"}, {"text", row.failure_message}};
}

// How a group's members are; null for a job that is no group.
json::value members_view(const store::JobRow& row) {
  if (!is_group(row)) return nullptr;
  Group group;
  if (!read_members_text(row.extra_json, group)) return nullptr;
  const std::int64_t total = std::accumulate(group.by_state.begin(), group.by_state.end(), group.to_come.count());
  using enum JobState;
  const std::int64_t waiting = group.to_come.count() + group.in(pending) + group.in(held);
  return json::object{{"total", total},
                      {"waiting", waiting},
                      {"running", group.unfinished() - group.in(pending)-group.in(held)},
                      {"succeeded", group.in(succeeded)},
                      {"failed", group.in(failed)},
                      {"cancelled", group.in(cancelled)},
                      {"to_come", group.to_come.text()}};
}

json::value exit_view(const store::JobRow& row) {
  if (!row.finished_us || (!row.exit_code && !row.signal)) return nullptr;
  return json::object{{"code", maybe(row.exit_code)}, {"signal", maybe(row.signal)}};
}

}  // namespace

std::string rfc3339(std::int64_t us) { return wire::time_text(us); }

namespace {

// Everything but the specification, whose place is kept. `core`: null for a job that has ended.
json::object job_frame(const Core* core, const JobEntry& entry, Instant now) {
  const store::JobRow& row = entry.row;
  const JobIndex index = core ? core->find(JobId(row.id)) : JobIndex();
  const Job* live = index.valid() ? &core->job(index) : nullptr;
  const double run_s = static_cast<double>(live ? live->run_at(now).us : row.run_us) * 1e-6;
  const std::int64_t waited_until = row.first_start_us.value_or(row.finished_us.value_or(now.us));
  json::object job;
  job["id"] = row.id;
  job["name"] = row.name;
  job["user"] = row.user;
  job["state"] = row.state;
  job["state_since"] = rfc3339(row.state_since_us);
  job["reason"] = reason_of_end(row);
  job["group_id"] = row.group_id > 0 ? json::value(row.group_id) : json::value(nullptr);
  job["index"] = row.group_id > 0 ? json::value(row.member_index) : json::value(nullptr);
  job["members"] = members_view(row);
  job["labels"] = json::object{};
  job["priority"] = row.priority;
  job["spec"] = nullptr;
  job["snapshot"] = nullptr;
  job["placement"] = placement_view(entry);
  job["created_at"] = rfc3339(row.submitted_us);
  job["started_at"] = time_view(row.first_start_us);
  job["finished_at"] = time_view(row.finished_us);
  job["wait_s"] = static_cast<double>(waited_until - row.submitted_us) * 1e-6;
  job["run_s"] = run_s;
  job["gpu_seconds"] = static_cast<double>(live ? live->attained_at(now) : row.attained_gpu_us) * 1e-6;
  job["attempt"] = row.attempt;
  job["migrations"] = row.migrations;
  job["preemptions"] = row.preemptions;
  job["resizes"] = row.resizes;
  job["progress"] = progress_view(row);
  job["estimate"] = nullptr;
  job["exit"] = exit_view(row);
  job["failure"] = failure_view(row);
  return job;
}

json::object live_frame(const Logic& logic, const JobEntry& entry, Instant now, const Line* line) {
  json::object job = job_frame(&logic.core(), entry, now);
  const JobIndex index = logic.core().find(JobId(entry.row.id));
  const Job* live = index.valid() ? &logic.core().job(index) : nullptr;
  const bool waits = live && (live->is_queued() || live->state == JobState::held);
  const ReasonCode reason = waits ? logic.core().explain(index) : ReasonCode::none;
  if (waits && !(live->group && reason == ReasonCode::none)) {
    job["reason"] = json::object{{"code", to_string(reason)}, {"text", reason_text(logic, *live, reason, line, now)}};
  }
  if (!live && logic.core().group_of_member_to_come(JobId(entry.row.id)).valid())
    job["reason"] = json::object{{"code", "group"}, {"text", to_come_text(logic, JobId(entry.row.id), now)}};
  if (live && is_moving(live->state))
    job["reason"] = json::object{{"code", to_string(live->state)}, {"text", move_text(logic.core(), *live)}};
  if (live) job["estimate"] = estimate_view(logic, index, now);
  if (const Checkpoints::Transfer* transfer = logic.checkpoints().find(entry)) {
    job["reason"] = json::object{{"code", "checkpoint"}, {"text", logic.checkpoints().text_of(*transfer)}};
    job["checkpoint_copy"] = json::object{{"from", transfer->from},
                                          {"bytes_done", transfer->bytes_done},
                                          {"bytes", transfer->bytes},
                                          {"through_controller", transfer->through_controller}};
  }
  if (const std::string pull = logic.images().text_of(entry); !pull.empty())
    job["reason"] = json::object{{"code", "image_pull"}, {"text", pull}};
  return job;
}

json::object with_spec(json::object job, const JobEntry& entry, bool may_see_env) {
  json::value spec = wire::full_spec(entry.row.spec_json);
  if (spec.is_object()) job["labels"] = spec.get_object()["labels"];
  job["deadline_at"] = nullptr;
  if (const json::value& deadline = spec.is_object() ? spec.at("deadline_s") : spec; deadline.is_number())
    job["deadline_at"] =
        rfc3339(entry.row.submitted_us + static_cast<std::int64_t>(deadline.to_number<double>() * 1e6));
  if (spec.is_object() && !may_see_env) spec.get_object()["env"] = nullptr;
  if (spec.is_object()) job["snapshot"] = spec.at("snapshot");
  job["spec"] = std::move(spec);
  return job;
}

}  // namespace

json::object job_view(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env, const Line* line) {
  return with_spec(live_frame(logic, entry, now, line), entry, may_see_env);
}

namespace {

std::string fields_text(json::object job, const JobEntry& entry, bool may_see_env, const JobFields& fields) {
  if (fields.need_spec()) job = with_spec(std::move(job), entry, may_see_env);
  return wire::json_text(fields.of(std::move(job)));
}

}  // namespace

std::string job_text(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env, const Line* line,
                     const JobFields& fields) {
  return fields_text(live_frame(logic, entry, now, line), entry, may_see_env, fields);
}

std::string past_job_text(const JobEntry& entry, bool may_see_env, const JobFields& fields) {
  return fields_text(job_frame(nullptr, entry, {}), entry, may_see_env, fields);
}

json::object job_frame_of_none() { return job_frame(nullptr, {}, {}); }

json::object job_details_view(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env) {
  const Line line(logic, now);
  json::object job = job_view(logic, entry, now, may_see_env, &line);
  json::array attempts;
  for (const store::PlacementRow& placement : entry.placements) attempts.push_back(attempt_view(placement));
  job["attempts"] = std::move(attempts);
  job["telemetry"] = entry.row.telemetry_json.empty() ? json::value(nullptr) : parsed(entry.row.telemetry_json);
  return job;
}

json::object gpu_view(const Logic& logic, const Server& server, ServerIndex index, int gpu) {
  const Agent* agent = logic.agents().by_server(server.description.name);
  const wire::GpuReport* report = nullptr;
  if (agent) {
    for (const wire::GpuReport& candidate : agent->hello.gpus) report = candidate.index == gpu ? &candidate : report;
  }
  json::value job = nullptr;
  for (const JobIndex tenant : logic.core().ledger().tenants()[index][static_cast<std::size_t>(gpu)].jobs.items())
    job = logic.core().job(tenant).request.id.value;
  const char* condition = !job.is_null()                                                     ? "allocated"
                          : server.unavailable.has(gpu) || server.state == ServerState::down ? "unavailable"
                          : server.outside.has(gpu)                                          ? "outside"
                          : server.state == ServerState::quarantined                         ? "quarantined"
                                                                                             : "free";
  json::object view;
  view["identifier"] = fmt::format("{}-{}", server.description.name, gpu);
  view["server"] = server.description.name;
  view["index"] = gpu;
  view["uuid"] = report ? json::value(report->uuid) : json::value(nullptr);
  view["name"] = report ? json::value(report->name) : json::value(nullptr);
  view["simulated"] = server.description.simulated;
  view["condition"] = condition;
  view["job_id"] = job;
  view["utilization_pct"] = report ? maybe(report->utilization_pct) : json::value(nullptr);
  view["memory_used_bytes"] = report ? json::value(report->memory_used_bytes) : json::value(nullptr);
  view["memory_total_bytes"] = report ? json::value(report->memory_total_bytes) : json::value(nullptr);
  view["temperature_celsius"] = report ? maybe(report->temperature_celsius) : json::value(nullptr);
  view["power_watts"] = report ? maybe(report->power_watts) : json::value(nullptr);
  view["sm_clock_mhz"] = nullptr;
  json::array processes;
  if (report) {
    for (const wire::GpuProcess& process : report->outside) processes.push_back(wire::to_value(process));
  }
  view["processes"] = std::move(processes);
  view["sampled_at"] =
      agent && agent->last_contact.happened() ? json::value(rfc3339(agent->last_contact.us)) : json::value(nullptr);
  return view;
}

namespace {

// Why it is not simply up; null when it is.
json::value state_reason(const Logic& logic, const Server& server, Instant now) {
  const ServerIndex index = logic.core().find_server(server.description.name);
  if (const Drain* drain = logic.drains().find(server.description.name))
    return json::value(drain_text(logic.core(), server, index, *drain));
  if (server.state == ServerState::down) return "its agent is not connected";
  const Quarantine* quarantine = logic.health().find(server.description.name);
  return quarantine ? json::value(quarantine_text(*quarantine, now)) : json::value(nullptr);
}

json::value quarantine_view(const Quarantine* quarantine) {
  if (!quarantine) return nullptr;
  return json::object{{"reason", quarantine->reason},
                      {"since", rfc3339(quarantine->since_us)},
                      {"until", rfc3339(quarantine->until_us)},
                      {"times", quarantine->times}};
}

}  // namespace

json::object server_view(const Logic& logic, const Server& server, ServerIndex index, Instant now) {
  const Agent* agent = logic.agents().by_server(server.description.name);
  json::object view;
  view["name"] = server.description.name;
  view["state"] = to_string(server.state);
  view["state_reason"] = state_reason(logic, server, now);
  view["quarantine"] = quarantine_view(logic.health().find(server.description.name));
  view["simulated"] = server.description.simulated;
  view["cpus"] = agent ? json::value(agent->hello.cpus) : json::value(nullptr);
  view["memory_total_bytes"] = agent ? json::value(agent->hello.memory_total_bytes) : json::value(nullptr);
  view["memory_used_bytes"] = agent ? maybe(agent->memory_used_bytes) : json::value(nullptr);
  view["job_files_bytes"] = agent ? maybe(agent->job_files_bytes) : json::value(nullptr);
  view["cpu_utilization_pct"] = agent ? maybe(agent->cpu_utilization_pct) : json::value(nullptr);
  view["agent_version"] = agent ? json::value(agent->hello.agent_version) : json::value(nullptr);
  view["driver_version"] =
      agent && !agent->hello.driver_version.empty() ? json::value(agent->hello.driver_version) : json::value(nullptr);
  const std::string engine = agent ? agent->hello.container_engine : "";
  view["runtimes"] = engine.empty() ? json::array{"process"} : json::array{"process", "container"};
  view["container_engine"] = engine.empty() ? json::value(nullptr) : json::value(engine);
  view["clock_skew_s"] = nullptr;
  view["last_contact_at"] =
      agent && agent->last_contact.happened() ? json::value(rfc3339(agent->last_contact.us)) : json::value(nullptr);
  view["labels"] = json::object{};
  view["keep"] = agent ? wire::to_value(agent->hello.keep) : json::value(nullptr);
  json::array gpus;
  for (int gpu = 0; gpu < server.description.gpus; ++gpu) gpus.push_back(gpu_view(logic, server, index, gpu));
  view["gpus"] = std::move(gpus);
  return view;
}

json::object cluster_view(const Logic& logic, Instant now) {
  const Core& core = logic.core();
  int total = 0, up = 0;
  for_each_server(core, [&](const Server& server, ServerIndex) {
    total += server.description.gpus;
    up += server.state == ServerState::up;
  });
  json::object jobs;
  for (int s = 0; s <= static_cast<int>(JobState::cancelled); ++s)
    jobs[to_string(static_cast<JobState>(s))] = logic.book().count(static_cast<JobState>(s));
  json::object view;
  view["version"] = logic.settings().version;
  view["cluster_id"] = logic.incarnations().cluster();
  view["started_at"] = rfc3339(logic.started().us);
  view["now"] = rfc3339(now.us);
  view["policy"] = logic.policies().in_force().name;
  view["jobs"] = std::move(jobs);
  view["gpus"] = json::object{
      {"total", total}, {"allocated", core.ledger().gpus_in_use()}, {"free", core.ledger().free().total()}};
  const auto milliseconds = [](Duration time) { return static_cast<double>(time.us) * 1e-3; };
  const TurnTimes& times = logic.turn_times();
  view["decisions"] = json::object{{"count", times.count()},
                                   {"p50_ms", milliseconds(times.quantile(0.5))},
                                   {"p99_ms", milliseconds(times.quantile(0.99))},
                                   {"max_ms", milliseconds(times.max())}};
  view["servers_up"] = up;
  const JobTotals& totals = logic.recorder().totals();
  view["since_start"] = json::object{{"preemptions", totals.preemptions},
                                     {"migrations", totals.migrations},
                                     {"resizes", totals.resizes},
                                     {"deadlines_met", totals.deadlines_met},
                                     {"deadlines_missed", totals.deadlines_missed}};
  return view;
}

json::object event_view(const store::EventRow& row) {
  return {{"seq", row.seq},
          {"at", rfc3339(row.at_us)},
          {"kind", row.kind},
          {"job_id", maybe(row.job_id)},
          {"server", row.server.empty() ? json::value(nullptr) : json::value(row.server)},
          {"actor", json::object{{"type", row.actor_type}, {"name", row.actor_name}}},
          {"from", row.from.empty() ? json::value(nullptr) : json::value(row.from)},
          {"to", row.to.empty() ? json::value(nullptr) : json::value(row.to)},
          {"text", row.text},
          {"data", row.data_json.empty() ? json::value(nullptr) : parsed(row.data_json)}};
}

json::object legacy_job_view(const JobEntry& entry) {
  const store::JobRow& row = entry.row;
  const json::value spec = wire::full_spec(row.spec_json);
  const auto from_spec = [&](const char* key) {
    return spec.is_object() && spec.get_object().contains(key) ? spec.get_object().at(key) : json::value(nullptr);
  };
  const auto& s = row.state;
  const char* status = s == "pending" || s == "held"       ? "Pending"
                       : s == "starting" || s == "running" ? "Running"
                       : s == "succeeded"                  ? "Completed"
                       : s == "failed" || s == "cancelled" ? "Error"
                       : s == "migrating"                  ? "Migrating"
                       : s == "resizing"                   ? "ScalingOut"
                                                           : "Suspended";
  const json::value gpus = from_spec("gpus");
  json::array at_gpus;
  parse_gpu_list(row.gpus).for_each([&](int gpu) { at_gpus.push_back(gpu); });
  return {{"id", row.id},
          {"name", row.name},
          {"type", from_spec("framework")},
          {"container_name", entry.image.empty() || !latest_placement(entry)
                                 ? json::value(nullptr)
                                 : json::value(wire::container_name(incarnation_of(*latest_placement(entry)), 0))},
          {"container_image", from_spec("image")},
          {"command", from_spec("command")},
          {"created_at", rfc3339(row.submitted_us)},
          {"started_at", time_view(row.first_start_us)},
          {"completed_at", time_view(row.finished_us)},
          {"estimated_completion_time", nullptr},
          {"required_gpus", gpus.is_object() ? gpus.get_object().at("max") : json::value(1)},
          {"no_of_migrations", row.migrations},
          {"trained_at", row.server.empty() ? json::value(nullptr) : json::value(row.server)},
          {"status", status},
          {"at_gpus", std::move(at_gpus)},
          {"error", row.failure_message.empty() ? json::value(nullptr) : json::value(row.failure_message)}};
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
