#include "controller/views.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "policy/placer.h"

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

std::vector<int> gpu_indexes(const std::string& text) {
  std::vector<int> indexes;
  for (std::size_t at = 0; at < text.size();
       at = text.find(',', at) == std::string::npos ? text.size() : text.find(',', at) + 1)
    indexes.push_back(std::atoi(text.c_str() + at));
  return indexes;
}

json::array placement_view(const JobEntry& entry) {
  const store::JobRow& row = entry.row;
  if (row.server.empty()) return {};
  json::array gpus;
  for (const int gpu : gpu_indexes(row.gpus)) gpus.push_back(json::string(fmt::format("{}-{}", row.server, gpu)));
  return {json::object{{"server", row.server},
                       {"gpus", std::move(gpus)},
                       {"rank", 0},
                       {"pid", entry.pid ? json::value(entry.pid) : json::value(nullptr)},
                       {"container_id", nullptr}}};
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

json::value exit_view(const store::JobRow& row) {
  if (!row.finished_us || (!row.exit_code && !row.signal)) return nullptr;
  return json::object{{"code", maybe(row.exit_code)}, {"signal", maybe(row.signal)}};
}

const Job* live_job(const Logic& logic, const JobEntry& entry) {
  const JobIndex index = logic.core().find(JobId(entry.row.id));
  return index.valid() ? &logic.core().job(index) : nullptr;
}

std::string reason_text(const Logic& logic, const Job& job, const Reason& reason, std::size_t position) {
  const int gpus = job.request.gpus_min;
  const std::string needs = fmt::format("needs {} free GPU{} on one server", gpus, gpus == 1 ? "" : "s");
  const std::string line = position == 0   ? ""
                           : position == 1 ? "first in line, "
                                           : fmt::format("number {} in line, ", position);
  switch (reason.code) {
    case ReasonCode::held:
      return "held by its user";
    case ReasonCode::server_down:
      return logic.core().servers().empty() ? "no server has joined yet" : "no server is up";
    case ReasonCode::draining:
      return "every server is draining";
    case ReasonCode::behind_others:
      return position > 1    ? fmt::format("number {} in line, others are ahead", position)
             : position == 1 ? "the next decision will look at it"
                             : "a server has room, but " + logic.policy().name + " has not started it";
    case ReasonCode::fragmented:
      return line + needs + "; enough are free, but not on one server";
    case ReasonCode::gpu_type:
      return line + "no server that is up has the GPU type it asks for";
    case ReasonCode::gpu_memory:
      return line + "no server that is up has GPUs with the memory it asks for";
    case ReasonCode::cpu_or_memory:
      return line + "a server has the GPUs, but not the CPUs or memory it asks for";
    case ReasonCode::used_outside:
      return line + "the free GPUs are used by processes that were not started here";
    default:
      return line + needs;
  }
}

}  // namespace

std::string rfc3339(std::int64_t us) {
  const std::int64_t seconds = us >= 0 ? us / 1'000'000 : (us - 999'999) / 1'000'000;
  const std::int64_t ms = (us - seconds * 1'000'000) / 1'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds)), ms);
}

namespace {

// Everything but the specification, whose place is kept.
json::object job_frame(const Logic& logic, const JobEntry& entry, Instant now) {
  const store::JobRow& row = entry.row;
  const Job* live = live_job(logic, entry);
  const double run_s = static_cast<double>(live ? live->run_at(now).us : row.run_us) * 1e-6;
  const std::int64_t waited_until = row.first_start_us.value_or(row.finished_us.value_or(now.us));
  json::object job;
  job["id"] = row.id;
  job["name"] = row.name;
  job["user"] = row.user;
  job["state"] = row.state;
  job["state_since"] = rfc3339(row.state_since_us);
  job["reason"] = nullptr;
  job["group_id"] = nullptr;
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
  job["progress"] = progress_view(row);
  job["estimate"] = nullptr;
  job["exit"] = exit_view(row);
  job["failure"] = failure_view(row);
  job["url"] = fmt::format("/ui/jobs/{}", row.id);
  if (live && (live->is_waiting() || live->state == JobState::held)) {
    const JobIndex index = logic.core().find(JobId(row.id));
    const Reason reason = logic.core().explain(index, now);
    job["reason"] = json::object{{"code", to_string(reason.code)}, {"text", reason_text(logic, *live, reason, 0)}};
  }
  return job;
}

}  // namespace

json::object job_view(const Logic& logic, const JobEntry& entry, Instant now) {
  json::object job = job_frame(logic, entry, now);
  json::value spec = parsed(entry.row.spec_json);
  if (spec.is_object()) job["labels"] = spec.get_object()["labels"];
  job["spec"] = std::move(spec);
  return job;
}

// In a long list most of the time would go into reading specifications only to write them down again.
std::string job_text(const Logic& logic, const JobEntry& entry, Instant now) {
  if (entry.row.spec_json.find("\"labels\":{}") == std::string::npos)
    return json::serialize(job_view(logic, entry, now));
  std::string text = json::serialize(job_frame(logic, entry, now));
  constexpr std::string_view place = "\"spec\":null";  // quotes within values are escaped: it occurs once
  return text.replace(text.find(place) + place.size() - 4, 4, entry.row.spec_json);
}

json::object explain_view(const Logic& logic, const JobEntry& entry, Instant now) {
  const Job* job = live_job(logic, entry);
  json::object view;
  view["policy"] = logic.policy().name;
  view["evaluated_at"] = rfc3339(now.us);
  view["estimate"] = nullptr;
  view["suggestions"] = json::array{};
  view["servers"] = json::array{};
  if (!job || (!job->is_waiting() && job->state != JobState::held)) {
    view["verdict"] = "running_here_because";
    view["summary"] = !job ? fmt::format("job {} has ended: {}", entry.row.id, entry.row.state)
                      : entry.row.server.empty()
                          ? fmt::format("job {} is {}", entry.row.id, entry.row.state)
                          : fmt::format("job {} is {} on {}: the server with the fewest free GPUs that had enough",
                                        entry.row.id, entry.row.state, entry.row.server);
    view["reasons"] = json::array{};
    return view;
  }
  const JobIndex index = logic.core().find(JobId(entry.row.id));
  const std::vector<JobIndex> order = logic.core().queue_order(now);
  const auto at = std::find(order.begin(), order.end(), index);
  const bool own = !logic.policy().source.empty();  // whom it will serve next, it alone knows
  const std::size_t position = own || at == order.end() ? 0 : static_cast<std::size_t>(at - order.begin()) + 1;
  const Reason reason = logic.core().explain(index, now);
  const std::string text = reason_text(logic, *job, reason, position);
  const bool possible =
      logic.core().servers().empty() || is_satisfiable(logic.core().servers(), job->request, job->request.gpus_min);
  view["verdict"] = !possible ? "cannot_run" : own ? "policy_decides" : position > 1 ? "will_run_after" : "will_run";
  view["summary"] = fmt::format("job {} waits: {}", entry.row.id, text);
  view["reasons"] = json::array{json::object{{"code", to_string(reason.code)}, {"text", text}, {"blocking", true}}};
  view["position"] = position == 0 ? json::value(nullptr) : json::value(position);
  view["queue_length"] = order.size();
  json::array servers;
  for (std::size_t s = 0; s < logic.core().servers().size(); ++s) {
    const ServerIndex server(static_cast<std::uint32_t>(s));
    const int free = logic.core().ledger().free().count(server);
    const int needed = job->request.gpus_min;
    const bool up = logic.core().servers()[server].state == ServerState::up;
    const bool fits = up && free >= needed && is_eligible(logic.core().servers()[server], job->request);
    servers.push_back(json::object{{"server", logic.core().servers()[server].description.name},
                                   {"free", free},
                                   {"needed", needed},
                                   {"fits", fits},
                                   {"text", fits            ? "has room"
                                            : !up           ? to_string(logic.core().servers()[server].state)
                                            : free < needed ? fmt::format("{} short", needed - free)
                                                            : "not what it asks for"}});
  }
  view["servers"] = std::move(servers);
  return view;
}

json::object gpu_view(const Logic& logic, const Server& server, ServerIndex index, int gpu) {
  const Agent* agent = logic.agents().by_server(server.description.name);
  const wire::GpuReport* report = nullptr;
  if (agent) {
    for (const wire::GpuReport& candidate : agent->hello.gpus) report = candidate.index == gpu ? &candidate : report;
  }
  json::value job = nullptr;
  logic.core().ledger().for_each_tenant(index, gpu,
                                        [&](JobIndex tenant) { job = logic.core().job(tenant).request.id.value; });
  const char* condition = !job.is_null()                                                     ? "allocated"
                          : server.unavailable.has(gpu) || server.state == ServerState::down ? "unavailable"
                          : server.outside.has(gpu)                                          ? "outside"
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
    for (const std::int64_t pid : report->outside_pids) processes.push_back(json::object{{"pid", pid}});
  }
  view["processes"] = std::move(processes);
  view["sampled_at"] =
      agent && agent->last_contact.happened() ? json::value(rfc3339(agent->last_contact.us)) : json::value(nullptr);
  return view;
}

json::object server_view(const Logic& logic, const Server& server, ServerIndex index) {
  const Agent* agent = logic.agents().by_server(server.description.name);
  json::object view;
  view["name"] = server.description.name;
  view["state"] = to_string(server.state);
  view["state_reason"] =
      server.state == ServerState::down ? json::value("its agent is not connected") : json::value(nullptr);
  view["simulated"] = server.description.simulated;
  view["cpus"] = agent ? json::value(agent->hello.cpus) : json::value(nullptr);
  view["memory_total_bytes"] = agent ? json::value(agent->hello.memory_total_bytes) : json::value(nullptr);
  view["memory_used_bytes"] = agent ? maybe(agent->memory_used_bytes) : json::value(nullptr);
  view["cpu_utilization_pct"] = agent ? maybe(agent->cpu_utilization_pct) : json::value(nullptr);
  view["agent_version"] = agent ? json::value(agent->hello.agent_version) : json::value(nullptr);
  view["driver_version"] =
      agent && !agent->hello.driver_version.empty() ? json::value(agent->hello.driver_version) : json::value(nullptr);
  view["runtimes"] = json::array{"process"};
  view["clock_skew_s"] = nullptr;
  view["last_contact_at"] =
      agent && agent->last_contact.happened() ? json::value(rfc3339(agent->last_contact.us)) : json::value(nullptr);
  view["labels"] = json::object{};
  json::array gpus;
  for (int gpu = 0; gpu < server.description.gpus; ++gpu) gpus.push_back(gpu_view(logic, server, index, gpu));
  view["gpus"] = std::move(gpus);
  return view;
}

json::object cluster_view(const Logic& logic, Instant now) {
  const Core& core = logic.core();
  int total = 0, up = 0;
  json::array servers;
  for (std::size_t s = 0; s < core.servers().size(); ++s) {
    const ServerIndex index(static_cast<std::uint32_t>(s));
    total += core.servers()[index].description.gpus;
    up += core.servers()[index].state == ServerState::up;
    servers.push_back(server_view(logic, core.servers()[index], index));
  }
  json::object jobs;
  std::map<std::string, int> counts;
  logic.book().for_each([&](const JobEntry& entry) { ++counts[entry.row.state]; });
  for (int s = 0; s <= static_cast<int>(JobState::cancelled); ++s)
    jobs[to_string(static_cast<JobState>(s))] = counts[to_string(static_cast<JobState>(s))];
  json::object view;
  view["version"] = logic.settings().version;
  view["started_at"] = rfc3339(logic.started().us);
  view["now"] = rfc3339(now.us);
  view["policy"] = logic.policy().name;
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
  view["servers"] = std::move(servers);
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
  const json::value spec = parsed(row.spec_json);
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
  for (const int gpu : gpu_indexes(row.gpus)) at_gpus.push_back(gpu);
  return {{"id", row.id},
          {"name", row.name},
          {"type", from_spec("framework")},
          {"container_name", nullptr},
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

void ListText::add_text(std::string_view item) {
  if (count_++ > 0) text_ += ',';
  text_ += item;
}

std::string ListText::end(std::size_t total, const json::value& next_cursor) && {
  text_ += "],\"next_cursor\":" + json::serialize(next_cursor) + ",\"total\":" + std::to_string(total) + "}\n";
  return std::move(text_);
}

}  // namespace sl::controller
