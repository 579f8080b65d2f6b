// status, gpus, events: what the cluster is and does.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

std::string memory_text(const json::value& gpu) {
  if (!value_at(gpu, "memory_total_bytes").is_number()) return "–";
  return bytes_text(number_at(gpu, "memory_used_bytes")) + " / " + bytes_text(number_at(gpu, "memory_total_bytes"));
}

std::string percent(const json::value& value) {
  return value.is_number() ? fmt::format("{:.0f} %", value.to_number<double>()) : "–";
}

}  // namespace

int cluster_status(const Context& context) {
  const Result<json::value> cluster = context.get("/api/v1/cluster");
  if (!cluster.ok()) return fail(cluster.error());
  if (context.as_json) {
    context.print_json(*cluster);
    return 0;
  }
  const json::value &gpus = value_at(*cluster, "gpus"), &jobs = value_at(*cluster, "jobs");
  std::printf("Controller %s at %s, policy %s\n", text_at(*cluster, "version").c_str(), context.url.c_str(),
              text_at(*cluster, "policy").c_str());
  std::printf("GPUs  %g of %g allocated, %g free\n", number_at(gpus, "allocated"), number_at(gpus, "total"),
              number_at(gpus, "free"));
  std::printf("Jobs  %g running, %g pending, %g succeeded, %g failed, %g cancelled\n\n",
              number_at(jobs, "running") + number_at(jobs, "starting"), number_at(jobs, "pending"),
              number_at(jobs, "succeeded"), number_at(jobs, "failed"), number_at(jobs, "cancelled"));
  Table table({"SERVER", "STATE", "GPUS", "FREE", "CPU", "MEMORY", ""}, {2, 3});
  bool any_down = false;
  for (const json::value& server : value_at(*cluster, "servers").as_array()) {
    std::size_t free = 0;
    for (const json::value& gpu : value_at(server, "gpus").as_array()) free += text_at(gpu, "condition") == "free";
    any_down = any_down || text_at(server, "state") != "up";
    table.add(
        {text_at(server, "name"), text_at(server, "state"), std::to_string(value_at(server, "gpus").as_array().size()),
         std::to_string(free), percent(value_at(server, "cpu_utilization_pct")), memory_text(server),
         value_at(server, "simulated") == json::value(true) ? "simulated GPUs" : text_at(server, "state_reason")});
  }
  if (table.empty()) {
    std::printf("No server has joined. Add this machine:  schedulearn agent run --join %s\n", context.url.c_str());
    return 1;
  }
  std::fputs(table.text(context.plain).c_str(), stdout);
  return any_down ? 1 : 0;
}

int declare_server_lost(const Context& context, const std::string& name) {
  if (!context.assume_yes) {
    if (!context.interactive)
      return fail(
          invalid("confirmation-needed", "jobs that still run on " + name + " would be started a second time elsewhere")
              .hint("when it is surely dead: add --yes"));
    std::fprintf(stderr, "Are all processes on %s surely dead? Its jobs are started elsewhere. [y/N] ", name.c_str());
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "yes") return 1;
  }
  const Result<json::value> server = context.call("POST", "/api/v1/servers/" + name + "/lost", "{}");
  if (!server.ok()) return fail(server.error());
  if (context.as_json) {
    context.print_json(*server);
  } else if (!context.quiet) {
    std::printf("Server %s is declared lost, its jobs are back in the queue.\n", name.c_str());
  }
  return 0;
}

int list_gpus(const Context& context) {
  const Result<json::value> list = context.get("/api/v1/gpus");
  if (!list.ok()) return fail(list.error());
  if (context.as_json) {
    context.print_json(*list);
    return 0;
  }
  Table table({"GPU", "CONDITION", "JOB", "USE", "MEMORY", "NAME", ""}, {2, 3});
  for (const json::value& gpu : value_at(*list, "items").as_array()) {
    const json::value& job = value_at(gpu, "job_id");
    table.add({text_at(gpu, "identifier"), text_at(gpu, "condition"),
               job.is_number() ? fmt::format("{:g}", job.to_number<double>()) : "–",
               percent(value_at(gpu, "utilization_pct")), memory_text(gpu), text_at(gpu, "name"),
               value_at(gpu, "simulated") == json::value(true) ? "simulated" : ""});
  }
  if (table.empty()) std::printf("No GPUs: no server has joined.\n");
  if (!table.empty()) std::fputs(table.text(context.plain).c_str(), stdout);
  return 0;
}

int list_events(const Context& context, int limit) {
  const Result<json::value> list = context.get("/api/v1/events?limit=" + std::to_string(limit));
  if (!list.ok()) return fail(list.error());
  if (context.as_json) {
    context.print_json(*list);
    return 0;
  }
  Table table({"SEQ", "WHEN", "KIND", "JOB", "SERVER", "FROM", "TO", ""}, {0, 3});
  for (const json::value& event : value_at(*list, "items").as_array()) {
    const json::value& job = value_at(event, "job_id");
    table.add({fmt::format("{:g}", number_at(event, "seq")), text_at(event, "at").substr(11, 12),
               text_at(event, "kind"), job.is_number() ? fmt::format("{:g}", job.to_number<double>()) : "–",
               text_at(event, "server", "–"), text_at(event, "from"), text_at(event, "to"), text_at(event, "text")});
  }
  std::fputs(table.text(context.plain).c_str(), stdout);
  return 0;
}

}  // namespace sl::cli
