// The routes: parse a request, call the logic once, render the answer. Every failure is rendered in one place. Runs on
// the controller's core thread.
//
//   api_routes.cpp  the table, and what every request passes
//   api.cpp         one function per route
//   api_lists.cpp   long lists, written piece by piece as fast as their reader takes them
//   api_logs.cpp    output of jobs, likewise
//   api_event_stream.cpp  events as they happen
//   api_forecasts.cpp  what is expected
//   api_files.cpp  what jobs have left on their servers
//   api_channels.cpp  where users may talk to a job directly
//   api_secrets.cpp  what users have stored for their jobs
//   api_notifications.cpp  where users want to be told of their jobs, and what was sent there
//   api_snapshots.cpp  code that jobs were submitted with
//   api_batch.cpp   several submissions at once
//   api_documents.cpp  what this API is: OpenAPI and its readable form
//   api_original.cpp  the original API
//   api_series.cpp  what GPUs did over time
//   api_simulations.cpp  simulations on request
//   api_traces.cpp       traces for them
//   api_sessions.cpp  who one is, and signing in with a browser
//   api_people.cpp  users, named tokens, announcements
//   api_servers.cpp  one server, letting another one in, and what admins do to them
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/admission.h"
#include "controller/announcements.h"
#include "controller/browser_sessions.h"
#include "controller/channels.h"
#include "controller/cursor.h"
#include "controller/forecasts.h"
#include "controller/hidden_jobs.h"
#include "controller/history.h"
#include "controller/logic.h"
#include "controller/rate_limits.h"
#include "controller/request_log.h"
#include "controller/retention.h"
#include "controller/route_info.h"
#include "controller/secret_store.h"
#include "controller/series.h"
#include "controller/shadow.h"
#include "controller/simulations.h"
#include "controller/snapshots.h"
#include "controller/suggestions.h"
#include "net/http_server.h"
#include "notify/notifications.h"

namespace sl::controller {

net::Response json_response(int status, const boost::json::value& body);
// `status`: instead of the error's own.
net::Response error_response(const Error& error, const std::string& path, const std::string& request_id = "",
                             int status = 0);

// Tells two bodies with one idempotency key apart; no secret depends on it.
std::string hash_of(std::string_view text);

struct ServerBody;

class Api {
 public:
  using Post = std::function<void(std::function<void()>)>;
  // `post` runs work on the core's thread later; any thread may call it.
  Api(Logic& logic, History& history, const Retention& retention, Forecasts& forecasts, Shadow& shadow,
      BrowserSessions& sessions, Snapshots& snapshots, SecretStore* secrets, std::function<Instant()> clock, Post post)
      : logic_(logic),
        history_(history),
        retention_(retention),
        forecasts_(forecasts),
        shadow_(shadow),
        sessions_(sessions),
        snapshots_(snapshots),
        secrets_(secrets),
        clock_(std::move(clock)),
        post_(std::move(post)),
        suggester_(forecasts, logic) {
    add_routes();
  }
  // `request_id`: see request_log.h.
  void handle(net::Request request, Identity identity, std::shared_ptr<net::Reply> reply, std::string request_id = "");
  // Where requests are logged: `log` outlives what it is given to. Before the first request.
  void log_to(std::shared_ptr<RequestLog> log) { log_ = std::move(log); }
  // Through what users are told of their jobs. Before the first request; without it none can be.
  void notify_through(notify::Notifications& notifications) { notifications_ = &notifications; }
  // Where users of the original API delete jobs. Before the first request; without it none can.
  void hide_in(HiddenJobs& hidden) { hidden_ = &hidden; }
  // The output of a job, by the number in its path, as it is written, without anything else, to its end.
  void follow_as_text(const std::string& job, net::Request request, Identity identity,
                      std::shared_ptr<net::Reply> reply);
  // Where the job runs that somebody wants to talk to; or answers why that cannot be.
  void find_place(const ChannelTarget& target, net::Request request, Identity identity,
                  std::shared_ptr<net::Reply> reply, std::function<void(ChannelPlace)> found);
  // What was measured. Before the first request; without it nothing was.
  void show_series(const Series& series) { series_ = &series; }
  // Who may ask, and what all of them are told. Before the first request; without it there is only who asks now.
  void ask_of(People& people, Announcements& announcements) { people_ = &people, announcements_ = &announcements; }
  // Where simulations are made. Before the first request; without it none are.
  void simulate_with(Simulations& simulations) { simulations_ = &simulations; }
  void on_simulation_changed(std::int64_t id);
  // Where it is reached from this machine, for those who ask over the socket. Before the first request.
  void is_served_at(std::string url) { url_ = std::move(url); }
  // Waiting streams check again: a job got its attempt, or ended.
  void on_turn();

 private:
  struct Call {
    net::Request request;
    Identity identity;  // who sends the request
    std::shared_ptr<net::Reply> reply;
    std::vector<std::string> captured;  // the parts of the path that matched {…}
    Instant now;
    std::string request_id;
    struct Channel {
      std::string port;  // ChannelTarget
      std::function<void(ChannelPlace)> found;
    };
    std::shared_ptr<Channel> channel = {};  // null: it is no request for one
    template <typename Answer>
    void send(int status, const Answer& answer) const {
      reply->send(json_response(status, wire::to_value(answer)));
    }
    void send(std::string list) const { reply->send({200, "application/json", {}, std::move(list)}); }
    void fail(const Error& error) const { reply->send(error_response(error, request.path, request_id)); }
    const std::string& user() const { return identity.user; }
    bool may_see(const JobEntry& entry) const { return identity.may_see(entry.row.user); }
    // A whole number of the query, `other` if it is not given. Error "bad-parameter".
    Result<std::int64_t> number(std::string_view name, std::int64_t other, std::int64_t min, std::int64_t max) const;
    // A word of the query, empty if it is not given. Error "bad-parameter" unless it is one of these.
    Result<std::string> one_of(std::string_view name, const std::vector<std::string_view>& words) const;
    // Where the page begins that is asked for; nothing: at the beginning of the list. Error "bad-cursor". `order`: in
    // which the list is, if not in its usual one; another order takes other cursors.
    Result<std::optional<std::int64_t>> cursor(const std::string& order = "") const;
    // What continues this list after that position.
    std::string next_cursor(std::int64_t position, const std::string& order = "") const {
      return cursor_text(request.path + order, position);
    }
    // Error "stale-etag" if the request is to change something else than what has this ETag.
    Status check_match(const std::string& etag) const;
    // An answer with an ETag.
    void send(int status, const boost::json::value& body, const std::string& etag) const;
  };
  using Action = void (Api::*)(Call);
  struct Route {
    RouteInfo info;
    Action action;
    std::vector<std::string> parts;  // of the path
  };
  struct Follow;    // one log stream (api_logs.cpp)
  struct JobPages;  // one list of jobs (api_lists.cpp)
  struct Watcher;   // one reader of events (api_event_stream.cpp)
  using Watchers = std::vector<std::shared_ptr<Watcher>>;
  struct Piece {
    std::string text;
    bool is_last = false;
  };
  // Makes the next piece of a document, at once or later, and hands it over.
  using Source = std::function<void(std::function<void(Result<Piece>)>)>;
  static constexpr std::int64_t list_items_max = 100'000;
  // A document that consists of items, each as it is when its piece is made.
  struct Items {
    std::size_t count = 0, per_piece = 200;
    std::function<std::string(std::size_t)> text_of;
    std::string opening = {}, ending = {};
  };

  void add_routes();
  std::optional<JobId> job_id(const Call& call) const;
  using WithJob = std::function<void(const Call&, const JobEntry&)>;
  // Calls `work` with the job that the path names, wherever it is kept, or answers that there is none.
  void with_job(Call call, WithJob work);
  void with_job(Call call, JobId job, WithJob work);
  // The same for what only its owner and admins may do to it. Error "not-your-job".
  void with_own_job(Call call, WithJob work);
  // Calls `work` once the forecasts know the present state, or after `limit`.
  void with_forecast(const Call& call, Duration limit, std::function<void()> work);
  // A job that is only in the database. Errors: "job-not-found", "job-removed".
  void find_past(JobId job, std::function<void(Result<JobEntry>)> then);

  void healthz(Call call);
  void get_openapi(Call call);
  void get_docs(Call call);
  void get_docs_style(Call call);
  void metrics(Call call);
  static void refuse_for_now(const Call& call, const Error& error, Duration wait);
  void list_routes(Call call);
  void list_jobs(Call call);
  void create_job(Call call);
  void create_jobs(Call call);
  void get_job(Call call);
  void job_attempts(Call call);
  void edit_job(Call call);
  void cancel_job(Call call);
  void signal_job(Call call);
  void remove_job(Call call);
  void intervene(Call call);
  void retry_job(Call call);
  void retry_as(const Call& asked, const store::JobRow& row, wire::JobSpec spec);
  void explain_job(Call call);
  void explain_job_then(const Call& call, std::int64_t at_us);
  void answer_explained(const Call& call, const Suggestions& suggestions);
  void job_events(Call call);
  void get_logs(Call call);
  void stream_logs(Call call);
  void stream_text(Call call);
  void cluster_series(Call call);
  void cluster_forecast(Call call);
  void server_series(Call call);
  void job_series(Call call);
  void job_usage(Call call);
  void group_usage(const Call& call, const JobEntry& group);
  void get_queue(Call call);
  void get_cluster(Call call);
  void list_gpus(Call call);
  void examine(Call call);
  void list_servers(Call call);
  void get_server(Call call);
  void create_server(Call call);
  void edit_server(Call call);
  void remove_server(Call call);
  void declare_server_lost(Call call);
  void release_server(Call call);
  void drain_server(Call call);
  void undrain_server(Call call);
  void list_policies(Call call);
  void describe_policy(Call call);
  void get_policy(Call call);
  void put_policy(Call call);
  void policy_history(Call call);
  void undo_policy(Call call);
  void plan_policy(Call call);
  void call_off_policy(Call call);
  void get_costs(Call call);
  void list_profiles(Call call);
  void put_profile(Call call);
  void get_profile(Call call);
  void remove_profile(Call call);
  void list_estimates(Call call);
  void try_policies(Call call);
  void get_shadow(Call call);
  void put_shadow(Call call);
  void end_shadow(Call call);
  void get_shadow_series(Call call);
  void create_simulation(Call call);
  void list_simulations(Call call);
  void list_simulation_results(Call call);
  void list_simulated_jobs(Call call);
  void get_simulation(Call call);
  void remove_simulation(Call call);
  void get_simulation_chart(Call call);
  void list_workloads(Call call);
  void upload_trace(Call call);
  void list_traces(Call call);
  void get_trace(Call call);
  void remove_trace(Call call);
  void with_simulation(const Call& call, const std::function<void(const answers::SimulationDetails&)>& work);
  void who_am_i(Call call);
  void list_users(Call call);
  void create_user(Call call);
  void edit_user(Call call);
  void remove_user(Call call);
  void remove_belongings_of(const std::string& name, const Call& call);
  void list_tokens(Call call);
  void create_token(Call call);
  void remove_token(Call call);
  void list_announcements(Call call);
  void post_announcement(Call call);
  void remove_announcement(Call call);
  void begin_session(Call call);
  void end_session(Call call);
  void make_link(Call call);
  void get_files(Call call);
  void list_secrets(Call call);
  void put_secret(Call call);
  void remove_secret(Call call);
  void list_channels(Call call);
  void put_channel(Call call);
  void remove_channel(Call call);
  void test_channel(Call call);
  void list_deliveries(Call call);
  void describe_snapshots(Call call);
  void get_snapshot(Call call);
  void put_snapshot(Call call);
  void get_diff(Call call);
  void list_events(Call call);
  void stream_events(Call call);
  void legacy_create(Call call);
  void legacy_list(Call call);
  void legacy_get(Call call);
  void legacy_delete(Call call);
  void legacy_sign_in(Call call);
  void legacy_algorithm(Call call);

  // The server that the path names; null: it has been answered that there is none.
  const Server* find_server(const Call& call) const;
  void drain(const Call& call, const ServerBody& wanted);
  std::string join_url(const net::Request& request) const;  // where servers join, unless the request says
  answers::Me identity_view(const Identity& identity) const;
  void send_noted(const Call& call, const char* kind, std::string text, const net::Response& response);
  void set_user(const Call& call, const std::string& name, const std::string& role_text, bool is_new);
  // The stream ends when what the request rests on is revoked or expires.
  void end_with_identity(const Call& call, const std::shared_ptr<net::Stream>& stream, bool is_events);
  void end_revoked(Instant now);
  // Whether the job can have its code and its secrets. Errors: "snapshot-missing", "no-such-secret", "no-such-channel".
  Status has_all(const wire::JobSpec& spec) const;
  Status has_names(const wire::JobSpec& spec) const;
  static Result<std::string> idempotency_key_of(const Call& call);
  boost::json::object openapi_document() const;
  // Error "media-type" if the body, `what`, is not JSON.
  static Status expect_json(const Call& call, const char* what);
  void submit(Call call, bool legacy);
  void submit(Call call, wire::JobSpec spec, const std::string& body, bool legacy);
  Result<std::vector<Submission>> read_batch(const Call& call) const;
  void submit_all(const Call& call, std::vector<Submission> submissions);
  void answer_batch(const Call& call, const std::vector<Result<JobId>>& jobs);
  // Calls `work` once it is known how those jobs ended that the submission names and that are only in the database.
  void with_past_states(const wire::JobSpec& spec, PastStates known, std::function<void(Result<PastStates>)> work);
  // "12_3", the member number 3 of group 12, as the number of its job. Errors: "job-not-found", "no-such-member".
  void resolve_member(Call call, Action action);
  Logic::Done answer_with_job(const Call& call);
  void send_events(const Call& call, std::optional<JobId> job);
  void send_jobs(const Call& call, const std::shared_ptr<JobPages>& pages,
                 std::function<std::string(const JobPages&, bool is_cut)> ending);
  void read_past(const std::shared_ptr<JobPages>& pages, std::function<void(Status)> then);
  void send_each(const Call& call, Items items);
  // As a list: those that the parameters limit and cursor of the request ask for.
  void send_list(const Call& call, Items items);
  Items each_server(Instant now, const std::function<bool(const Server&)>& is_wanted) const;
  Logic::Told answer_with_server(const Call& call);
  void send_pieces(const Call& call, Source source);
  void write_pieces(const std::shared_ptr<net::Stream>& stream, Source source);
  // `work` runs on the core's thread once the stream's reader has read everything, or has gone.
  void when_read(const std::shared_ptr<net::Stream>& stream, std::function<void()> work);
  // As Logs::read. Errors: also "output-removed", if the agent has removed the output by its retention rule.
  void read_output(const Output& output, std::int64_t offset, std::int64_t limit, double wait_s, Logs::Continue then);
  void send_logs(const Call& call, const JobEntry& entry);
  void send_range(const Call& call, const Output& output, std::int64_t from, std::int64_t to);
  void find_channel(Call call);
  void open_port(Call call);
  Result<ChannelPlace> place_of_channel(const Call& call, const JobEntry& entry) const;
  void send_files(const Call& call, const JobEntry& entry);
  void find_tail(const Output& output, std::int64_t lines, std::int64_t end,
                 std::function<void(Result<std::int64_t>)> then);
  void read_whole(Call call, const Output& output, std::int64_t from, std::int64_t to,
                  std::shared_ptr<net::Stream> stream, bool begins_line = true);
  void begin_follow(const Call& call, const JobEntry& entry, bool is_text);
  void follow_on(const std::shared_ptr<Follow>& follow);
  void begin_at_tail(const std::shared_ptr<Follow>& follow, const Output& output);
  void follow_next(const std::shared_ptr<Follow>& follow, const JobEntry& entry);
  void wait_for_reader(const std::shared_ptr<Follow>& follow);
  void give_up_stalled(Instant now);
  static void skip(Follow& follow, std::int64_t to);
  static void end_follow(Follow& follow, const store::JobRow& row, const std::string& gone);
  void follow_piece(const std::shared_ptr<Follow>& follow, Result<LogPiece> piece);
  void tend_watchers(Instant now);
  void read_for(Watchers watchers, std::int64_t seen, Instant now);
  void tell_simulations(Watcher& watcher, Instant now);
  void tell(Watcher& watcher, std::string text, Instant now);
  // The job as it stands; null while it is being looked up, after which `then` is called.
  const JobEntry* followed(const std::shared_ptr<Follow>& follow, std::function<void()> then);

  Logic& logic_;
  History& history_;
  const Retention& retention_;
  Forecasts& forecasts_;
  Shadow& shadow_;
  BrowserSessions& sessions_;
  Snapshots& snapshots_;
  SecretStore* secrets_;  // null: of a past that is only read
  notify::Notifications* notifications_ = nullptr;
  HiddenJobs* hidden_ = nullptr;
  const Series* series_ = nullptr;
  People* people_ = nullptr;
  Announcements* announcements_ = nullptr;
  Simulations* simulations_ = nullptr;
  std::function<Instant()> clock_;
  Post post_;
  Suggester suggester_;
  std::string url_;
  std::shared_ptr<HttpTimes> http_times_ = std::make_shared<HttpTimes>();  // with requests that outlive this object
  std::shared_ptr<RequestLog> log_ = std::make_shared<RequestLog>(Instant(), false);
  std::vector<Route> routes_;
  RateLimits rate_limits_;
  std::vector<std::shared_ptr<Follow>> idle_follows_;     // wait for an attempt or a state
  std::vector<std::shared_ptr<Follow>> stalled_follows_;  // wait for their reader
  Watchers watchers_;
  struct Opened {
    Identity identity;
    std::weak_ptr<net::Stream> stream;
    bool is_events = false;
  };
  std::vector<Opened> opened_;  // streams that have not ended
  Instant revoked_checked_;
  std::int64_t seen_event_ = 0;  // when they last checked
  Instant looked_;
};

}  // namespace sl::controller
