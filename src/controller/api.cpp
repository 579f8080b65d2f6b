#include "controller/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "controller/policy_views.h"
#include "controller/views.h"
#include "wire/error.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
             std::vector<std::string>& captured) {
  if (pattern.size() != path.size()) return false;
  captured.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (pattern[i] == "{}") {
      captured.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return false;
    }
  }
  return true;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

bool is_json(const net::Request& request) {
  const auto type = request.header("content-type");
  return type && type->starts_with("application/json");
}

// FNV-1a: tells two bodies of one idempotency key apart; no secret depends on it.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

Error unknown_job(const std::string& id) {
  return not_found("job-not-found", "there is no job " + id).hint("schedulearn ls");
}

}  // namespace

net::Response json_response(int status, const json::value& body) {
  return {status, "application/json", {}, json::serialize(body) + "\n"};
}

net::Response error_response(const Error& error, const std::string& path) {
  return {wire::http_status(error), "application/problem+json", {}, wire::problem_json(error, path) + "\n"};
}

std::string Api::Call::user() const { return request.header("x-schedulearn-user").value_or("anonymous"); }

void Api::add(const char* method, const char* path, Action action) { routes_.push_back({method, split(path), action}); }

void Api::add_routes() {
  add("GET", "/healthz", &Api::healthz);
  add("GET", "/readyz", &Api::healthz);
  add("GET", "/api/v1/jobs", &Api::list_jobs);
  add("POST", "/api/v1/jobs", &Api::create_job);
  add("GET", "/api/v1/jobs/{}", &Api::get_job);
  add("POST", "/api/v1/jobs/{}/cancel", &Api::cancel_job);
  add("GET", "/api/v1/jobs/{}/explain", &Api::explain_job);
  add("GET", "/api/v1/jobs/{}/events", &Api::job_events);
  add("GET", "/api/v1/jobs/{}/logs", &Api::get_logs);
  add("GET", "/api/v1/jobs/{}/logs/stream", &Api::stream_logs);
  add("GET", "/api/v1/queue", &Api::get_queue);
  add("GET", "/api/v1/cluster", &Api::get_cluster);
  add("GET", "/api/v1/gpus", &Api::list_gpus);
  add("GET", "/api/v1/servers", &Api::list_servers);
  add("POST", "/api/v1/servers/{}/lost", &Api::declare_server_lost);
  add("GET", "/api/v1/policies", &Api::list_policies);
  add("GET", "/api/v1/policies/{}", &Api::describe_policy);
  add("GET", "/api/v1/policy", &Api::get_policy);
  add("PUT", "/api/v1/policy", &Api::put_policy);
  add("GET", "/api/v1/policy/history", &Api::policy_history);
  add("POST", "/api/v1/policy/undo", &Api::undo_policy);
  add("GET", "/api/v1/events", &Api::list_events);
  add("POST", "/jobs", &Api::legacy_create);
  add("GET", "/jobs", &Api::legacy_list);
  add("GET", "/jobs/{}", &Api::legacy_get);
  add("PUT", "/algorithm/{}", &Api::legacy_algorithm);
}

void Api::handle(net::Request request, std::shared_ptr<net::Reply> reply) {
  Call call{std::move(request), std::move(reply), {}, clock_()};
  const std::vector<std::string> path = split(call.request.path);
  std::string allowed;
  for (const Route& route : routes_) {
    if (!matches(route.path, path, call.captured)) continue;
    if (route.method == call.request.method) return (this->*route.action)(std::move(call));
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (!allowed.empty()) {
    net::Response response = error_response(
        not_found("method-not-allowed", call.request.method + " is not possible here").note("possible: " + allowed),
        call.request.path);
    response.headers.emplace_back("Allow", allowed);
    return call.reply->send(std::move(response));
  }
  call.fail(not_found("no-such-path", "there is nothing at " + call.request.path).hint("the API is at /api/v1/"));
}

std::optional<JobId> Api::job_id(const Call& call) const {
  const auto number = whole_number(call.captured.front());
  return number ? std::optional(JobId(*number)) : std::nullopt;
}

JobEntry* Api::entry_of(const Call& call) {
  const auto id = job_id(call);
  JobEntry* entry = id ? const_cast<JobBook&>(logic_.book()).find(*id) : nullptr;
  if (!entry) call.fail(unknown_job(call.captured.front()));
  return entry;
}

void Api::healthz(Call call) {
  if (logic_.recorder().is_refusing() && call.request.path == "/readyz") return call.fail(logic_.recorder().failure());
  call.send(200, json::object{{"status", "ok"}, {"version", logic_.settings().version}});
}

// ---- jobs ----

void Api::list_jobs(Call call) {
  const auto states = call.request.parameter("state");
  const auto user = call.request.parameter("user");
  const auto word = call.request.parameter("q");
  const auto limit = whole_number(call.request.parameter("limit").value_or("100"));
  const auto cursor = whole_number(call.request.parameter("cursor").value_or("0"));
  if (!limit || *limit < 1 || *limit > 100'000) return call.fail(invalid("bad-limit", "limit must be 1 to 100000"));
  if (!cursor || *cursor < 0) return call.fail(invalid("bad-cursor", "not a cursor of this list"));
  if (states) {
    for (std::string_view rest = *states; !rest.empty();) {
      const std::string_view state = rest.substr(0, rest.find(','));
      if (!parse_job_state(state))
        return call.fail(invalid("bad-state", "there is no job state " + std::string(state)));
      rest.remove_prefix(std::min(rest.size(), state.size() + 1));
    }
  }
  ListText items;
  std::size_t total = 0;
  std::int64_t last = 0;
  bool more = false;
  logic_.book().for_each([&](const JobEntry& entry) {
    const bool wanted = (!states || ("," + *states + ",").find("," + entry.row.state + ",") != std::string::npos) &&
                        (!user || *user == entry.row.user) &&
                        (!word || entry.row.name.find(*word) != std::string::npos);
    if (!wanted) return;
    ++total;
    if (*cursor > 0 && entry.row.id >= *cursor) return;
    if (items.count() >= static_cast<std::size_t>(*limit)) {
      more = true;
      return;
    }
    last = entry.row.id;
    items.add_text(job_text(logic_, entry, call.now));
  });
  call.send(std::move(items).end(total, more ? json::value(std::to_string(last)) : json::value(nullptr)));
}

void Api::create_job(Call call) { submit(std::move(call), false); }

void Api::submit(Call call, bool legacy) {
  if (!is_json(call.request))
    return call.fail(invalid("media-type", "a submission is JSON: Content-Type: application/json"));
  Logic::Submission submission;
  Result<wire::JobSpec> spec = wire::parse_job_json(call.request.body, "/");
  if (!spec.ok()) return call.fail(spec.error());
  submission.spec = std::move(*spec);
  if (submission.spec.user.empty()) submission.spec.user = call.user();
  submission.idempotency_key = call.request.header("idempotency-key").value_or("");
  submission.body_hash = hash_of(call.request.body);
  if (submission.idempotency_key.size() > 200)
    return call.fail(invalid("bad-idempotency-key", "an idempotency key has at most 200 bytes"));
  if (call.request.parameter("dry_run") == "true") {
    if (const Status checked = logic_.check(submission.spec); !checked.ok()) return call.fail(checked.error());
    return call.send(200, json::object{{"spec", wire::to_value(submission.spec)}, {"would_start", true}});
  }
  logic_.submit(std::move(submission), call.now, [this, call, legacy](Result<JobId> job) {
    if (!job.ok()) return call.fail(job.error());
    const JobEntry* entry = logic_.book().find(*job);
    if (!entry) return call.fail(unknown_job(std::to_string(job->value)));
    json::object body = legacy ? legacy_job_view(*entry) : job_view(logic_, *entry, clock_());
    if (legacy) body["message"] = "Job created successfully";
    net::Response response = json_response(201, body);
    response.headers.emplace_back("Location", fmt::format("/api/v1/jobs/{}", job->value));
    if (legacy)
      response.headers.emplace_back("Deprecation", "true"),
          response.headers.emplace_back("Link", "</api/v1/jobs>; rel=\"successor-version\"");
    call.reply->send(std::move(response));
  });
}

void Api::get_job(Call call) {
  if (const JobEntry* entry = entry_of(call)) call.send(200, job_view(logic_, *entry, call.now));
}

void Api::cancel_job(Call call) {
  const auto id = job_id(call);
  if (!id) return call.fail(unknown_job(call.captured.front()));
  logic_.cancel(*id, call.user(), call.now, [this, call](Result<JobId> job) {
    if (!job.ok()) return call.fail(job.error());
    const JobEntry* entry = logic_.book().find(*job);
    entry ? call.send(202, job_view(logic_, *entry, clock_())) : call.fail(unknown_job(call.captured.front()));
  });
}

void Api::explain_job(Call call) {
  if (const JobEntry* entry = entry_of(call)) call.send(200, explain_view(logic_, *entry, call.now));
}

void Api::get_queue(Call call) {
  ListText items;
  for (const JobIndex index : logic_.core().queue_order(call.now)) {
    const JobEntry* entry = logic_.book().find(logic_.core().job(index).request.id);
    if (entry) items.add_text(job_text(logic_, *entry, call.now));
  }
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
}

// ---- cluster ----

void Api::get_cluster(Call call) { call.send(200, cluster_view(logic_, call.now)); }

void Api::list_servers(Call call) {
  ListText items;
  for (std::size_t s = 0; s < logic_.core().servers().size(); ++s) {
    const ServerIndex index(static_cast<std::uint32_t>(s));
    items.add(server_view(logic_, logic_.core().servers()[index], index));
  }
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
}

void Api::declare_server_lost(Call call) {
  const std::string& name = call.captured.front();
  logic_.declare_lost(name, call.user(), call.now, [this, call, name](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    const ServerIndex index = logic_.core().find_server(name);
    call.send(200, server_view(logic_, logic_.core().servers()[index], index));
  });
}

void Api::list_gpus(Call call) {
  ListText items;
  for (std::size_t s = 0; s < logic_.core().servers().size(); ++s) {
    const ServerIndex index(static_cast<std::uint32_t>(s));
    const Server& server = logic_.core().servers()[index];
    for (int gpu = 0; gpu < server.description.gpus; ++gpu) items.add(gpu_view(logic_, server, index, gpu));
  }
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
}

// ---- policy ----

void Api::list_policies(Call call) {
  ListText items;
  const MissingFacts missing = missing_facts(logic_.core());
  for (const PolicyEntry& entry : policies()) items.add(policy_info_view(entry.info, missing));
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
}

void Api::describe_policy(Call call) {
  if (call.captured.front() == logic_.policy().name)
    return call.send(200, policy_info_view(logic_.policy_info(), missing_facts(logic_.core())));
  const PolicyEntry* entry = find_policy(call.captured.front());
  if (!entry) return call.fail(unknown_policy(call.captured.front()));
  call.send(200, policy_info_view(entry->info, missing_facts(logic_.core())));
}

void Api::get_policy(Call call) { call.send(200, policy_view(logic_)); }

namespace {

struct PolicyBody {
  std::string name;
  std::optional<std::map<std::string, json::value>> parameters;
  std::optional<std::string> source;
};
BOOST_DESCRIBE_STRUCT(PolicyBody, (), (name, parameters, source))

std::string parameter_text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

}  // namespace

void Api::put_policy(Call call) {
  if (!is_json(call.request))
    return call.fail(invalid("media-type", "a policy change is JSON: Content-Type: application/json"));
  const auto body = wire::read_json<PolicyBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  PolicyChange change{body->name};
  if (body->parameters) {
    for (const auto& [name, value] : *body->parameters) change.parameters.emplace_back(name, parameter_text(value));
  }
  if (body->source) {
    if (body->source->empty())
      return call.fail(invalid("policy-empty", "the source of the policy is empty").at("/source"));
    change.source = *body->source;
    if (!change.name.ends_with(".py")) change.name += ".py";
  }
  logic_.set_policy(std::move(change), call.user(), call.now, [this, call](const Status& status) {
    status.ok() ? call.send(200, policy_view(logic_)) : call.fail(status.error());
  });
}

void Api::policy_history(Call call) {
  ListText items;
  const auto& history = logic_.policy_history();
  for (auto row = history.rbegin(); row != history.rend(); ++row) items.add(policy_change_view(*row));
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
}

void Api::undo_policy(Call call) {
  logic_.undo_policy(call.user(), call.now, [this, call](const Status& status) {
    status.ok() ? call.send(200, policy_view(logic_)) : call.fail(status.error());
  });
}

// ---- events ----

void Api::list_events(Call call) {
  const auto since = whole_number(call.request.parameter("since").value_or("0"));
  const auto limit = whole_number(call.request.parameter("limit").value_or("100"));
  if (!since || !limit || *limit < 1 || *limit > 10'000)
    return call.fail(invalid("bad-limit", "since is an event's seq, limit 1 to 10000"));
  const auto& latest = logic_.recorder().latest_events();
  ListText items;
  std::int64_t last = 0;
  // Without `since`: the newest. With it: what came after.
  const bool newest = *since == 0 && latest.size() > static_cast<std::size_t>(*limit);
  for (std::size_t i = newest ? latest.size() - static_cast<std::size_t>(*limit) : 0;
       i < latest.size() && items.count() < static_cast<std::size_t>(*limit); ++i) {
    if (latest[i].seq <= *since) continue;
    items.add(event_view(latest[i]));
    last = latest[i].seq;
  }
  const json::value next = last == 0 ? json::value(nullptr) : json::value(std::to_string(last));
  call.send(std::move(items).end(latest.size(), next));
}

void Api::job_events(Call call) {
  const JobEntry* entry = entry_of(call);
  if (!entry) return;
  ListText items;
  for (const store::EventRow& row : logic_.recorder().latest_events()) {
    if (row.job_id == entry->row.id) items.add(event_view(row));
  }
  const std::size_t total = items.count();
  call.send(std::move(items).end(total));
}

// ---- the original API ----

void Api::legacy_create(Call call) { submit(std::move(call), true); }

void Api::legacy_list(Call call) {
  json::array rows;
  logic_.book().for_each([&](const JobEntry& entry) { rows.push_back(legacy_job_view(entry)); });
  call.send(200, rows);
}

void Api::legacy_get(Call call) {
  if (const JobEntry* entry = entry_of(call)) call.send(200, legacy_job_view(*entry));
}

void Api::legacy_algorithm(Call call) {
  if (!find_policy(call.captured.front())) return call.send(400, json::object{{"detail", "Invalid algorithm"}});
  logic_.set_policy({call.captured.front()}, call.user(), call.now, [this, call](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    call.send(200, json::object{{"message", "Algorithm changed to " + logic_.policy_info().title}});
  });
}

}  // namespace sl::controller
