#include "cli/servers.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/render.h"
#include "cli/surroundings.h"
#include "net/http.h"
#include "net/url.h"
#include "wire/job_spec.h"
#include "wire/json_text.h"

namespace sl::cli {
namespace {

void server_fact(const Context& context, const char* name, const std::string& text) {
  if (!text.empty()) std::printf(context.plain ? "%s\t%s\n" : "  %-12s %s\n", name, text.c_str());
}

std::string server_words(const json::value& items) {
  std::string text;
  if (!items.is_array()) return text;
  for (const json::value& item : items.get_array())
    text += (text.empty() ? "" : ", ") + (item.is_string() ? std::string(item.get_string()) : wire::json_text(item));
  return text;
}

int show_server(const Context& context, const std::string& name) {
  const auto server = context.get("/api/v1/servers/" + net::percent_encode(name));
  if (!server.ok()) return fail(server.error());
  if (context.as_json) return context.print_json(*server), 0;
  const std::string state = text_at(*server, "state"), reason = text_at(*server, "state_reason");
  if (!context.plain) std::printf("Server %s\n\n", name.c_str());
  server_fact(context, "State", reason.empty() ? state : state + ": " + reason);
  std::string labels;
  for (const auto& [label, value] : value_at(*server, "labels").as_object())
    labels += (labels.empty() ? "" : ", ") + std::string(label) + "=" + std::string(value.as_string());
  server_fact(context, "Labels", labels);
  server_fact(context, "Agent", text_at(*server, "agent_version"));
  server_fact(context, "Last heard", clock_text(text_at(*server, "last_contact_at")));
  server_fact(context, "Runs", server_words(value_at(*server, "runtimes")));
  server_fact(context, "Containers", text_at(*server, "container_engine"));
  server_fact(context, "Limits", server_words(value_at(*server, "enforces")));
  server_fact(context, "No limits on", text_at(*server, "cannot_enforce"));
  if (value_at(*server, "job_files_bytes").is_number())
    server_fact(context, "Job files", bytes_text(number_at(*server, "job_files_bytes")));
  if (value_at(*server, "disk_free_bytes").is_number())
    server_fact(context, "Free disk", bytes_text(number_at(*server, "disk_free_bytes")));
  Table table({"GPU", "CONDITION", "JOB", "NAME"}, {2});
  for (const json::value& gpu : value_at(*server, "gpus").as_array()) {
    const json::value& job = value_at(gpu, "job_id");
    table.add({text_at(gpu, "identifier"), text_at(gpu, "condition"),
               job.is_number() ? fmt::format("{}", job.to_number<double>()) : "–", text_at(gpu, "name")});
  }
  if (!table.empty()) std::printf("%s%s", context.plain ? "" : "\n", table.text(context).c_str());
  return 0;
}

// The line that makes another machine a server of this cluster.
int add_server(const Context& context, const std::string& name, const std::string& join, const std::string& expires) {
  json::object body{{"name", name}};
  if (context.socket.empty()) body["url"] = context.url;
  if (!join.empty()) body["url"] = join;
  if (!expires.empty()) {
    const auto seconds = wire::parse_duration_s(expires);
    if (!seconds.ok()) return fail(seconds.error());
    body["expires_in_s"] = static_cast<std::int64_t>(*seconds);
  }
  const auto made = context.call("POST", "/api/v1/servers", wire::json_text(body));
  if (!made.ok()) return fail(made.error());
  if (context.as_json) return context.print_json(*made), 0;
  const std::string line = text_at(*made, "command"), ends = text_at(*made, "expires_at");
  if (context.plain || context.quiet) return std::printf("%s\n", line.c_str()), 0;
  const auto address = net::parse_url(text_at(*made, "url"));
  const bool is_loopback = address.ok() && net::is_loopback(address->host);
  std::printf("On the GPU server%s:\n\n  %s\n\n", is_loopback ? ", which is this machine" : "", line.c_str());
  std::printf(
      "The token in it lets %s join and nothing else, %s. It is not shown again; revoke it: schedulearn token rm %s\n",
      name.c_str(), ends.empty() ? "until it is revoked" : ("until " + clock_text(ends)).c_str(), name.c_str());
  if (is_loopback)
    std::printf(
        "For another machine, name the address at which it reaches this controller:\n"
        "  schedulearn servers add %s --join http://HOST:5000\n"
        "which must listen there: schedulearn controller run --data DIR --listen 0.0.0.0:5000 --token-file TOKEN\n",
        name.c_str());
  return 0;
}

}  // namespace

void ServerCommands::add_to(CLI::App& app) {
  CLI::App* servers = app.add_subcommand("servers", "Servers: ls, show, add, drain, undrain, lost, release, rm.");
  servers->require_subcommand(1);
  servers->fallthrough();
  command_(*servers, "ls", "The servers and their states.", "  schedulearn servers ls\n",
           [this] { return list_servers(context_()); });
  command_(*servers, "show", "One server: its state, its agent, its GPUs.", "  schedulearn servers show gpu4\n",
           [this] { return show_server(context_(), name_); })
      ->add_option("name", name_, "see: schedulearn servers ls")
      ->required();
  CLI::App* add = command_(
      *servers, "add", "Let a machine join as a server: makes a token for it alone, and the line to run there.",
      "  schedulearn servers add gpu4\n  schedulearn servers add gpu4 --join http://lab:5000 --expires 2h\n",
      [this] { return add_server(context_(), name_, join_, expires_); });
  add->add_option("name", name_, "the server's name: letters, digits and . _ -")->required();
  add->add_option("--join", join_, "address at which it reaches the controller (default: that of this command)");
  add->add_option("--expires", expires_, "how long its token is valid: 2h, 90d (default: until it is revoked)");
  CLI::App* drain = command_(*servers, "drain", "Take a server out of service: nothing new starts there.",
                             "  schedulearn servers drain gpu4\n  schedulearn servers drain gpu4 --migrate\n",
                             [this] { return drain_server(context_(), name_, drain_); });
  drain->add_option("name", name_, "see: schedulearn servers ls")->required();
  drain->add_flag("--migrate", drain_.migrate,
                  "stop its jobs that have a checkpoint folder, so that they start elsewhere");
  drain->add_option("--deadline", drain_.deadline, "2h: what still runs there then is stopped and starts elsewhere");
  drain->add_option("--reason", drain_.reason, "shown wherever the server is");
  drain->add_flag("-n,--dry-run", drain_.dry_run, "only say which jobs are there, and what becomes of them");
  command_(*servers, "undrain", "Put a drained server back into service.", "  schedulearn servers undrain gpu4\n",
           [this] { return undrain_server(context_(), name_); })
      ->add_option("name", name_, "see: schedulearn servers ls")
      ->required();
  command_(*servers, "lost", "Declare a server dead: its jobs go back to the queue and start elsewhere.",
           "  schedulearn servers lost gpu4\n", [this] { return declare_server_lost(context_(), name_); })
      ->add_option("name", name_, "a server that no longer answers")
      ->required();
  command_(*servers, "release", "End a server's quarantine: jobs may start there again.",
           "  schedulearn servers release gpu4\n", [this] { return release_server(context_(), name_); })
      ->add_option("name", name_, "see: schedulearn servers ls")
      ->required();
  CLI::App* rm = command_(*servers, "rm", "Take a server that is down out of the cluster, until its agent calls again.",
                          "  schedulearn servers rm gpu4\n  schedulearn servers rm gpu4 --confirm gpu4\n",
                          [this] { return remove(); });
  rm->add_option("name", name_, "a server that is down and has no jobs")->required();
  rm->add_option("--confirm", confirmed_, "its name once more, instead of typing it when asked");
}

int ServerCommands::remove() const {
  const Context context = context_();
  const auto server = context.get("/api/v1/servers/" + net::percent_encode(name_));
  if (!server.ok()) return fail(server.error());
  if (text_at(*server, "state") == "down") {  // one that is not is refused anyhow
    const Status sure = confirm_by_name(context, "take " + name_ + " out of the cluster", name_, confirmed_);
    if (!sure.ok()) return fail(sure.error());
  }
  return remove_server(context, name_);
}

}  // namespace sl::cli
