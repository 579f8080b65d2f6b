#include "cli/agent_commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/describe.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/secrets.h"
#include "cli/sign_ins.h"
#include "cli/surroundings.h"
#include "cli/usage.h"
#include "wire/json.h"
#include "wire/names.h"

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

struct Joined {
  std::string url, name, token_file;  // empty: no token is needed, as on the controller's own machine
};
BOOST_DESCRIBE_STRUCT(Joined, (), (url, name, token_file))

std::string joined_file(const std::string& data) { return data + "/joined.json"; }
std::string kept_token_file(const std::string& data) { return data + "/controller-token"; }

// Nothing: the server has joined no cluster with this folder.
std::optional<Joined> joined_with(const std::string& data) {
  std::ifstream stream(joined_file(data));
  std::stringstream text;
  text << stream.rdbuf();
  const auto joined = wire::read_json<Joined>(text.str(), wire::Unknown::ignore);
  return joined.ok() ? std::optional(*joined) : std::nullopt;
}

Status write_own(const std::string& path, const std::string& text) {
  std::error_code failed;
  const mode_t before = ::umask(0077);
  fs::create_directories(fs::path(path).parent_path(), failed);
  const std::string made = path + ".new";
  fs::remove(made, failed);
  std::ofstream stream(made);
  ::umask(before);
  stream << text << std::flush;
  const bool is_written = stream.good() && ::rename(made.c_str(), path.c_str()) == 0;
  return is_written ? Status() : Status(denied("cannot-write", "cannot write " + path + ": " + std::strerror(errno)));
}

Error not_joined(const std::string& data) {
  return not_found("not-joined", "this server has joined no cluster with the data in " + data);
}

}  // namespace

void AgentCommands::add_to(CLI::App& app) {
  CLI::App* agent = app.add_subcommand("agent", "The daemon on each server: join, run, leave.");
  agent->require_subcommand(1);
  agent->fallthrough();
  CLI::App* join = command_(*agent, "join",
                            "Make this machine a server of a cluster: its controller is asked, and remembered for "
                            "agent run.",
                            "  schedulearn agent join http://lab:5000 --data /var/lib/schedulearn-agent\n"
                            "  schedulearn agent join lab:5000 --data DIR --token-file token\n",
                            [this] { return join_cluster(); });
  join->add_option("url", url_, "address of the controller")->required();
  join->add_option("--data", options_.data, "data directory of the agent")->required();
  join->add_option("--name", options_.name,
                   "the server's name (default: the one it had, that of its token, or the host's)");
  join->add_option(
      "--token-file", options_.token_file,
      "file whose first line is the token that servers add has made, or an admin's; -: standard input (default: "
      "it is asked for, or read from there, where one is needed)");
  add_run(*agent);
  CLI::App* leave = command_(*agent, "leave", "Take this server out of the cluster, once its agent has been stopped.",
                             "  schedulearn agent leave --data /var/lib/schedulearn-agent\n"
                             "  schedulearn agent leave --name gpu4 --url http://lab:5000\n",
                             [this] { return leave_cluster(); });
  leave->add_option("--data", options_.data, "data directory with which it has joined: forgets that too");
  leave->add_option("--name", options_.name,
                    "the server's name (default: that under which it has joined, or the host's)");
}

void AgentCommands::add_run(CLI::App& agent) {
  CLI::App* serve = command_(agent, "run", "Run the agent of this server in the foreground.",
                             "  schedulearn agent run --data /var/lib/schedulearn-agent\n"
                             "  schedulearn agent run --join http://lab:5000 --data /var/lib/schedulearn-agent\n",
                             [this] { return run(); });
  serve->add_option("--join", options_.join, "address of the controller (default: that of agent join)");
  serve->add_option("--data", options_.data, "data directory")->required();
  serve->add_option("--name", options_.name, "the server's name (default: that of agent join, or the host's)");
  serve->add_option("--simulate", options_.simulate, "number of simulated GPUs")->check(between(1, 64));
  serve->add_option("--gpu-type", options_.gpu_type,
                    "serve only GPUs of this name; a server with several types runs one agent per type, each with its "
                    "own --name and --data");
  add_labels(*serve, options_.labels);
  serve->add_option("--token-file", options_.token_file,
                    "file whose first line is the token made for this server, or the controller's");
  add_shells(*serve, options_.shell_keep_s);
  add_containers(*serve, options_.containers);
  add_retention(*serve, options_.keep, "the files", "they are larger");
  add_free_limit(*serve, options_.keep);
}

Result<Context> AgentCommands::admitted(const std::string& url, std::string& secret, std::string& name) const {
  Context context = context_();
  context.url = url, context.socket.clear(), context.recorded.clear();
  const bool is_typed = options_.token_file == "-";
  const auto given = is_typed                      ? secret_from("Token for " + url, "")
                     : options_.token_file.empty() ? Result<std::string>("")
                                                   : read_token_file(options_.token_file);
  if (!given.ok())
    return denied(given.error().code, given.error().message)
        .hint("an admin makes a token for this server: schedulearn servers add NAME");
  if (is_typed && given->empty())
    return denied("bad-token-file", "standard input has no token")
        .hint("echo TOKEN | schedulearn agent join " + url + " --data DIR --token-file -");
  if (is_typed) secret = *given;
  context.use_token(*given);
  auto self = context.get("/api/v1/whoami");
  const bool may_need_one = !self.ok() ? self.error().kind == ErrorKind::denied : text_at(*self, "role") != "admin";
  if (may_need_one && options_.token_file.empty()) {
    auto typed = secret_from("Token for " + url, "");
    if (!typed.ok()) return typed.error();
    secret = std::move(*typed);
    context.use_token(secret);
    self = context.get("/api/v1/whoami");
  }
  if (!self.ok() && self.error().kind == ErrorKind::denied)
    return denied(self.error().code, self.error().message)
        .hint("an admin makes a token for this server: schedulearn servers add NAME");
  if (!self.ok()) return self.error();
  const std::string role = text_at(*self, "role"), own = text_at(*self, "token");
  if (name.empty()) name = role == "agent" ? own : own_host_name();
  if (Status good = wire::check_server_name(name); !good.ok()) return good.error();
  if (role == "admin") return context;
  if (role == "agent" && name == own) return context;
  if (role == "agent")
    return denied("not-your-server", "this token was made for the server " + own + ", not for " + name)
        .hint("leave --name out");
  return denied("admins-only", text_at(*self, "user") + " is no admin of this cluster, and only admins add servers")
      .hint("ask an admin for the line that joins: schedulearn servers add " + name);
}

int AgentCommands::join_cluster() {
  const auto url = full_url(url_);
  if (!url.ok()) return fail(url.error());
  // A cluster whose controller has moved knows this server, and its token.
  const auto before = joined_with(options_.data);
  const std::string token_file = options_.token_file;
  std::string secret, name = options_.name;
  if (before && name.empty()) name = before->name;
  if (before && options_.token_file.empty()) options_.token_file = before->token_file;
  auto context = admitted(*url, secret, name);
  if (const bool is_another = before && !context.ok() && context.error().kind == ErrorKind::denied; is_another) {
    options_.token_file = token_file, name = options_.name;  // as if it had joined none
    context = admitted(*url, secret, name);
  }
  if (!context.ok()) return fail(context.error());
  std::error_code unknown;
  Joined joined{*url, name, ""};
  if (!options_.token_file.empty() && options_.token_file != "-")
    joined.token_file = fs::absolute(options_.token_file, unknown).string();
  if (!secret.empty()) {
    joined.token_file = kept_token_file(options_.data);
    if (const Status kept = write_own(joined.token_file, secret + "\n"); !kept.ok()) return fail(kept.error());
  }
  if (const Status kept = write_own(joined_file(options_.data), wire::write_json(joined) + "\n"); !kept.ok())
    return fail(kept.error());
  if (context->as_json) return context->print_json(wire::to_value(joined)), 0;
  if (!context->quiet)
    std::printf("Server %s joins %s as soon as its agent runs:\n\n  schedulearn agent run --data %s\n",
                joined.name.c_str(), joined.url.c_str(), options_.data.c_str());
  return 0;
}

int AgentCommands::run() {
  AgentOptions options = options_;
  if (options.join.empty()) {
    const auto joined = joined_with(options.data);
    if (!joined)
      return fail(not_joined(options.data)
                      .hint("schedulearn agent join URL --data " + options.data)
                      .hint("or name the controller: schedulearn agent run --join URL --data " + options.data));
    options.join = joined->url;
    if (options.name.empty()) options.name = joined->name;
    if (options.token_file.empty()) options.token_file = joined->token_file;
  }
  const auto url = full_url(options.join);
  if (!url.ok()) return fail(url.error());
  options.join = *url;
  if (!options.name.empty()) {
    if (Status good = wire::check_server_name(options.name); !good.ok()) return fail(good.error());
  }
  return roles_.agent(options);
}

int AgentCommands::leave_cluster() {
  Context context = context_();
  std::string name = options_.name;
  if (!options_.data.empty()) {
    const auto joined = joined_with(options_.data);
    if (!joined)
      return fail(not_joined(options_.data)
                      .hint("if its agent was started with --join URL: schedulearn agent leave --name NAME --url URL"));
    context.url = joined->url, context.socket.clear(), context.recorded.clear();
    context.use_token(joined->token_file.empty() ? "" : read_secret(joined->token_file));
    if (name.empty()) name = joined->name;
  }
  const int status = remove_server(context, name.empty() ? own_host_name() : name);
  if (status != 0 || options_.data.empty()) return status;
  std::error_code ignored;
  fs::remove(joined_file(options_.data), ignored);
  fs::remove(kept_token_file(options_.data), ignored);
  return 0;
}

}  // namespace sl::cli
