// The table of routes: requests and the functions that answer them. Every request passes through here once.
#include <fmt/format.h>

#include <algorithm>

#include "controller/answers.h"
#include "controller/api.h"
#include "controller/edit_preview.h"
#include "controller/noted_reply.h"
#include "controller/original_answers.h"
#include "controller/people_answers.h"
#include "controller/policy_answers.h"
#include "controller/port_answers.h"
#include "controller/requests.h"
#include "controller/shadow_answers.h"
#include "controller/simulation_answers.h"
#include "controller/usage.h"
#include "policies/catalogue.h"
#include "wire/error.h"
#include "wire/json_text.h"
#include "wire/request_schemas.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

RouteInfo get(const char* path, const char* summary, DocumentInfo answer, std::vector<std::string> parameters = {}) {
  return {.method = "GET",
          .path = path,
          .summary = summary,
          .parameters = std::move(parameters),
          .answer = std::move(answer)};
}

// A change, which answers 202 with the job.
RouteInfo job_change(const char* path, const char* summary, DocumentInfo body = {}) {
  return {.method = "POST",
          .path = path,
          .summary = summary,
          .parameters = {"dry_run"},
          .body = std::move(body),
          .body_may_be_empty = true,
          .status = 202,
          .answer = answer<answers::ChangedJob>("ChangedJob"),
          .preview = answer<answers::Preview>("Preview")};
}

RouteInfo removal(const char* path, const char* summary, DocumentInfo answer) {
  return {.method = "DELETE", .path = path, .summary = summary, .answer = std::move(answer)};
}

RouteInfo server_change(const char* path, const char* summary) {
  return {.method = "POST", .path = path, .summary = summary, .answer = answer<answers::Server>("Server")};
}

Error too_many_requests() {
  return unavailable("too-many-requests", fmt::format("more than {:.0f} requests a second", RateLimits::per_second))
      .hint("ask again a moment later, for lists instead of single jobs, or follow GET /api/v1/events/stream");
}

RouteInfo stream(RouteInfo route, const char* content_type) {
  route.content_type = content_type;
  return route;
}

RouteInfo heeding(RouteInfo route, std::vector<std::string> headers) {
  route.headers = std::move(headers);
  return route;
}

// Of the original API; `successor` is what replaces it.
RouteInfo original(RouteInfo route, const char* successor) {
  route.successor = successor;
  return route;
}

DocumentInfo job_body() { return {"JobFile", wire::job_schema}; }

// Jobs as in JobFile.
DocumentInfo batch_body() {
  return {"JobBatch", [] {
            const json::object job{{"$ref", "#/components/schemas/JobFile"}};
            return json::object{{"type", "object"},
                                {"required", json::array{"jobs"}},
                                {"additionalProperties", false},
                                {"properties", json::object{{"jobs", wire::detail::list_of(job)}}}};
          }};
}

DocumentInfo intervention(const char* name, const char* verb) {
  return {name, [verb] { return wire::intervention_schema(verb); }};
}

RouteInfo submission(const char* path, const char* summary, DocumentInfo body, DocumentInfo answer) {
  return {.method = "POST",
          .path = path,
          .summary = summary,
          .headers = {"Idempotency-Key"},
          .body = std::move(body),
          .status = 201,
          .answer = std::move(answer)};
}

}  // namespace

void Api::add_routes() {
  using namespace answers;
  // `needs`: of who asks, at least. Whose job or token it is, is up to the route.
  const auto add = [this](Role needs, Action action, RouteInfo route) {
    std::vector<std::string> parts = path_parts(route.path);
    route.needs = needs;
    routes_.push_back({std::move(route), action, std::move(parts)});
  };
  const DocumentInfo job = answer<Job>("Job"), server = answer<answers::Server>("Server");
  add(Role::viewer, &Api::healthz,
      get("/healthz", "whether the controller is alive; needs no identity", answer<Health>("Health")));
  add(Role::viewer, &Api::healthz, get("/readyz", "whether submissions are accepted", answer<Health>("Health")));
  add(Role::viewer, &Api::metrics, stream(get("/metrics", "figures for Prometheus", {}), "text/plain"));
  add(Role::viewer, &Api::list_routes,
      get("/api/v1", "this list", list_of<Operation>("Operation"), {"limit", "cursor"}));
  add(Role::viewer, &Api::get_openapi,
      get("/api/v1/openapi.json", "this API as an OpenAPI document", answer<wire::Object>("OpenApi")));
  add(Role::viewer, &Api::get_docs, stream(get("/api/docs", "this API for people", {}), "text/html"));
  add(Role::viewer, &Api::get_docs_style, stream(get("/api/docs/style.css", "how that looks", {}), "text/css"));

  add(Role::viewer, &Api::list_jobs,
      get("/api/v1/jobs", "jobs, newest first", list_of<Job>("JobInList", wire::KeysOf::partial),
          {"state", "user", "server", "label", "q", "since", "until", "group", "grouped", "fields", "before", "sort",
           "limit", "cursor"}));
  RouteInfo submit = submission("/api/v1/jobs", "submit a job", job_body(), job);
  submit.parameters = {"dry_run"};
  submit.preview = answer<CheckedJob>("CheckedJob");
  add(Role::user, &Api::create_job, std::move(submit));
  add(Role::user, &Api::create_jobs,
      submission("/api/v1/jobs/batch", "submit several jobs, all or none", batch_body(), list_of<Job>("Job")));
  add(Role::viewer, &Api::get_job, get("/api/v1/jobs/{id}", "one job", answer<JobDetails>("JobDetails"), {"fresh_ms"}));
  add(Role::user, &Api::edit_job,
      {.method = "PATCH",
       .path = "/api/v1/jobs/{id}",
       .summary = "change its priority or place in line, GPUs, time limit, name, labels, who is told of it, or "
                  "whether it is held",
       .parameters = {"dry_run"},
       .headers = {"If-Match"},
       .body = {"JobChange", wire::job_change_schema},
       .status = 202,
       .answer = job,
       .preview = answer<EditPreview>("EditPreview")});
  add(Role::user, &Api::cancel_job,
      {.method = "POST",
       .path = "/api/v1/jobs/{id}/cancel",
       .summary = "stop it, or take it out of the queue",
       .body = {"Cancellation", wire::cancellation_schema},
       .body_may_be_empty = true,
       .status = 202,
       .answer = job});
  add(Role::user, &Api::signal_job,
      {.method = "POST",
       .path = "/api/v1/jobs/{id}/signal",
       .summary = "send its processes a signal; what they do then is up to them",
       .body = {"Signal", wire::signal_schema},
       .status = 202,
       .answer = job});
  add(Role::user, &Api::remove_job,
      removal("/api/v1/jobs/{id}", "remove a job that has ended, with its events, for good",
              answer<RemovedJob>("RemovedJob")));
  add(Role::user, &Api::intervene,
      job_change("/api/v1/jobs/{id}/suspend",
                 "freeze it, stop it at a checkpoint or take it out of the queue, until it is resumed",
                 intervention("Suspension", "suspend")));
  add(Role::user, &Api::intervene,
      job_change("/api/v1/jobs/{id}/resume", "put a held job back in the queue", intervention("Resumption", "resume")));
  add(Role::user, &Api::intervene,
      job_change("/api/v1/jobs/{id}/release", "resume, by its older name", intervention("Resumption", "resume")));
  add(Role::user, &Api::intervene,
      job_change("/api/v1/jobs/{id}/migrate", "move it to another server", intervention("Migration", "migrate")));
  RouteInfo scale =
      job_change("/api/v1/jobs/{id}/scale", "give it another number of GPUs", intervention("Scale", "scale"));
  scale.body_may_be_empty = false;
  add(Role::user, &Api::intervene, std::move(scale));
  RouteInfo retry = submission("/api/v1/jobs/{id}/retry", "submit a job that has ended again", {}, job);
  retry.parameters = {"after", "dry_run", "members"};
  retry.preview = answer<Preview>("Preview");
  add(Role::user, &Api::retry_job, std::move(retry));
  add(Role::viewer, &Api::explain_job,
      get("/api/v1/jobs/{id}/explain", "why it waits or runs where it does, now or at a moment of the past",
          answer<Explanation>("Explanation"), {"at"}));
  add(Role::viewer, &Api::job_events,
      get("/api/v1/jobs/{id}/events", "what happened to it", list_of<Event>("Event"),
          {"progress", "notable", "since", "until", "limit", "cursor"}));
  add(Role::viewer, &Api::job_attempts,
      get("/api/v1/jobs/{id}/attempts", "where each of its attempts ran", list_of<Attempt>("Attempt"),
          {"limit", "cursor"}));
  add(Role::viewer, &Api::get_logs,
      heeding(stream(get("/api/v1/jobs/{id}/logs", "its output", {},
                         {"attempt", "rank", "offset", "limit", "tail", "tail_bytes", "timestamps"}),
                     "text/plain"),
              {"Range"}));
  add(Role::viewer, &Api::stream_logs,
      heeding(stream(get("/api/v1/jobs/{id}/logs/stream", "its output as it is written", {},
                         {"attempt", "rank", "offset", "tail", "timestamps"}),
                     "text/event-stream"),
              {"Last-Event-ID"}));
  add(Role::viewer, &Api::job_series,
      get("/api/v1/jobs/{id}/metrics", "the GPUs of its latest attempt, while it had them",
          answer<SeriesDocument>("Series"), {"hours"}));
  add(Role::viewer, &Api::job_usage,
      get("/api/v1/jobs/{id}/usage", "GPU time, time in each state, energy and memory", answer<Usage>("Usage")));
  add(Role::viewer, &Api::get_files,
      get("/api/v1/jobs/{id}/files", "what it has left on its server: a folder's entries, or a file",
          answer<LeftFiles>("LeftFiles"), {"path", "attempt", "rank", "offset", "look"}));
  add(Role::viewer, &Api::get_diff,
      stream(get("/api/v1/jobs/{id}/diff", "what its code differs in from the commit", {}), "text/plain"));

  add(Role::viewer, &Api::get_queue,
      get("/api/v1/queue", "the jobs that wait, in the policy's order", list_of<std::optional<QueuedJob>>("QueuedJob"),
          {"grouped", "user", "limit", "cursor"}));
  add(Role::viewer, &Api::get_cluster, get("/api/v1/cluster", "a summary of the cluster", answer<Cluster>("Cluster")));
  add(Role::viewer, &Api::cluster_series,
      get("/api/v1/cluster/metrics", "GPUs in use and jobs over the last hours", answer<SeriesDocument>("Series"),
          {"hours", "by"}));
  add(Role::viewer, &Api::cluster_forecast,
      get("/api/v1/cluster/forecast", "how many GPUs jobs will hold over the next hours",
          answer<SeriesDocument>("Series"), {"hours"}));
  add(Role::viewer, &Api::examine,
      get("/api/v1/doctor", "what is right and wrong here, and what to do", list_of<Finding>("Finding"),
          {"server", "limit", "cursor"}));
  add(Role::viewer, &Api::list_gpus,
      get("/api/v1/gpus", "every GPU", list_of<Gpu>("Gpu"), {"server", "condition", "limit", "cursor"}));
  add(Role::viewer, &Api::list_servers,
      get("/api/v1/servers", "every server", list_of<answers::Server>("Server"),
          {"state", "label", "limit", "cursor"}));
  add(Role::admin, &Api::create_server,
      {.method = "POST",
       .path = "/api/v1/servers",
       .summary = "let a server join: the line to run there, and its token, which is in the answer and nowhere else",
       .body = request<NewServerBody>("ServerWanted"),
       .status = 201,
       .answer = answer<answers::NewServer>("NewServer")});
  add(Role::viewer, &Api::get_server, get("/api/v1/servers/{name}", "one server", server));
  add(Role::viewer, &Api::server_series,
      get("/api/v1/servers/{name}/metrics", "its GPUs over the last hours", answer<SeriesDocument>("Series"),
          {"hours"}));
  add(Role::admin, &Api::edit_server,
      {.method = "PATCH",
       .path = "/api/v1/servers/{name}",
       .summary = "drain it, change why or until when it is drained, or put it back into service",
       .parameters = {"dry_run"},
       .headers = {"If-Match"},
       .body = request<ServerBody>("ServerChange"),
       .answer = server,
       .preview = answer<DrainPreview>("DrainPreview")});
  RouteInfo leave = removal("/api/v1/servers/{name}", "take a server that is down out of the cluster",
                            answer<RemovedServer>("RemovedServer"));
  leave.is_for_its_agent = true;
  add(Role::admin, &Api::remove_server, std::move(leave));
  add(Role::admin, &Api::declare_server_lost, server_change("/api/v1/servers/{name}/lost", "declare a server dead"));
  RouteInfo drain = server_change("/api/v1/servers/{name}/drain", "take it out of service: nothing new starts there");
  drain.parameters = {"migrate", "deadline", "reason", "dry_run"};
  drain.preview = answer<DrainPreview>("DrainPreview");
  add(Role::admin, &Api::drain_server, std::move(drain));
  add(Role::admin, &Api::undrain_server, server_change("/api/v1/servers/{name}/undrain", "put it back into service"));
  add(Role::admin, &Api::release_server, server_change("/api/v1/servers/{name}/release", "end a server's quarantine"));

  add(Role::viewer, &Api::list_policies,
      get("/api/v1/policies", "all policies", list_of<PolicyDescription>("PolicyDescription"), {"limit", "cursor"}));
  add(Role::viewer, &Api::describe_policy,
      get("/api/v1/policies/{name}", "one of them", answer<PolicyDescription>("PolicyDescription")));
  add(Role::viewer, &Api::get_policy, get("/api/v1/policy", "the current policy", answer<answers::Policy>("Policy")));
  add(Role::admin, &Api::put_policy,
      {.method = "PUT",
       .path = "/api/v1/policy",
       .summary = "choose another",
       .headers = {"If-Match"},
       .body = request<PolicyBody>("PolicyChoice"),
       .answer = answer<ChosenPolicy>("ChosenPolicy")});
  add(Role::admin, &Api::plan_policy,
      {.method = "PUT",
       .path = "/api/v1/policy/planned",
       .summary = "switch to another one later, at a time",
       .body = request<PlanBody>("PlannedPolicyChoice"),
       .answer = answer<answers::Policy>("Policy")});
  add(Role::admin, &Api::call_off_policy,
      removal("/api/v1/policy/planned", "call that off", answer<answers::Policy>("Policy")));
  add(Role::viewer, &Api::policy_history,
      get("/api/v1/policy/history", "earlier policies and since when they applied",
          list_of<EarlierPolicy>("EarlierPolicy"), {"limit", "cursor"}));
  add(Role::user, &Api::try_policies,
      {.method = "POST",
       .path = "/api/v1/policy/try",
       .summary = "continue other policies from the present, to compare",
       .body = request<TryBody>("PoliciesToTry"),
       .answer = answer<Tried>("TriedPolicies")});
  add(Role::user, &Api::try_policies,
      {.method = "POST",
       .path = "/api/v1/policy/preview",
       .summary = "try, by another name",
       .body = request<TryBody>("PoliciesToTry"),
       .answer = answer<Tried>("TriedPolicies")});
  add(Role::viewer, &Api::get_shadow,
      get("/api/v1/policy/shadow", "the policy that follows without deciding, and what it would change",
          answer<ShadowPolicy>("ShadowPolicy")));
  add(Role::admin, &Api::put_shadow,
      {.method = "PUT",
       .path = "/api/v1/policy/shadow",
       .summary = "have a policy follow the live events without deciding",
       .body = request<PolicyBody>("PolicyChoice"),
       .answer = answer<ShadowPolicy>("ShadowPolicy")});
  add(Role::admin, &Api::end_shadow,
      removal("/api/v1/policy/shadow", "have none follow any more", answer<ShadowPolicy>("ShadowPolicy")));
  add(Role::viewer, &Api::get_shadow_series,
      get("/api/v1/policy/shadow/series", "what it would have changed, over time", answer<SeriesDocument>("Series"),
          {"limit"}));
  add(Role::admin, &Api::undo_policy,
      {.method = "POST",
       .path = "/api/v1/policy/undo",
       .summary = "go back to the previous policy",
       .answer = answer<ChosenPolicy>("ChosenPolicy")});

  add(Role::user, &Api::create_simulation,
      {.method = "POST",
       .path = "/api/v1/simulations",
       .summary = "simulate policies on a trace, a workload or this cluster's past",
       .body = request<SimulationBody>("NewSimulation"),
       .status = 202,
       .answer = answer<Simulation>("Simulation")});
  add(Role::viewer, &Api::list_simulations,
      get("/api/v1/simulations", "the simulations that are kept, newest first", list_of<Simulation>("Simulation"),
          {"limit", "cursor"}));
  add(Role::viewer, &Api::get_simulation,
      get("/api/v1/simulations/{id}", "one, with the figures of its runs",
          answer<SimulationDetails>("SimulationDetails")));
  add(Role::viewer, &Api::list_simulation_results,
      get("/api/v1/simulations/{id}/results", "the figures of its runs", list_of<SimulationResult>("SimulationResult"),
          {"limit", "cursor"}));
  add(Role::viewer, &Api::list_simulated_jobs,
      get("/api/v1/simulations/{id}/jobs", "the jobs of one of its runs, when each started and ended",
          list_of<SimulatedJob>("SimulatedJob"), {"result", "limit", "cursor"}));
  add(Role::user, &Api::remove_simulation,
      removal("/api/v1/simulations/{id}", "remove one; it is stopped if it runs",
              answer<RemovedSimulation>("RemovedSimulation")));
  add(Role::viewer, &Api::get_simulation_chart,
      get("/api/v1/simulations/{id}/charts/{kind}", "its results as a picture: cdf, bars, util, queue or gantt",
          answer<SimulationChart>("SimulationChart"), {"by", "metric", "result", "theme", "width_mm"}));
  add(Role::viewer, &Api::list_workloads,
      get("/api/v1/workloads", "the workloads that simulations can have made for them", list_of<Workload>("Workload"),
          {"limit", "cursor"}));
  add(Role::viewer, &Api::list_traces,
      get("/api/v1/traces", "what simulations can use: traces that users have uploaded, then workloads",
          list_of<Trace>("Trace"), {"uploaded", "limit", "cursor"}));
  add(Role::user, &Api::upload_trace,
      {.method = "POST",
       .path = "/api/v1/traces",
       .summary = "upload a trace, or a piece of one; the body is CSV, plain or gzip",
       .parameters = {"name", "offset", "size"},
       .answer = answer<TraceUpload>("TraceUpload")});
  add(Role::viewer, &Api::get_trace,
      get("/api/v1/traces/{name}", "one of them, with the figures of its jobs", answer<Trace>("Trace")));
  add(Role::viewer, &Api::get_trace,
      get("/api/v1/traces/thesis/{name}", "the same of one whose name begins with thesis/", answer<Trace>("Trace")));
  add(Role::user, &Api::remove_trace,
      removal("/api/v1/traces/{name}", "remove one that was uploaded; simulations keep what they use",
              answer<RemovedTrace>("RemovedTrace")));
  add(Role::viewer, &Api::get_costs,
      get("/api/v1/costs", "what interruptions of trainings have cost, by family",
          answer<wire::CostsDocument>("Costs")));
  add(Role::viewer, &Api::list_profiles,
      get("/api/v1/profiles", "the stored profiles of trainings",
          list_of<StoredProfile>("StoredProfile", wire::KeysOf::partial), {"limit", "cursor"}));
  const DocumentInfo profile = answer<wire::TrainingProfile>("Profile", wire::KeysOf::partial);
  add(Role::user, &Api::put_profile,
      {.method = "POST",
       .path = "/api/v1/profiles",
       .summary = "store a profile",
       .body = request<wire::TrainingProfile>("NewProfile"),
       .answer = profile});
  add(Role::viewer, &Api::get_profile, get("/api/v1/profiles/{family}", "one profile", profile));
  add(Role::user, &Api::remove_profile,
      removal("/api/v1/profiles/{family}", "delete a profile", answer<RemovedProfile>("RemovedProfile")));
  add(Role::viewer, &Api::list_estimates,
      get("/api/v1/estimates", "how often the ranges held that were shown", answer<Record>("Record"),
          {"limit", "cursor"}));

  add(Role::agent, &Api::who_am_i, get("/api/v1/whoami", "as whom this request counts", answer<Me>("Me")));
  const DocumentInfo user = answer<User>("User");
  add(Role::admin, &Api::list_users,
      get("/api/v1/users", "who has a role here", list_of<User>("User"), {"limit", "cursor"}));
  add(Role::admin, &Api::create_user,
      {.method = "POST",
       .path = "/api/v1/users",
       .summary = "add a user with a role",
       .body = request<UserBody>("NewUser"),
       .status = 201,
       .answer = user});
  add(Role::admin, &Api::edit_user,
      {.method = "PATCH",
       .path = "/api/v1/users/{name}",
       .summary = "give a user another role",
       .body = request<RoleBody>("UserRole"),
       .answer = user});
  add(Role::admin, &Api::remove_user,
      removal("/api/v1/users/{name}", "remove a user, and revoke all tokens of that user",
              answer<RemovedUser>("RemovedUser")));
  add(Role::viewer, &Api::list_tokens,
      get("/api/v1/tokens", "your named tokens; for admins those of all", list_of<Token>("Token"),
          {"user", "limit", "cursor"}));
  add(Role::user, &Api::create_token,
      {.method = "POST",
       .path = "/api/v1/tokens",
       .summary = "make a named token; its secret is in the answer and nowhere else",
       .body = request<TokenBody>("TokenWanted"),
       .status = 201,
       .answer = answer<answers::NewToken>("NewToken")});
  add(Role::viewer, &Api::remove_token,
      removal("/api/v1/tokens/{id}", "revoke one; sessions and streams that rest on it end",
              answer<RemovedToken>("RemovedToken")));
  add(Role::viewer, &Api::list_announcements,
      get("/api/v1/announcements", "what admins tell everybody", list_of<Announcement>("Announcement"),
          {"limit", "cursor"}));
  add(Role::admin, &Api::post_announcement,
      {.method = "POST",
       .path = "/api/v1/announcements",
       .summary = "tell everybody something",
       .body = request<AnnouncementBody>("AnnouncementWanted"),
       .status = 201,
       .answer = answer<Announcement>("Announcement")});
  add(Role::admin, &Api::remove_announcement,
      removal("/api/v1/announcements/{id}", "take it back", answer<RemovedAnnouncement>("RemovedAnnouncement")));
  add(Role::viewer, &Api::begin_session,
      {.method = "POST",
       .path = "/api/v1/sessions",
       .summary = "sign a browser in",
       .headers = {"X-Schedulearn-Code"},
       .status = 201,
       .answer = answer<answers::Session>("Session")});
  add(Role::viewer, &Api::end_session, removal("/api/v1/sessions", "sign it out", answer<SignedOut>("SignedOut")));
  add(Role::viewer, &Api::make_link,
      {.method = "POST",
       .path = "/api/v1/sessions/link",
       .summary = "a code that signs a browser in once",
       .status = 201,
       .answer = answer<Link>("Link")});
  add(Role::user, &Api::open_port,
      {.method = "POST",
       .path = "/api/v1/jobs/{id}/ports/{name}/session",
       .summary = "opens a port of a job to the browser that asks: a cookie for its path",
       .status = 201,
       .answer = answer<OpenedPort>("OpenedPort")});
  add(Role::viewer, &Api::list_secrets,
      get("/api/v1/secrets", "the names of your secrets", list_of<Secret>("Secret"), {"limit", "cursor"}));
  add(Role::user, &Api::put_secret,
      {.method = "PUT",
       .path = "/api/v1/secrets/{name}",
       .summary = "store one; the body is its value",
       .answer = answer<Secret>("Secret")});
  add(Role::user, &Api::remove_secret,
      removal("/api/v1/secrets/{name}", "remove one", answer<RemovedSecret>("RemovedSecret")));
  add(Role::viewer, &Api::list_channels,
      get("/api/v1/notifications/channels", "where you can be told of your jobs", list_of<Channel>("Channel"),
          {"limit", "cursor"}));
  add(Role::user, &Api::put_channel,
      {.method = "PUT",
       .path = "/api/v1/notifications/channels/{name}",
       .summary = "add a channel, or change it",
       .body = request<notify::ChannelBody>("NewChannel"),
       .answer = answer<Channel>("Channel")});
  add(Role::user, &Api::remove_channel,
      removal("/api/v1/notifications/channels/{name}", "remove one; what waits for it is not sent",
              answer<RemovedChannel>("RemovedChannel")));
  add(Role::user, &Api::test_channel,
      {.method = "POST",
       .path = "/api/v1/notifications/channels/{name}/test",
       .summary = "send a message through it, and say how that went",
       .body = request<TestBody>("ChannelTest"),
       .body_may_be_empty = true,
       .answer = answer<Delivery>("Delivery")});
  add(Role::viewer, &Api::list_deliveries,
      get("/api/v1/notifications/deliveries", "what was sent, or waits to be sent, newest first",
          list_of<Delivery>("Delivery"), {"channel", "limit", "cursor"}));
  add(Role::viewer, &Api::describe_snapshots,
      get("/api/v1/snapshots", "how much code of jobs is kept, and how large a snapshot may be",
          answer<KeptSnapshots>("KeptSnapshots")));
  add(Role::viewer, &Api::get_snapshot,
      get("/api/v1/snapshots/{id}", "whether a snapshot is here", answer<StoredSnapshot>("StoredSnapshot")));
  add(Role::user, &Api::put_snapshot,
      {.method = "PUT",
       .path = "/api/v1/snapshots/{id}",
       .summary = "send a piece of one, named by the SHA-256 of the whole",
       .parameters = {"offset", "size"},
       .answer = answer<StoredSnapshot>("StoredSnapshot")});
  add(Role::viewer, &Api::list_events,
      get("/api/v1/events", "what happened", list_of<Event>("Event"),
          {"about", "progress", "notable", "since", "until", "server", "limit", "cursor"}));
  add(Role::viewer, &Api::stream_events,
      heeding(stream(get("/api/v1/events/stream", "what happens, as it happens", {}, {"since"}), "text/event-stream"),
              {"Last-Event-ID"}));

  add(Role::user, &Api::legacy_create,
      original(submission("/jobs", "submit a job (original API)", job_body(),
                          answer<CreatedOriginalJob>("CreatedOriginalJob")),
               "/api/v1/jobs"));
  add(Role::viewer, &Api::legacy_list,
      original(get("/jobs", "all jobs (original API)", answer<std::vector<OriginalJob>>("OriginalJobs")),
               "/api/v1/jobs"));
  add(Role::viewer, &Api::legacy_get,
      original(get("/jobs/{id}", "one job (original API)", answer<OriginalJob>("OriginalJob")), "/api/v1/jobs"));
  add(Role::user, &Api::legacy_delete,
      original(removal("/jobs/{id}", "cancel it, and leave it out of this list of jobs (original API)",
                       answer<Message>("Message")),
               "/api/v1/jobs"));
  add(Role::admin, &Api::legacy_algorithm,
      original({.method = "PUT",
                .path = "/algorithm/{name}",
                .summary = "choose a policy (original API)",
                .answer = answer<Message>("Message")},
               "/api/v1/policy"));
  add(Role::viewer, &Api::legacy_sign_in,
      original({.method = "POST",
                .path = "/signin",
                .summary = "the token, for whoever has it as password (original API); needs no other identity",
                .body = request<SignInBody>("SignIn"),
                .answer = answer<OriginalUser>("OriginalUser")},
               "/api/v1/sessions"));
}

void Api::handle(net::Request request, Identity identity, std::shared_ptr<net::Reply> reply, std::string request_id) {
  const Instant now = clock_();
  const auto noted = std::make_shared<NotedReply>(
      std::move(reply),
      NotedReply::Notes{http_times_, log_, request_id, identity.user, request.method, request.path, now});
  Call call{std::move(request), std::move(identity), noted, {}, now, std::move(request_id)};
  if (const auto wait = rate_limits_.refuse(call.identity, now))
    return refuse_for_now(call, too_many_requests(), *wait);
  const std::vector<std::string> path = path_parts(call.request.path);
  // "/api/v1/jobs/batch" is no job.
  const bool is_literal = std::ranges::any_of(routes_, [&](const Route& route) { return route.parts == path; });
  std::string allowed;
  for (const Route& route : routes_) {
    if (is_literal ? route.parts != path : !path_matches(route.parts, path, call.captured)) continue;
    if (route.info.method != call.request.method) {
      allowed += (allowed.empty() ? "" : ", ") + route.info.method;
      continue;
    }
    noted->deprecate(route.info.successor);
    const bool is_its_agent = route.info.is_for_its_agent && call.identity.server == call.captured.front();
    const Status may = is_its_agent ? Status() : check_role(call.identity, route.info.needs);
    if (!may.ok()) return call.fail(may.error());
    if (const Status known = check_parameters(route.info, call.request); !known.ok()) return call.fail(known.error());
    const bool is_member =
        route.info.path.find("/jobs/{id}") != std::string::npos && call.captured.front().find('_') != std::string::npos;
    if (is_member) return resolve_member(std::move(call), route.action);
    return (this->*route.action)(std::move(call));
  }
  if (allowed.empty())
    return call.fail(not_found("no-such-path", "there is nothing at " + call.request.path).hint("see: GET /api/v1"));
  net::Response response = error_response(
      not_found("method-not-allowed", call.request.method + " is not possible here").note("possible: " + allowed),
      call.request.path, call.request_id);
  response.headers.emplace_back("Allow", allowed);
  call.reply->send(std::move(response));
}

void Api::refuse_for_now(const Call& call, const Error& error, Duration wait) {
  net::Response response = error_response(error, call.request.path, call.request_id);
  response.headers.emplace_back("Retry-After", std::to_string((wait.us + 999'999) / 1'000'000));
  call.reply->send(std::move(response));
}

void Api::list_routes(Call call) {
  send_list(call,
            {.count = routes_.size(), .text_of = [this](std::size_t i) {
               const RouteInfo& route = routes_[i].info;
               return wire::json_text(wire::to_value(answers::Operation{
                   route.method, route.path, route.summary, std::string(name_of(route.needs)), route.parameters}));
             }});
}

}  // namespace sl::controller
