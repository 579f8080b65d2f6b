// Where users may talk to a job directly (channels.h).
#include <fmt/format.h>

#include "controller/api.h"
#include "controller/incarnations.h"
#include "controller/port_answers.h"
#include "wire/ports.h"

namespace sl::controller {
namespace {

Error no_such_port(const JobEntry& entry, const wire::JobSpec& spec, const std::string& name) {
  std::string known;
  for (const auto& [one, port] : spec.ports) known += (known.empty() ? "" : ", ") + one;
  return not_found("no-such-port", fmt::format("job {} publishes no port {}", entry.row.id, name))
      .hint(known.empty() ? "name it in the job file: [ports] " + name + " = 8888" : "it publishes: " + known);
}

}  // namespace

void Api::find_place(const ChannelTarget& target, net::Request request, Identity identity,
                     std::shared_ptr<net::Reply> reply, std::function<void(ChannelPlace)> found) {
  Call call{std::move(request), std::move(identity), std::move(reply), {target.job}, clock_(), ""};
  call.channel = std::make_shared<Call::Channel>(Call::Channel{target.port, std::move(found)});
  if (target.job.find('_') != std::string::npos) return resolve_member(std::move(call), &Api::find_channel);
  find_channel(std::move(call));
}

void Api::find_channel(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    const Result<ChannelPlace> place = place_of_channel(asked, entry);
    place.ok() ? asked.channel->found(*place) : asked.fail(place.error());
  });
}

// Whoever may see a port may have its browser open it. What listens there may come later.
void Api::open_port(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    const std::string& name = asked.captured.at(1);
    if (!asked.may_see(entry))
      return asked.fail(denied("not-your-job", fmt::format("job {} is {}'s, and only its user and admins get into it",
                                                           entry.row.id, entry.row.user)));
    if (!spec_of(entry).ports.contains(name)) return asked.fail(no_such_port(entry, spec_of(entry), name));
    const std::string path = wire::proxy_path(entry.row.id, name);
    const auto opened = sessions_.open_port(asked.identity, path, asked.request);
    if (!opened.ok()) return asked.fail(opened.error());
    net::Response response = json_response(201, wire::to_value(answers::OpenedPort{path, {opened->expires.us}}));
    response.headers.emplace_back("Set-Cookie", opened->cookie);
    response.headers.emplace_back("Cache-Control", "no-store");
    asked.reply->send(std::move(response));
  });
}

Result<ChannelPlace> Api::place_of_channel(const Call& call, const JobEntry& entry) const {
  const std::int64_t id = entry.row.id;
  if (const Status may = check_role(call.identity, Role::user); !may.ok()) return may.error();
  if (!call.may_see(entry))
    return denied("not-your-job",
                  fmt::format("job {} is {}'s, and only its user and admins get into it", id, entry.row.user));
  if (is_group(entry.row))
    return conflict("job-not-running", fmt::format("job {} is an array: each of its members runs by itself", id))
        .hint(fmt::format("schedulearn ls --group {}", id));
  const auto rank = call.channel->port.empty() ? call.number("rank", 0, 0, std::numeric_limits<int>::max()) : 0;
  if (!rank.ok()) return rank.error();
  if (entry.row.state != "running" || entry.row.finished_us)
    return conflict("job-not-running", fmt::format("job {} does not run: its state is {}", id, entry.row.state))
        .hint(fmt::format("schedulearn show {}", id));
  const wire::JobSpec& spec = spec_of(entry);
  const auto port = spec.ports.find(call.channel->port);
  if (!call.channel->port.empty() && port == spec.ports.end()) return no_such_port(entry, spec, call.channel->port);
  const store::PlacementRow* placement = placement_of(entry, entry.row.attempt, static_cast<int>(*rank));
  if (!placement || placement->ended_us)
    return not_found("no-such-rank", fmt::format("job {} runs on no server {}", id, *rank))
        .hint(fmt::format("schedulearn show {}", id));
  const Agent* agent = logic_.agents().by_server(placement->server);
  if (!agent || agent->session == 0)
    return unavailable("server-unreachable", "server " + placement->server + " is not connected")
        .hint("schedulearn status");
  if (!agent->hello.opens_channels)
    return unavailable("agent-too-old", "the agent of server " + placement->server + " cannot do this yet")
        .hint("update schedulearn there; its jobs run on");
  return ChannelPlace{agent->session, incarnation_of(*placement), entry.row.user,
                      port != spec.ports.end() && port->second.keep_path};
}

}  // namespace sl::controller
