// status, gpus: the state of the cluster.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>

#include "cli/commands.h"
#include "cli/render.h"
#include "net/http.h"

namespace sl::cli {
namespace {

std::string memory_text(const json::value& gpu) {
  if (!value_at(gpu, "memory_total_bytes").is_number()) return "–";
  const std::string all = bytes_text(number_at(gpu, "memory_total_bytes"));
  if (!value_at(gpu, "memory_used_bytes").is_number()) return all;  // not known: it is simulated
  return bytes_text(number_at(gpu, "memory_used_bytes")) + " / " + all;
}

// "used by mei (python3, pid 4711, 4.0 GiB)", of the first process that was not started here.
std::string outsider_text(const json::value& gpu) {
  const json::array& processes = value_at(gpu, "processes").as_array();
  if (processes.empty()) return "";
  const json::value& first = processes.front();
  const json::value& memory = value_at(first, "memory_bytes");
  return fmt::format("used by {} ({}, pid {:.0f}{}){}", text_at(first, "user", "nobody known"),
                     text_at(first, "program", "ended"), number_at(first, "pid"),
                     memory.is_number() ? ", " + bytes_text(memory.to_number<double>()) : "",
                     processes.size() > 1 ? fmt::format(" and {} more", processes.size() - 1) : "");
}

std::string percent(const json::value& value) {
  return value.is_number() ? fmt::format("{:.0f} %", value.to_number<double>()) : "–";
}

std::string size_text(const json::value& bytes) {
  return bytes.is_number() ? bytes_text(bytes.to_number<double>()) : "–";
}

// "for 90 days, at most 1000 jobs": what is kept of finished jobs
std::string keep_text(const json::value& keep) {
  const double age_s = number_at(keep, "age_s"), jobs = number_at(keep, "jobs"), bytes = number_at(keep, "bytes");
  const double days = age_s / 86'400;
  const bool is_whole = days >= 1 && days == std::floor(days);
  std::string text = age_s == 0 ? "however old"
                     : is_whole ? "for " + plural(static_cast<std::size_t>(days), "day")
                                : "for " + duration_text(age_s);
  if (jobs > 0) text += fmt::format(", at most {:.0f} jobs", jobs);
  if (bytes > 0) text += ", at most " + bytes_text(bytes);
  if (const double free = number_at(keep, "free_bytes"); free > 0)
    text += ", while " + bytes_text(free) + " of the disk are free";
  return text;
}

// How long the servers keep files of finished jobs: one line if all do alike.
void print_file_rules(const json::value& cluster) {
  std::map<std::string, std::string> servers_of;
  for (const json::value& server : value_at(cluster, "servers").as_array()) {
    if (!value_at(server, "keep").is_object()) continue;
    std::string& servers = servers_of[keep_text(value_at(server, "keep"))];
    servers += (servers.empty() ? "" : ", ") + text_at(server, "name");
  }
  for (const auto& [rule, servers] : servers_of)
    std::printf("Their files are kept %s%s\n", rule.c_str(), servers_of.size() > 1 ? (" on " + servers).c_str() : "");
}

// "3 preempted, 2 moved; 5 of 6 deadlines met".
std::string tally_text(const json::value& tally) {
  std::string text;
  for (const auto& [key, what] :
       {std::pair{"preemptions", "preempted"}, {"migrations", "moved"}, {"resizes", "resized"}}) {
    if (const double times = number_at(tally, key); times > 0)
      text += fmt::format("{}{:.0f} {}", text.empty() ? "" : ", ", times, what);
  }
  const double met = number_at(tally, "deadlines_met"), all = met + number_at(tally, "deadlines_missed");
  if (all > 0) text += fmt::format("{}{:.0f} of {:.0f} deadlines met", text.empty() ? "" : "; ", met, all);
  return text;
}

// "simulated GPUs, podman 4.3.1"
std::string kind_text(const json::value& server) {
  const bool simulated = value_at(server, "simulated") == json::value(true);
  const std::string engine = text_at(server, "container_engine");
  std::string text =
      (simulated ? "simulated GPUs" : "") + std::string(simulated && !engine.empty() ? ", " : "") + engine;
  const std::string unlimited = text_at(server, "cannot_enforce");
  if (!unlimited.empty()) text += (text.empty() ? "" : ", ") + ("no limits on " + unlimited);
  return text;
}

// What keeps plain processes to the GPUs of their job.
std::string isolation_text(const json::value& gpu) {
  const std::string kind = text_at(gpu, "isolation", "–");
  return kind == "device_cgroup" ? "device cgroup" : kind == "visible_devices" ? "visible devices" : kind;
}

// "auto (srsf acts), fifo_easy follows"
std::string policy_text(const json::value& cluster) {
  std::string text = text_at(cluster, "policy");
  if (value_at(cluster, "acting").is_string()) text += " (" + text_at(cluster, "acting") + " acts)";
  if (value_at(cluster, "shadow").is_string()) text += ", " + text_at(cluster, "shadow") + " follows";
  if (const json::value& planned = value_at(cluster, "planned"); planned.is_object())
    text += ", " + text_at(planned, "name") + " from " + clock_text(text_at(planned, "at"));
  return text;
}

// "now, on gpu4", "about 19:52 (19:48 to 20:01), on gpu4, when job 48 ends", "not known: …".
std::string next_free_text(const json::value& next) {
  const json::value& at = value_at(next, "at");
  if (!at.is_object()) return "not known: " + text_at(next, "text");
  const std::string gpu = std::string(value_at(next, "gpus").as_array().front().as_string());
  const std::string where = ", on " + gpu.substr(0, gpu.rfind('-'));
  if (!value_at(next, "job_id").is_number()) return "now" + where;
  return fmt::format("about {} ({} to {}){}, when job {:.0f} ends", clock_text(text_at(at, "p50")),
                     clock_text(text_at(at, "p10")), clock_text(text_at(at, "p90")), where, number_at(next, "job_id"));
}

void print_summary(const Context& context, const json::value& cluster) {
  const json::value &gpus = value_at(cluster, "gpus"), &jobs = value_at(cluster, "jobs");
  std::printf("Controller %s at %s, policy %s\n", text_at(cluster, "version").c_str(),
              (context.socket.empty() ? context.url : context.socket).c_str(), policy_text(cluster).c_str());
  std::printf("GPUs  %.0f of %.0f allocated, %.0f free\n", number_at(gpus, "allocated"), number_at(gpus, "total"),
              number_at(gpus, "free"));
  std::printf("      next free %s\n", next_free_text(value_at(cluster, "next_free")).c_str());
  std::printf("Jobs  %.0f running, %.0f pending%s, %.0f succeeded, %.0f failed, %.0f cancelled\n",
              number_at(jobs, "running"), number_at(jobs, "pending"), other_states_text(jobs).c_str(),
              number_at(jobs, "succeeded"), number_at(jobs, "failed"), number_at(jobs, "cancelled"));
  if (const std::string tally = tally_text(value_at(cluster, "since_start")); !tally.empty())
    std::printf("Since its start  %s\n", tally.c_str());
  const json::value& history = value_at(cluster, "history");
  std::printf("Finished jobs are kept %s%s\n", keep_text(value_at(history, "keep")).c_str(),
              value_at(history, "bytes").is_number()
                  ? fmt::format(" (database {})", bytes_text(number_at(history, "bytes"))).c_str()
                  : "");
  print_file_rules(cluster);
  std::printf("\n");
}

}  // namespace

int cluster_status(const Context& context) {
  const Result<json::value> cluster = context.get("/api/v1/cluster");
  if (!cluster.ok()) return fail(cluster.error());
  if (context.as_json) {
    context.print_json(*cluster);
    return 0;
  }
  if (!context.plain && !context.quiet) print_summary(context, *cluster);
  Table table({"SERVER", "STATE", "GPUS", "FREE", "CPU", "MEMORY", "JOB FILES", ""}, {2, 3});
  table.may_shrink(0, {6, 4, 5});
  bool any_down = false;
  for (const json::value& server : value_at(*cluster, "servers").as_array()) {
    std::size_t free = 0;
    for (const json::value& gpu : value_at(server, "gpus").as_array()) free += text_at(gpu, "condition") == "free";
    any_down = any_down || text_at(server, "state") != "up";
    table.add({text_at(server, "name"), text_at(server, "state"),
               std::to_string(value_at(server, "gpus").as_array().size()), std::to_string(free),
               percent(value_at(server, "cpu_utilization_pct")), memory_text(server),
               size_text(value_at(server, "job_files_bytes")), text_at(server, "state_reason", kind_text(server))});
  }
  if (table.empty()) {
    std::printf("No server has joined. Add this machine:  schedulearn agent run --join %s --data DIR\n",
                context.url.c_str());
    return 1;
  }
  std::fputs(table.text(context).c_str(), stdout);
  return any_down ? 1 : 0;
}

namespace {

std::string server_path(const std::string& server) { return "/api/v1/servers/" + net::percent_encode(server); }

// An administrator's statement about a server; `done` is printed once the controller has accepted it.
int tell_of_server(const Context& context, const char* method, const std::string& path, const std::string& done) {
  const Result<json::value> server = context.call(method, path, "{}");
  if (!server.ok()) return fail(server.error());
  if (context.as_json) {
    context.print_json(*server);
  } else if (!context.quiet) {
    std::printf("%s\n", done.c_str());
  }
  return 0;
}

bool is_sure(const std::string& name) {
  std::fprintf(stderr, "Are all processes on %s certainly dead? Its jobs will be started elsewhere. [y/N] ",
               name.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

}  // namespace

int declare_server_lost(const Context& context, const std::string& name) {
  const Result<json::value> server = context.get(server_path(name));
  if (!server.ok()) return fail(server.error());
  if (!context.assume_yes && text_at(*server, "state") == "down") {  // a server that is not is refused anyhow
    if (!context.interactive)
      return fail(
          invalid("confirmation-needed", "jobs that still run on " + name + " would be started a second time elsewhere")
              .hint("if the server is certainly dead, add --yes"));
    if (!is_sure(name)) return 1;
  }
  return tell_of_server(context, "POST", server_path(name) + "/lost",
                        "Server " + name + " is declared lost, its jobs are back in the queue.");
}

int remove_server(const Context& context, const std::string& name) {
  return tell_of_server(context, "DELETE", server_path(name),
                        "Server " + name + " is not part of the cluster any more, until its agent calls again.");
}

namespace {

void print_drained(const Context& context, const std::string& name, const json::array& jobs) {
  if (jobs.empty()) return void(std::printf("No job is on %s.\n", name.c_str()));
  Table table({"JOB", "NAME", "USER", "THEN IT"}, {0});
  for (const json::value& job : jobs)
    table.add({std::to_string(static_cast<std::int64_t>(number_at(job, "id"))), name_text(job), text_at(job, "user"),
               text_at(job, "then")});
  std::fputs(table.text(context).c_str(), stdout);
}

}  // namespace

// Asks first, with the jobs it is about, if it would end or move any.
int drain_server(const Context& context, const std::string& name, const DrainOptions& options) {
  std::string query = options.migrate ? "&migrate=true" : "";
  if (!options.deadline.empty()) query += "&deadline=" + net::percent_encode(options.deadline);
  if (!options.reason.empty()) query += "&reason=" + net::percent_encode(options.reason);
  const std::string path = server_path(name) + "/drain?";
  const Result<json::value> preview = context.call("POST", path + "dry_run=true" + query, "{}");
  if (!preview.ok()) return fail(preview.error());
  const json::array& jobs = value_at(*preview, "jobs").as_array();
  if (options.dry_run) {
    context.as_json ? context.print_json(*preview) : print_drained(context, name, jobs);
    return 0;
  }
  if (!jobs.empty() && context.interactive && !context.assume_yes) print_drained(context, name, jobs);
  const bool interrupts = options.migrate || !options.deadline.empty();
  const auto sure = confirm(context, "drain " + name + ", which has " + plural(jobs.size(), "job"),
                            interrupts && context.interactive && !jobs.empty());
  if (!sure.ok()) return fail(sure.error());
  if (!*sure) return 1;
  const Result<json::value> server = context.call("POST", path + query, "{}");
  if (!server.ok()) return fail(server.error());
  if (context.as_json) {
    context.print_json(*server);
  } else if (!context.quiet) {
    std::printf("Nothing new starts on %s: it is %s.\n", name.c_str(), text_at(*server, "state_reason").c_str());
  }
  return 0;
}

int undrain_server(const Context& context, const std::string& name) {
  return tell_of_server(context, "POST", server_path(name) + "/undrain", "Jobs may start on " + name + " again.");
}

int release_server(const Context& context, const std::string& name) {
  return tell_of_server(context, "POST", server_path(name) + "/release",
                        "Server " + name + " is no longer quarantined, jobs may start there.");
}

int list_servers(const Context& context) {
  if (!context.as_json) return cluster_status(context);
  const Result<json::value> list = context.get("/api/v1/servers");
  if (!list.ok()) return fail(list.error());
  context.print_json(*list);
  return 0;
}

int list_gpus(const Context& context) {
  const Result<json::value> list = context.get("/api/v1/gpus");
  if (!list.ok()) return fail(list.error());
  if (context.as_json) {
    context.print_json(*list);
    return 0;
  }
  Table table({"GPU", "CONDITION", "JOB", "USE", "MEMORY", "NAME", "ISOLATION", ""}, {2, 3});
  table.may_shrink(0, {6, 5, 4, 3});
  for (const json::value& gpu : value_at(*list, "items").as_array()) {
    std::string jobs;
    const json::array* const tenants = value_at(gpu, "job_ids").if_array();
    for (const json::value& job : tenants ? *tenants : json::array{})
      jobs += fmt::format("{}{:.0f}", jobs.empty() ? "" : ",", job.to_number<double>());
    table.add({text_at(gpu, "identifier"), text_at(gpu, "condition"), jobs.empty() ? "–" : jobs,
               percent(value_at(gpu, "utilization_pct")), memory_text(gpu), text_at(gpu, "name"), isolation_text(gpu),
               value_at(gpu, "simulated") == json::value(true) ? "simulated" : outsider_text(gpu)});
  }
  if (table.empty()) std::printf("No GPUs: no server has joined.\n");
  if (!table.empty()) std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

}  // namespace sl::cli
