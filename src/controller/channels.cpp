#include "controller/channels.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "controller/api.h"
#include "controller/people.h"
#include "wire/ports.h"

namespace sl::controller {
namespace {

constexpr std::size_t channels_max = 1'000, channels_of_job_max = 200, channels_of_user_max = 300;
constexpr Duration time_to_connect = Duration::whole_seconds(20);  // until the agent has connected it
constexpr std::string_view agents_path = "/api/v1/agent/channels/";

std::string random_channel() {
  std::array<unsigned char, 16> bytes{};
  SL_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "the kernel has entropy");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// "5" of "/jobs/5/proxy/notebook/tree" after "/jobs/", and the rest.
std::pair<std::string_view, std::string_view> split_part(std::string_view path) {
  const std::size_t slash = std::min(path.find('/'), path.size());
  return {path.substr(0, slash), path.substr(slash)};
}

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// What concerns one connection, or is ours.
bool is_passed_on(const std::string& name) {
  static const std::set<std::string> kept = {"connection", "keep-alive", "proxy-connection",  "proxy-authorization",
                                             "te",         "trailer",    "transfer-encoding", "content-length",
                                             "upgrade",    "expect",     "forwarded"};
  return !kept.contains(name) && !name.starts_with("x-schedulearn-") && !name.starts_with("x-forwarded-");
}

net::Response bad_gateway(const Error& error, const std::string& path) { return error_response(error, path, "", 502); }

// "a=1; Path=/; Domain=x" as a cookie of this port only.
std::string confined_cookie(const std::string& cookie, const std::string& path) {
  std::istringstream parts(cookie);
  std::string part, kept;
  for (bool is_first = true; std::getline(parts, part, ';'); is_first = false) {
    std::string name = in_lower_case(part.substr(0, part.find('=')));
    std::erase_if(name, [](char c) { return c == ' ' || c == '\t'; });  // as browsers do
    if (!is_first && (name == "path" || name == "domain")) continue;
    kept += (is_first ? "" : ";") + part;
  }
  return kept + "; Path=" + path;
}

}  // namespace

Channels::~Channels() {
  for (auto& [id, channel] : channels_) {
    channel.taken->close();
    if (channel.from_agent) channel.from_agent->close();
  }
}

std::optional<ChannelTarget> Channels::target_of(const net::Request& head) {
  const std::string_view target = head.target;
  constexpr std::string_view shells = "/api/v1/jobs/", proxies = "/jobs/";
  if (target.starts_with(shells)) {
    const auto [job, rest] = split_part(target.substr(shells.size()));
    const bool is_shell = rest == "/shell" || rest.starts_with("/shell?");
    return is_shell ? std::optional(ChannelTarget{std::string(job), "", std::string(rest)}) : std::nullopt;
  }
  if (!target.starts_with(proxies)) return std::nullopt;
  const auto [job, rest] = split_part(target.substr(proxies.size()));
  constexpr std::string_view proxy = "/proxy/";
  if (!rest.starts_with(proxy)) return std::nullopt;
  const std::string_view named = rest.substr(proxy.size());
  const std::size_t end = std::min(named.find_first_of("/?"), named.size());
  if (end == 0) return std::nullopt;
  return ChannelTarget{std::string(job), std::string(named.substr(0, end)), std::string(named.substr(end))};
}

std::optional<std::string> Channels::channel_of(const net::Request& head) {
  if (!head.target.starts_with(agents_path)) return std::nullopt;
  return head.target.substr(agents_path.size());
}

void Channels::begin(const ChannelTarget& target, net::Request head, const Identity& identity,
                     std::shared_ptr<net::TakenRequest> taken) {
  if (const Status room = check_room(target, identity); !room.ok())
    return taken->refuse(error_response(room.error(), head.path));
  if (!target.port.empty() && !target.path.starts_with('/')) {  // so that relative links mean what they should
    const std::string path = head.target.substr(0, head.target.size() - target.path.size());
    return taken->refuse({308, "text/plain", {{"Location", path + "/" + target.path}}, ""});
  }
  const bool is_upgrade = in_lower_case(head.header("upgrade").value_or("")) == "websocket";
  if (target.port.empty() && !is_upgrade)
    return taken->refuse(error_response(
        invalid("method-not-allowed", "a shell is a WebSocket").hint("schedulearn shell " + target.job), head.path));
  const std::string id = random_channel();
  Channel& channel = channels_[id];
  channel = {target, std::move(head), identity, std::move(taken)};
  channel.patience = loop_.after(time_to_connect, [this, id] {
    const std::string path = channels_.at(id).head.path;
    refuse(
        id,
        error_response(
            unavailable("server-unreachable", "the server of this job does not answer").hint("schedulearn servers ls"),
            path));
  });
  const std::weak_ptr<int> alive = alive_;
  ports_.find(
      target, channel.head, identity,
      [this, alive, id](ChannelPlace place) {
        if (!alive.expired()) found(id, std::move(place));
      },
      [this, alive, id](net::Response response) {
        if (!alive.expired()) refuse(id, std::move(response));
      });
}

Status Channels::check_room(const ChannelTarget& target, const Identity& identity) const {
  std::size_t of_job = 0, of_user = 0;
  for (const auto& [id, channel] : channels_) {
    of_job += channel.target.job == target.job;
    of_user += channel.identity.is_bounded() && channel.identity.user == identity.user;
  }
  if (identity.is_bounded() && of_user >= channels_of_user_max)
    return unavailable("too-many-shells",
                       fmt::format("{} has {} shells and connections to ports of jobs open, as many as one user may",
                                   identity.user, of_user))
        .hint("close some");
  if (channels_.size() < channels_max && of_job < channels_of_job_max) return {};
  return unavailable("too-many-shells", "too many shells and connections to ports of jobs are open").hint("close some");
}

void Channels::refuse(const std::string& id, net::Response response) {
  const auto at = channels_.find(id);
  if (at == channels_.end() || at->second.from_agent) return;
  const auto taken = at->second.taken;
  channels_.erase(at);
  taken->refuse(std::move(response));
}

void Channels::refuse(SessionId session, const wire::ChannelRefused& refused) {
  const auto at = channels_.find(refused.channel);
  if (at == channels_.end() || at->second.place.session != session) return;
  const Channel& channel = at->second;
  const std::string job = std::to_string(channel.place.incarnation.job);
  const bool has_ended = refused.code == "job-not-running";
  const Error error = has_ended
                          ? conflict("job-not-running", "job " + job + " does not run on its server any more")
                                .hint("schedulearn show " + job)
                          : unavailable(refused.code == "shell-failed" ? "shell-failed" : "port-closed", refused.text)
                                .hint("schedulearn logs " + job);
  refuse(refused.channel, has_ended ? error_response(error, channel.head.path) : bad_gateway(error, channel.head.path));
}

void Channels::end_unless(const std::function<bool(const Identity&)>& may) {
  std::vector<std::shared_ptr<net::TakenRequest>> ended;  // closing one takes it out of the list
  for (const auto& [id, channel] : channels_) {
    if (!may(channel.identity)) ended.push_back(channel.taken);
  }
  for (const auto& taken : ended) taken->close();
}

void Channels::found(const std::string& id, ChannelPlace place) {
  const auto at = channels_.find(id);
  if (at == channels_.end()) return;
  at->second.place = std::move(place);
  ports_.ask(at->second.place.session, {id, at->second.place.incarnation, at->second.target.port});
}

void Channels::accept(const std::string& id, std::shared_ptr<net::TakenRequest> from_agent) {
  const auto at = channels_.find(id);
  if (at == channels_.end() || at->second.from_agent)
    return from_agent->refuse({404, "text/plain", {}, "nobody waits for this channel\n"});
  at->second.from_agent = from_agent;
  at->second.patience.reset();
  const std::weak_ptr<int> alive = alive_;
  from_agent->switch_to("schedulearn-channel", [this, alive, id](const std::shared_ptr<net::ByteStream>& stream) {
    if (!alive.expired()) connect(id, stream);
  });
}

void Channels::connect(const std::string& id, const std::shared_ptr<net::ByteStream>& stream) {
  const auto at = channels_.find(id);
  if (at == channels_.end()) return;
  if (!stream) {
    at->second.taken->close();
    channels_.erase(at);
    return;
  }
  const std::weak_ptr<int> alive = alive_;
  at->second.taken->forward(stream, forwarding(at->second), [this, alive, id] {
    if (!alive.expired()) channels_.erase(id);
  });
}

// ---- what each side sees of the other ----

std::string Channels::cookies_for(const std::string& cookies) const {
  std::istringstream parts(cookies);
  std::string kept;
  for (std::string part; std::getline(parts, part, ';');) {
    part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    if (!ports_.is_ours(part.substr(0, part.find('=')))) kept += (kept.empty() ? "" : "; ") + part;
  }
  return kept;
}

bool Channels::is_ours(const std::string& authorization) const {
  const std::string_view secret = bearer_of(authorization);
  return People::is_named(secret) || (!ports_.token.empty() && secret == ports_.token);
}

net::Headers Channels::headers_for(const Channel& channel) const {
  net::Headers headers;
  for (const auto& [name, value] : channel.head.headers) {
    if (!is_passed_on(name)) continue;
    if (name == "authorization" && is_ours(value)) continue;
    const std::string passed = name == "cookie" ? cookies_for(value) : value;
    if (name != "cookie" || !passed.empty()) headers.emplace_back(name, passed);
  }
  headers.emplace_back("X-Schedulearn-User", net::percent_encode(channel.identity.user));
  if (channel.target.port.empty()) return headers;
  const std::string path = wire::proxy_path(channel.place.incarnation.job, channel.target.port);
  headers.emplace_back("X-Forwarded-Prefix", path.substr(0, path.size() - 1));
  headers.emplace_back("X-Forwarded-Host", channel.head.header("host").value_or(""));
  headers.emplace_back("X-Forwarded-Proto", "http");
  return headers;
}

// A page of a job has the origin of our own page. It is its user's, who may do all that it can do. To others, admins, it is
// shown without that origin, so that it cannot act for them.
net::Forwarding Channels::forwarding(const Channel& channel) const {
  net::Forwarding forwarding;
  const std::string& port = channel.target.port;
  const std::string path = wire::proxy_path(channel.place.incarnation.job, port);
  const bool is_foreign = channel.identity.user != channel.place.owner;
  forwarding.target = !port.empty() && channel.place.keep_path ? channel.head.target : channel.target.path;
  forwarding.headers = headers_for(channel);
  forwarding.edit_answer = [path, is_port = !port.empty(), keeps = channel.place.keep_path, is_foreign,
                            is_ours = ports_.is_ours](net::Headers& headers) {
    if (!is_port) return;
    std::erase_if(headers, [&](const auto& header) {
      const std::string name = in_lower_case(header.first);
      return name == "service-worker-allowed" ||
             (name == "set-cookie" && is_ours(header.second.substr(0, header.second.find('='))));
    });
    for (auto& [name, value] : headers) {
      if (in_lower_case(name) == "set-cookie") value = confined_cookie(value, path);
      if (in_lower_case(name) == "location" && !keeps && value.starts_with('/') && !value.starts_with("//"))
        value = path + value.substr(1);
    }
    if (is_foreign)
      headers.emplace_back("Content-Security-Policy", "sandbox allow-scripts allow-forms allow-popups allow-downloads");
  };
  forwarding.no_answer = [path = channel.head.path, port, job = channel.place.incarnation.job] {
    return bad_gateway(
        unavailable("port-closed", port.empty() ? "the shell has gone"
                                                : fmt::format("what listens on the port {} of job {} does "
                                                              "not speak HTTP, or closed the connection",
                                                              port, job)),
        path);
  };
  return forwarding;
}

}  // namespace sl::controller
