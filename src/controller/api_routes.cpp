// The table of routes: requests and the functions that answer them. Every request passes through here once.
#include <algorithm>
#include <chrono>
#include <limits>

#include "base/suggest.h"
#include "base/whole_number.h"
#include "controller/api.h"
#include "controller/views.h"
#include "wire/error.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

// A part in braces matches anything; the matched text is captured.
bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
             std::vector<std::string>& captured) {
  if (pattern.size() != path.size()) return false;
  captured.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (pattern[i].starts_with('{')) {
      captured.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return false;
    }
  }
  return true;
}

// Notes how long it took until the answer began.
class TimedReply : public net::Reply {
 public:
  TimedReply(std::shared_ptr<net::Reply> reply, std::shared_ptr<HttpTimes> times, std::string method)
      : reply_(std::move(reply)), times_(std::move(times)), method_(std::move(method)) {}
  void send(net::Response response) override {
    note(response.status);
    reply_->send(std::move(response));
  }
  std::shared_ptr<net::Stream> stream(net::Response head) override {
    note(head.status);
    return reply_->stream(std::move(head));
  }

 private:
  void note(int status) {
    const auto passed = std::chrono::steady_clock::now() - begin_;
    times_->observe(method_, status, Duration{std::chrono::duration_cast<std::chrono::microseconds>(passed).count()});
  }
  std::shared_ptr<net::Reply> reply_;
  std::shared_ptr<HttpTimes> times_;
  std::string method_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void Api::add_routes() {
  const auto add = [this](const char* method, const char* path, const char* summary, Action action,
                          std::vector<std::string> parameters = {}) {
    routes_.push_back({method, path, summary, std::move(parameters), action, parts_of(path)});
  };
  add("GET", "/healthz", "whether the controller is alive; needs no identity", &Api::healthz);
  add("GET", "/readyz", "whether submissions are accepted", &Api::healthz);
  add("GET", "/metrics", "figures for Prometheus", &Api::metrics);
  add("GET", "/api/v1", "this list", &Api::list_routes);
  add("GET", "/api/v1/jobs", "jobs, newest first", &Api::list_jobs,
      {"state", "user", "q", "group", "fields", "limit", "cursor"});
  add("POST", "/api/v1/jobs", "submit a job", &Api::create_job, {"dry_run"});
  add("GET", "/api/v1/jobs/{id}", "one job", &Api::get_job, {"fresh_ms"});
  add("PATCH", "/api/v1/jobs/{id}", "change its priority, GPUs, time limit, name, labels, or whether it is held",
      &Api::edit_job);
  add("POST", "/api/v1/jobs/{id}/cancel", "stop it, or take it out of the queue", &Api::cancel_job);
  add("POST", "/api/v1/jobs/{id}/suspend",
      "freeze it, stop it at a checkpoint or take it out of the queue, until it is resumed", &Api::intervene,
      {"dry_run"});
  add("POST", "/api/v1/jobs/{id}/resume", "put a held job back in the queue", &Api::intervene, {"dry_run"});
  add("POST", "/api/v1/jobs/{id}/release", "resume, by its older name", &Api::intervene, {"dry_run"});
  add("POST", "/api/v1/jobs/{id}/migrate", "move it to another server", &Api::intervene, {"dry_run"});
  add("POST", "/api/v1/jobs/{id}/scale", "give it another number of GPUs", &Api::intervene, {"dry_run"});
  add("POST", "/api/v1/jobs/{id}/retry", "submit a job that has ended again", &Api::retry_job, {"dry_run"});
  add("GET", "/api/v1/jobs/{id}/explain", "why it waits or runs where it does", &Api::explain_job);
  add("GET", "/api/v1/jobs/{id}/events", "what happened to it", &Api::job_events, {"since", "limit"});
  add("GET", "/api/v1/jobs/{id}/logs", "its output", &Api::get_logs,
      {"attempt", "rank", "offset", "limit", "tail", "tail_bytes"});
  add("GET", "/api/v1/jobs/{id}/logs/stream", "its output as it is written", &Api::stream_logs,
      {"attempt", "rank", "offset"});
  add("GET", "/api/v1/jobs/{id}/files", "what it has left on its server: a folder's entries, or a file",
      &Api::get_files, {"path", "attempt", "rank", "offset", "look"});
  add("GET", "/api/v1/queue", "the jobs that wait, in the policy's order", &Api::get_queue);
  add("GET", "/api/v1/cluster", "a summary of the cluster", &Api::get_cluster);
  add("GET", "/api/v1/gpus", "every GPU", &Api::list_gpus);
  add("GET", "/api/v1/servers", "every server", &Api::list_servers);
  add("GET", "/api/v1/servers/{name}", "one server", &Api::get_server);
  add("DELETE", "/api/v1/servers/{name}", "take a server that is down out of the cluster", &Api::remove_server);
  add("POST", "/api/v1/servers/{name}/lost", "declare a server dead", &Api::declare_server_lost);
  add("POST", "/api/v1/servers/{name}/drain", "take it out of service: nothing new starts there", &Api::drain_server,
      {"migrate", "deadline", "reason", "dry_run"});
  add("POST", "/api/v1/servers/{name}/undrain", "put it back into service", &Api::undrain_server);
  add("POST", "/api/v1/servers/{name}/release", "end a server's quarantine", &Api::release_server);
  add("GET", "/api/v1/policies", "all policies", &Api::list_policies);
  add("GET", "/api/v1/policies/{name}", "one of them", &Api::describe_policy);
  add("GET", "/api/v1/policy", "the current policy", &Api::get_policy);
  add("PUT", "/api/v1/policy", "choose another", &Api::put_policy);
  add("GET", "/api/v1/policy/history", "earlier policies and since when they applied", &Api::policy_history);
  add("POST", "/api/v1/policy/try", "continue other policies from the present, to compare", &Api::try_policies);
  add("POST", "/api/v1/policy/undo", "go back to the previous policy", &Api::undo_policy);
  add("GET", "/api/v1/costs", "what interruptions of trainings have cost, by family", &Api::get_costs);
  add("GET", "/api/v1/profiles", "the stored profiles of trainings", &Api::list_profiles);
  add("POST", "/api/v1/profiles", "store a profile", &Api::put_profile);
  add("GET", "/api/v1/profiles/{family}", "one profile", &Api::get_profile);
  add("DELETE", "/api/v1/profiles/{family}", "delete a profile", &Api::remove_profile);
  add("GET", "/api/v1/estimates", "how often the ranges held that were shown", &Api::list_estimates);
  add("GET", "/api/v1/whoami", "as whom this request counts", &Api::who_am_i);
  add("POST", "/api/v1/sessions", "sign a browser in", &Api::begin_session);
  add("DELETE", "/api/v1/sessions", "sign it out", &Api::end_session);
  add("POST", "/api/v1/sessions/link", "a code that signs a browser in once", &Api::make_link);
  add("GET", "/api/v1/secrets", "the names of your secrets", &Api::list_secrets);
  add("PUT", "/api/v1/secrets/{name}", "store one; the body is its value", &Api::put_secret);
  add("DELETE", "/api/v1/secrets/{name}", "remove one", &Api::remove_secret);
  add("GET", "/api/v1/snapshots", "how much code of jobs is kept, and how large a snapshot may be",
      &Api::describe_snapshots);
  add("GET", "/api/v1/snapshots/{id}", "whether a snapshot is here", &Api::get_snapshot);
  add("PUT", "/api/v1/snapshots/{id}", "send a piece of one, named by the SHA-256 of the whole", &Api::put_snapshot,
      {"offset", "size"});
  add("GET", "/api/v1/events", "what happened", &Api::list_events, {"since", "limit"});
  add("GET", "/api/v1/events/stream", "what happens, as it happens", &Api::stream_events, {"since"});
  add("POST", "/jobs", "submit a job (original API)", &Api::legacy_create);
  add("GET", "/jobs", "all jobs (original API)", &Api::legacy_list);
  add("GET", "/jobs/{id}", "one job (original API)", &Api::legacy_get);
  add("PUT", "/algorithm/{name}", "choose a policy (original API)", &Api::legacy_algorithm);
}

void Api::handle(net::Request request, Identity identity, std::shared_ptr<net::Reply> reply) {
  auto timed = std::make_shared<TimedReply>(std::move(reply), http_times_, request.method);
  Call call{std::move(request), std::move(identity), std::move(timed), {}, clock_()};
  const std::vector<std::string> path = parts_of(call.request.path);
  std::string allowed;
  for (const Route& route : routes_) {
    if (!matches(route.parts, path, call.captured)) continue;
    if (route.method != call.request.method) {
      allowed += (allowed.empty() ? "" : ", ") + route.method;
      continue;
    }
    if (const Status known = check_parameters(route, call.request); !known.ok()) return call.fail(known.error());
    const bool is_member =
        route.path.find("/jobs/{id}") != std::string::npos && call.captured.front().find('_') != std::string::npos;
    if (is_member) return resolve_member(std::move(call), route.action);
    return (this->*route.action)(std::move(call));
  }
  if (allowed.empty())
    return call.fail(not_found("no-such-path", "there is nothing at " + call.request.path).hint("see: GET /api/v1"));
  net::Response response = error_response(
      not_found("method-not-allowed", call.request.method + " is not possible here").note("possible: " + allowed),
      call.request.path);
  response.headers.emplace_back("Allow", allowed);
  call.reply->send(std::move(response));
}

Status Api::check_parameters(const Route& route, const net::Request& request) {
  for (const auto& [name, value] : request.query) {
    if (std::find(route.parameters.begin(), route.parameters.end(), name) != route.parameters.end()) continue;
    Error error = invalid("unknown-parameter", "there is no query parameter " + name + " here");
    const std::vector<std::string_view> known(route.parameters.begin(), route.parameters.end());
    if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
    std::string all;
    for (const std::string& parameter : route.parameters) all += (all.empty() ? "" : ", ") + parameter;
    error.notes.push_back(all.empty() ? "this path takes none" : "it takes: " + all);
    return error;
  }
  return {};
}

void Api::list_routes(Call call) {
  ListText items;
  for (const Route& route : routes_)
    items.add(json::object{{"method", route.method},
                           {"path", route.path},
                           {"summary", route.summary},
                           {"parameters", json::array(route.parameters.begin(), route.parameters.end())}});
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
}

Result<std::int64_t> Api::Call::number(std::string_view name, std::int64_t other, std::int64_t min,
                                       std::int64_t max) const {
  const auto text = request.parameter(name);
  if (!text) return other;
  const auto number = parse_whole_number(*text);
  if (number && *number >= min && *number <= max) return *number;
  const std::string range = max == std::numeric_limits<std::int64_t>::max()
                                ? std::to_string(min) + " or more"
                                : std::to_string(min) + " to " + std::to_string(max);
  return invalid("bad-parameter", std::string(name) + " is a whole number, " + range + "; not " + *text);
}

}  // namespace sl::controller
