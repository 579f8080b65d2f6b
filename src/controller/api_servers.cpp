// Servers: one of them, letting another one in, and what admins do to them.
#include <fmt/format.h>

#include <algorithm>

#include "controller/api.h"
#include "controller/people_answers.h"
#include "controller/requests.h"
#include "controller/views.h"
#include "net/url.h"
#include "wire/intervention.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

// An address of a controller that can stand in a line for a shell. Errors: "bad-url", "https-unsupported".
Status check_join_url(const std::string& url) {
  const auto address = net::parse_url(url);
  if (!address.ok()) return Error(address.error()).at("/url");
  const bool is_plain = std::ranges::all_of(url, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".:/-_[]%~").find(c) != std::string_view::npos;
  });
  if (is_plain && url.starts_with("http://")) return {};
  return invalid("bad-url", "not an address that servers can join at: " + url)
      .hint("an address looks like http://lab:5000")
      .at("/url");
}

std::string join_command(const std::string& url, const std::string& server, const std::string& secret) {
  constexpr std::string_view data = "/var/lib/schedulearn-agent";
  return fmt::format(
      "echo {} | schedulearn agent join {} --name {} --data {} --token-file - && schedulearn agent run --data {}",
      secret, url, server, data, data);
}

// Changes with whatever an admin may change of the server, and with its state.
std::string etag_of(const Logic& logic, const Server& server) {
  const Drain* drain = logic.drains().find(server.description.name);
  return fmt::format("\"{}\"", hash_of(fmt::format("{}\n{}\n{}", server.description.name, to_string(server.state),
                                                   drain ? wire::write_json(*drain) : "")));
}

}  // namespace

// By the name that the request was sent to, if that is not only this machine's.
std::string Api::join_url(const net::Request& request) const {
  const std::string host = request.header("host").value_or("");
  const auto authority = net::parse_authority(host);
  return authority && !net::is_loopback(authority->host) ? "http://" + host : url_;
}

// The token that lets it in is the one thing that makes it a server to come, and its name that of the server.
void Api::create_server(Call call) {
  if (!people_) return call.fail(conflict("not-running", "servers join a running controller"));
  if (const Status json = expect_json(call, "a server"); !json.ok()) return call.fail(json.error());
  const auto body = wire::read_json<NewServerBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  std::string url = body->url.value_or(join_url(call.request));
  while (url.ends_with('/')) url.pop_back();
  if (const Status plain = check_join_url(url); !plain.ok()) return call.fail(plain.error());
  const auto expires = expiry_of_token(body->expires_in_s, call.now);
  if (!expires.ok()) return call.fail(expires.error());
  if (Status free = logic_.agents().check_free(body->name); !free.ok())
    return call.fail(Error(free.error()).at("/name"));
  const NewToken wanted{.user = call.user(), .name = body->name, .role = Role::agent, .expires = *expires};
  people_->add_token(wanted, call.identity, [this, call, url](const Result<People::Made>& made) {
    if (!made.ok()) return call.fail(made.error());
    const store::TokenRow& row = made->row;
    net::Response response = json_response(
        201, wire::to_value(answers::NewServer{row.name, url, join_command(url, row.name, made->secret), made->secret,
                                               row.id, answers::time_unless_zero(row.expires_us)}));
    response.headers.emplace_back("Cache-Control", "no-store");
    send_noted(call, "token.added", fmt::format("{} has a token for the server {}", row.user, row.name), response);
  });
}

void Api::get_server(Call call) {
  const Server* server = find_server(call);
  if (!server) return;
  const ServerIndex index = logic_.core().find_server(server->description.name);
  call.send(200, wire::to_value(server_view(logic_, *server, index, call.now)), etag_of(logic_, *server));
}

const Server* Api::find_server(const Call& call) const {
  const ServerIndex index = logic_.core().find_server(call.captured.front());
  if (index.valid() && logic_.core().servers()[index].state != ServerState::removed)
    return &logic_.core().servers()[index];
  call.fail(
      not_found("server-not-found", "there is no server " + call.captured.front()).hint("schedulearn servers ls"));
  return nullptr;
}

Logic::Told Api::answer_with_server(const Call& call) {
  return [this, call](const Status& status) { status.ok() ? get_server(call) : call.fail(status.error()); };
}

void Api::declare_server_lost(Call call) {
  logic_.declare_lost(call.captured.front(), call.user(), call.now, answer_with_server(call));
}

void Api::release_server(Call call) {
  logic_.release_server(call.captured.front(), call.user(), call.now, answer_with_server(call));
}

void Api::drain_server(Call call) {
  const net::Request& request = call.request;
  drain(call, {.drained = true,
               .reason = request.parameter("reason"),
               .deadline = request.parameter("deadline"),
               .migrate = request.parameter("migrate") == "true"});
}

void Api::drain(const Call& call, const ServerBody& body) {
  const std::string& server = call.captured.front();
  DrainRequest wanted{body.migrate.value_or(false), body.reason.value_or("")};
  if (body.deadline) {
    const auto seconds = wire::parse_duration_s(*body.deadline);
    if (!seconds.ok() || *seconds <= 0)
      return call.fail(invalid("bad-deadline", "deadline is no duration above zero: " + *body.deadline)
                           .hint("2h, 30m or 90s")
                           .at("/deadline"));
    wanted.deadline_us = (call.now + Duration::seconds(*seconds)).us;
  }
  if (const Status plain = wire::check_reason(wanted.reason); !plain.ok()) return call.fail(plain.error());
  if (call.request.parameter("dry_run") != "true")
    return logic_.drain_server(server, wanted, call.user(), call.now, answer_with_server(call));
  const auto drained = logic_.drains().preview(server, wanted, call.now);
  if (!drained.ok()) return call.fail(drained.error());
  answers::DrainPreview view{server, {}};
  for (const DrainedJob& each : *drained) {
    const JobEntry* entry = logic_.book().find(each.job);
    view.jobs.push_back({each.job.value, entry ? entry->row.name : "", entry ? entry->row.user : "", each.then});
  }
  call.send(200, view);
}

void Api::edit_server(Call call) {
  if (const Status json = expect_json(call, "a change of a server"); !json.ok()) return call.fail(json.error());
  const auto body = wire::read_json<ServerBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  const Server* server = find_server(call);
  if (!server) return;
  if (const Status same = call.check_match(etag_of(logic_, *server)); !same.ok()) return call.fail(same.error());
  const std::string& name = server->description.name;
  const bool is_of_drain = body->reason || body->deadline || body->migrate;
  if (body->drained.value_or(is_of_drain && logic_.drains().find(name))) return drain(call, *body);
  if (is_of_drain)
    return call.fail(conflict("server-not-drained", "reason, deadline and migrate are those of a drained server")
                         .hint("say with them: \"drained\": true"));
  const bool only_asks = call.request.parameter("dry_run") == "true";
  if (!body->drained) return only_asks ? call.send(200, answers::DrainPreview{name, {}}) : get_server(call);
  if (!only_asks) return undrain_server(std::move(call));
  const Status may = logic_.drains().may_end(name);
  may.ok() ? call.send(200, answers::DrainPreview{name, {}}) : call.fail(may.error());
}

void Api::undrain_server(Call call) {
  logic_.undrain_server(call.captured.front(), call.user(), call.now, answer_with_server(call));
}

void Api::remove_server(Call call) {
  logic_.remove_server(call.captured.front(), call.user(), call.now, [call](const Status& status) {
    status.ok() ? call.send(200, answers::RemovedServer{call.captured.front()}) : call.fail(status.error());
  });
}

}  // namespace sl::controller
