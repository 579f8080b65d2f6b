#include "controller/controller.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "controller/admission.h"
#include "controller/announcements.h"
#include "controller/api.h"
#include "controller/attempt_secrets.h"
#include "controller/auto_policy.h"
#include "controller/channels.h"
#include "controller/checkpoint_relay.h"
#include "controller/clock.h"
#include "controller/forecasts.h"
#include "controller/inbox.h"
#include "controller/job_files.h"
#include "controller/logic.h"
#include "controller/recording.h"
#include "controller/requests.h"
#include "controller/secret_store.h"
#include "controller/shadow.h"
#include "controller/sign_in_failures.h"
#include "controller/simulations.h"
#include "controller/snapshots.h"
#include "controller/socket_stream.h"
#include "net/http_server.h"
#include "net/url.h"
#include "notify/notifications.h"
#include "store/writer.h"
#include "web/page.h"
#include "wire/error.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr int reading_threads = 2;  // one reads on while the other is in a long search

LogicSettings logic_settings(const ControllerSettings& settings) { return {.version = settings.version}; }

// An answer that somebody on the loop's thread waits for.
class PostedReply : public net::Reply {
 public:
  PostedReply(net::EventLoop& loop, std::function<void(net::Response)> then) : loop_(loop), then_(std::move(then)) {}
  void send(net::Response response) override {
    loop_.post([then = then_, response = std::move(response)] { then(response); });
  }
  std::shared_ptr<net::Stream> stream(net::Response head) override { return send(std::move(head)), nullptr; }

 private:
  net::EventLoop& loop_;
  std::function<void(net::Response)> then_;
};

class LiveController : public Controller, private net::Handler, private Outside {
 public:
  // `begin`: the instant of `loaded` and of the recording, if there is one.
  LiveController(net::EventLoop& loop, ControllerSettings settings, const Clock& clock, Instant begin,
                 std::unique_ptr<store::Store> store, std::vector<std::unique_ptr<store::Reader>> readers,
                 const store::Loaded& loaded, const store::People& people, std::unique_ptr<Recording> recording,
                 std::unique_ptr<SecretStore> secrets)
      : loop_(loop),
        settings_(std::move(settings)),
        clock_(clock),
        store_(std::move(store)),
        recording_(std::move(recording)),
        secrets_(std::move(secrets)),
        writer_(std::make_unique<store::Writer>(*store_)),
        logic_(std::make_unique<Logic>(logic_settings(settings_), static_cast<Outside&>(*this), loaded, begin)),
        history_(std::make_unique<History>(std::move(readers), [this](auto work) { inbox_.put(std::move(work)); })),
        hidden_(loaded.settings, [this](auto batch, auto done) { write(std::move(batch), std::move(done)); }),
        people_(
            people, [this](auto batch, auto done) { write(std::move(batch), std::move(done)); },
            [this] { return clock_.now(); }, {"root", name_of_user(::geteuid())}),
        announcements_(people.announcements,
                       [this](auto batch, auto done) { write(std::move(batch), std::move(done)); }),
        retention_(settings_.keep, *logic_, *history_, [this] { return clock_.now(); }),
        job_files_(
            *logic_, *history_, [this] { return clock_.now(); },
            [this](SessionId session, const wire::JobFilesAnswer& answer) { send(session, answer); }),
        checkpoints_(*logic_, [this](SessionId session, const auto& message) { send_unrecorded(session, message); }),
        shadow_(*logic_, forecasts_, loaded.settings),
        auto_policy_(*logic_, forecasts_),
        forecasts_(
            *logic_, settings_.continue_present, settings_.make_policy, [this] { return clock_.now(); },
            [this](auto work) { inbox_.put(std::move(work)); }),
        snapshots_({settings_.data_dir + "/snapshots", settings_.snapshot_bytes_max, settings_.keep.age_s}, *logic_,
                   *history_, [this] { return clock_.now(); }),
        simulations_(
            settings_.data_dir, settings_.run_command, [this] { return clock_.now(); },
            [this](auto work) { inbox_.put(std::move(work)); }, [this](auto id) { api_.on_simulation_changed(id); }),
        log_(std::make_shared<RequestLog>(begin, settings_.log_requests)),
        browser_sessions_(settings_.token, people_, [this] { return clock_.now(); }),
        api_(
            *logic_, *history_, retention_, forecasts_, shadow_, browser_sessions_, snapshots_, secrets_.get(),
            [this] { return clock_.now(); }, [this](auto work) { inbox_.put(std::move(work)); }),
        admission_(settings_.listen_address, settings_.token, ::geteuid(), browser_sessions_, people_),
        channels_(loop_,
                  {[this](const auto& target, const auto& head, const auto& identity, auto found, auto refuse) {
                     find_place(target, head, identity, std::move(found), std::move(refuse));
                   },
                   [this](SessionId session, const wire::OpenChannel& open) { send_unrecorded(session, open); },
                   [this](const std::string& cookie) { return browser_sessions_.is_ours(cookie); }, settings_.token}) {
    api_.log_to(log_);
    api_.hide_in(hidden_);
    api_.show_series(series_);
    api_.ask_of(people_, announcements_);
    api_.simulate_with(simulations_);
    if (recording_) logic_->record_to(*recording_);
    logic_->set_outlook(&forecasts_.outlook());
  }

  ~LiveController() override {
    server_.reset();
    inbox_.stop();
    if (core_thread_.joinable()) core_thread_.join();
    is_ending_ = true;
    if (notifications_) notifications_->stop();  // none if it could not be opened
    wishes_.stop();
    if (maker_thread_.joinable()) maker_thread_.join();
    history_.reset();  // its last answers, and what the writer still says, go to an inbox nobody reads
    writer_.reset();
  }

  Status open() {
    if (Status ready = open_notifications(); !ready.ok()) return ready;
    net::ServerSettings http;
    http.address = settings_.listen_address == "localhost" ? "127.0.0.1" : settings_.listen_address;
    http.port = settings_.listen_port;
    http.socket_path = settings_.data_dir + "/controller.sock";
    auto server = net::HttpServer::listen(loop_, http, *this);
    if (!server.ok()) return server.error();
    server_ = std::move(*server);
    const bool is_any = http.address == "0.0.0.0" || http.address == "::";
    const std::string host = is_any                                        ? "127.0.0.1"
                             : http.address.find(':') == std::string::npos ? http.address
                                                                           : '[' + http.address + ']';
    api_.is_served_at(fmt::format("http://{}:{}", host, server_->port()));
    core_thread_ = std::thread([this] { run_core(); });
    maker_thread_ = std::thread([this] { run_maker(); });
    notifications_->start();
    return {};
  }
  std::uint16_t port() const override { return server_->port(); }
  void stop_jobs(std::vector<std::string> servers, const std::string& why, std::function<void(const StopPlan&)> told,
                 std::function<void(const Status&)> done) override {
    inbox_.put([this, servers = std::move(servers), why, told = std::move(told), done = std::move(done)] {
      const StopPlan plan = logic_->stop_jobs(servers, why, clock_.now(), [this, done](const Status& status) {
        loop_.post([done, status] { done(status); });
      });
      loop_.post([told, plan] { told(plan); });
    });
  }

 private:
  Status open_notifications() {
    auto allowed = courier::AllowedHosts::parse(settings_.notify_allow);
    if (!allowed.ok()) return allowed.error();
    auto reader = store::open_reader(settings_.data_dir);
    if (!reader.ok()) return reader.error();
    notify::Surroundings around{
        [this](store::Batch batch, auto done) { writer_->submit(std::move(batch), std::move(done)); },
        [this](const std::string& user, const std::string& name) { return secrets_->value(user, name); },
        [this](auto work) { inbox_.put(std::move(work)); }, [this] { return clock_.now(); }};
    auto made = notify::Notifications::open({std::move(*allowed)}, logic_->incarnations().cluster(), std::move(*reader),
                                            std::move(around));
    if (!made.ok()) return made.error();
    notifications_ = std::move(*made);
    api_.notify_through(*notifications_);
    // If it could not be done when its owner's role changed.
    for (const auto& channel : notifications_->channels().all()) {
      if (people_.role_of(channel->owner) != Role::admin)
        notifications_->make_private(channel->owner, [](const Status&) {});
    }
    return {};
  }

  // ---- the core thread ----
  void run_core() {
    std::deque<std::function<void()>> inputs;
    logic_->turn(clock_.now());
    simulations_.open();
    forecasts_.start(*history_);
    shadow_.start(*history_);
    while (inbox_.take(inputs, time_to_next_wake())) {
      for (auto& input : inputs) input();
      inputs.clear();
      const Instant begin = clock_.now();
      logic_->turn(begin);
      logic_->turn_times().add(clock_.now() - begin);
      retention_.on_turn();
      snapshots_.on_turn();
      forecasts_.on_turn(clock_.now());
      shadow_.on_turn(clock_.now());
      keep_found(clock_.now());
      auto_policy_.on_turn(clock_.now());
      api_.on_turn();
      people_.on_turn(clock_.now());
      end_revoked(clock_.now());
      series_.sample(*logic_, clock_.now());
      if (const Instant commit = logic_->recorder().committed_at(); commit != std::exchange(commit_seen_, commit))
        notifications_->on_commit();
    }
  }
  std::chrono::microseconds time_to_next_wake() const {
    constexpr std::int64_t longest_us = 500'000;
    const Instant wake = std::min(logic_->next_wake(), forecasts_.next_wake());
    if (wake.is_never()) return std::chrono::microseconds(longest_us);
    return std::chrono::microseconds(std::clamp<std::int64_t>((wake - clock_.now()).us, 0, longest_us));
  }

  // ---- the maker's thread: lives as long as the processes it starts, which would die with it ----
  void run_maker() {
    std::deque<std::function<void()>> wishes;
    while (wishes_.take(wishes, std::chrono::hours(1))) {
      for (auto& wish : wishes) wish();
      wishes.clear();
    }
  }
  Result<MadePolicy> make_own(const PolicyChange& change) const {
    if (settings_.make_policy) return settings_.make_policy(change.name, change.source, change.parameters);
    return unavailable("no-own-policies", "this controller runs built-in policies only");
  }

  // Rows that the logic does not know.
  void write(store::Batch batch, std::function<void(const Status&)> done) {
    writer_->submit(std::move(batch), [this, done = std::move(done)](const Status& status) {
      inbox_.put([done, status] { done(status); });
    });
  }
  // What forecasts and the shadow have found goes with the logic's commits, or by itself if there is none for a while.
  void add_found(store::Batch& batch) {
    batch.estimates = forecasts_.take_rows();
    batch.regrets = shadow_.take_rows();
    found_kept_ = clock_.now();
  }
  void keep_found(Instant now) {
    constexpr Duration kept_after = Duration::whole_seconds(5);
    if (now < found_kept_ + kept_after) return;
    store::Batch batch;
    add_found(batch);
    if (!batch.estimates.empty() || !batch.regrets.empty()) write(std::move(batch), [](const Status&) {});
  }
  // Shells, ports of jobs and agents' connections end soon after what they rest on is revoked, has expired or allows less;
  // streams of the API do that themselves.
  void end_revoked(Instant now) {
    constexpr Duration check_every = Duration::milliseconds(500);
    if (revoked_checked_.happened() && now < revoked_checked_ + check_every) return;
    revoked_checked_ = now;
    loop_.post([this, alive = std::weak_ptr(alive_)] {
      if (alive.expired()) return;
      // Who could do more when it began may not do it any more.
      const auto still_may = [this](const Identity& identity) {
        const auto confirmed = people_.confirm(identity);
        return confirmed && confirmed->role >= identity.role && !browser_sessions_.has_ended(identity);
      };
      channels_.end_unless(still_may);
      std::vector<std::shared_ptr<net::WebSocket>> revoked;
      {
        const std::lock_guard lock(sockets_mutex_);
        for (const auto& [session, agent] : sockets_) {
          if (!still_may(agent.identity)) revoked.push_back(agent.socket);
        }
      }
      for (const auto& socket : revoked) socket->close("token-revoked");
    });
  }

  // ---- Outside (core thread) ----
  void make_policy(const PolicyChange& change) override {
    wishes_.put([this, change] {
      if (is_ending_) return;
      auto made = std::make_shared<Result<MadePolicy>>(make_own(change));  // an input can be copied, a policy cannot
      inbox_.put([this, made] { logic_->on_policy_made(std::move(*made), clock_.now()); });
    });
  }
  void commit(store::Batch batch) override {
    if (recording_) recording_->committed(batch);
    add_found(batch);
    writer_->submit(std::move(batch), [this](Status status) {
      inbox_.put([this, status = std::move(status)] { logic_->on_committed(status, clock_.now()); });
    });
  }
  void send(SessionId session, const wire::ControllerMessage& message) override {
    if (recording_) recording_->sent(session, message);
    send_unrecorded(session, with_secrets(message));
  }
  // What must not be recorded is entered as a message leaves.
  wire::ControllerMessage with_secrets(wire::ControllerMessage message) {
    if (AttemptSecrets::are_needed(message)) message = attempt_secrets_.enter(std::move(message));
    if (auto* start = std::get_if<wire::StartAttempt>(&message); start && !start->spec.secrets.empty())
      message = secrets_->with_values(std::move(*start));
    return message;
  }
  void send_unrecorded(SessionId session, const wire::ControllerMessage& message) {
    if (const auto socket = socket_of(session)) socket->send(wire::encode(message));
  }
  void close(SessionId session, const std::string& why) override {
    if (const auto socket = socket_of(session)) socket->close(why);
  }
  std::shared_ptr<net::WebSocket> socket_of(SessionId session) {
    const std::lock_guard lock(sockets_mutex_);
    const auto at = sockets_.find(session);
    return at == sockets_.end() ? nullptr : at->second.socket;
  }

  // ---- net::Handler (loop thread) ----
  Verdict on_head(const net::Request& head) override {
    if (is_public(head) || signs_in(head)) return {};
    const auto identity = admission_.identify(head);
    if (identity.ok() && Channels::channel_of(head) && !identity->is_admin() && identity->role != Role::agent)
      return {refusal(denied("admins-only", "only an agent connects channels"), head)};
    if (identity.ok() && is_of_agent(head) && !may_be_agent(*identity))
      return {refusal(denied("admins-only", "an agent joins with a token made for its server, or an admin's"), head)};
    if (identity.ok())
      return {.trusted = true,
              .user = identity->is_bounded() ? identity->user : "",
              .takes = Channels::target_of(head) || Channels::channel_of(head)};
    if ((web::is_for_page(head) || is_description(head)) && admission_.check_place(head).ok()) return {};
    return {.refusal = refusal(identity.error(), head), .delay = delay_of(identity.error(), head)};
  }
  // After a wrong secret. Whoever sent none has not tried to sign in.
  Duration delay_of(const Error& error, const net::Request& head) {
    if (error.code != "wrong-token" && error.code != "token-expired" && error.code != "code-used") return {};
    const std::string sender = admission_.sender_of(head);
    const auto [delay, to_record] = failures_.failed(sender, clock_.now());
    if (to_record)
      inbox_.put([this, sender, code = error.code, times = *to_record] { note_failed_sign_in(sender, code, times); });
    return delay;
  }
  void note_failed_sign_in(const std::string& sender, const std::string& code, int times) {
    const Instant now = clock_.now();
    const std::string text =
        times == 1 ? fmt::format("a request from {} came with a wrong token ({})", sender, code)
                   : fmt::format("{} requests from {} came with wrong tokens within an hour", times, sender);
    logic_->note({{.at_us = now.us, .kind = "sign_in.failed", .text = text}}, now, [](const Status&) {});
  }
  static bool is_of_agent(const net::Request& head) {
    return head.path == "/api/v1/agent" || Channels::channel_of(head).has_value();
  }
  // An agent is sent the environments and secrets of all users.
  static bool may_be_agent(const Identity& identity) { return identity.role == Role::agent || identity.is_admin(); }
  void on_request(net::Request request, std::shared_ptr<net::Reply> reply) override {
    if (web::is_for_page(request)) return reply->send(web::Page::embedded().answer(request));
    const bool is_open = is_public(request) || (is_description(request) && admission_.check_place(request).ok());
    const auto identity = is_open ? Identity{} : signs_in(request) ? sign_in(request) : admission_.identify(request);
    if (!identity.ok()) return refuse_later(identity.error(), request, std::move(reply));
    std::string id = log_->id_of(request);
    inbox_.put([this, identity = *identity, request = std::move(request), reply = std::move(reply),
                id = std::move(id)]() mutable {
      api_.handle(std::move(request), std::move(identity), std::move(reply), std::move(id));
    });
  }
  void on_taken(net::Request head, std::shared_ptr<net::TakenRequest> taken) override {
    const auto identity = admission_.identify(head);
    if (!identity.ok()) return taken->refuse(refusal(identity.error(), head));
    if (const auto target = Channels::target_of(head))
      return channels_.begin(*target, std::move(head), *identity, std::move(taken));
    channels_.accept(*Channels::channel_of(head), std::move(taken));
  }
  // Asked of the core; what it answers comes back here.
  void find_place(const ChannelTarget& target, const net::Request& head, const Identity& identity,
                  std::function<void(ChannelPlace)> found, std::function<void(net::Response)> refuse) {
    auto reply = std::make_shared<PostedReply>(loop_, std::move(refuse));
    inbox_.put([this, target, head, identity, reply, found = std::move(found)] {
      api_.find_place(target, head, identity, reply, [this, found](ChannelPlace place) {
        loop_.post([found, place = std::move(place)]() mutable { found(std::move(place)); });
      });
    });
  }
  // A password in a body is only known to be wrong here.
  void refuse_later(const Error& error, const net::Request& request, std::shared_ptr<net::Reply> reply) {
    const Duration delay = signs_in(request) ? delay_of(error, request) : Duration();
    if (delay <= Duration()) return reply->send(refusal(error, request));
    const std::int64_t id = next_delayed_++;
    delayed_[id] = loop_.after(delay, [this, id, reply = std::move(reply), response = refusal(error, request)] {
      reply->send(response);
      loop_.post([this, id, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) delayed_.erase(id);
      });
    });
  }
  net::Response refusal(const Error& error, const net::Request& request) {
    const std::string id = log_->id_of(request), nobody;
    net::Response response = error_response(error, request.path, id);
    response.headers.emplace_back("X-Request-Id", id);
    log_->write({clock_.now(), id, nobody, request.method, request.path, response, Duration()});
    return response;
  }
  // Being alive is no secret.
  static bool is_public(const net::Request& head) { return head.method == "GET" && head.path == "/healthz"; }
  // The original's way, with a password in the body.
  static bool signs_in(const net::Request& head) { return head.method == "POST" && head.path == "/signin"; }
  Result<Identity> sign_in(const net::Request& request) {
    const auto body = wire::read_json<SignInBody>(request.body);
    return body.ok() ? admission_.sign_in(request, body->password) : Identity{};  // the route says what is wrong
  }
  // Nor is what can be asked here, which depends on nothing but the version.
  static bool is_description(const net::Request& head) {
    return head.method == "GET" &&
           (head.path == "/api/v1/openapi.json" || head.path == "/api/docs" || head.path == "/api/docs/style.css");
  }
  net::Response on_protocol_error(int status, const std::string& detail) override {
    Error error = status == 413 ? Error{ErrorKind::too_large, "body-too-large", detail}
                                : invalid(status == 431 ? "header-too-large" : "bad-request", detail);
    return error_response(error, "", "", status);
  }
  bool on_websocket(const net::Request& request, std::shared_ptr<net::WebSocket> socket) override {
    if (const auto job = job_of_output(request.path)) return follow_output(*job, request, std::move(socket));
    if (request.path != "/api/v1/agent") return false;  // admitted by its head
    auto identity = admission_.identify(request);
    if (!identity.ok()) return false;
    const SessionId session = next_session_++;
    const Caller from{request.peer, identity->server};
    {
      const std::lock_guard lock(sockets_mutex_);
      sockets_[session] = {socket, std::move(*identity)};
    }
    net::WebSocket::Callbacks callbacks;
    callbacks.on_message = [this, session, from](std::string text) {
      inbox_.put([this, session, from, text = std::move(text)] { on_agent_text(session, from, text); });
    };
    callbacks.on_close = [this, session](const std::string&) {
      {
        const std::lock_guard lock(sockets_mutex_);
        sockets_.erase(session);
      }
      inbox_.put([this, session] { logic_->on_agent_closed(session, clock_.now()); });
    };
    socket->set_callbacks(std::move(callbacks));
    return true;
  }
  // "/jobs/5/logs", the output of a job in the original API.
  static std::optional<std::string> job_of_output(const std::string& path) {
    constexpr std::string_view before = "/jobs/", after = "/logs";
    const bool is_long = path.size() > before.size() + after.size();
    if (!is_long || !path.starts_with(before) || !path.ends_with(after)) return std::nullopt;
    return path.substr(before.size(), path.size() - before.size() - after.size());
  }
  bool follow_output(const std::string& job, const net::Request& request, std::shared_ptr<net::WebSocket> socket) {
    auto identity = admission_.identify(request);
    if (!identity.ok()) return false;
    // No connection of the server any more (net/http_server.h), so they are counted here.
    constexpr long of_user_max = 100;
    std::shared_ptr<int>& followed = followed_[identity->is_bounded() ? identity->user : ""];
    if (!followed) followed = std::make_shared<int>();
    if (identity->is_bounded() && followed.use_count() > of_user_max) {
      socket->set_callbacks({});
      socket->close("too many outputs are followed by one user");
      return true;
    }
    inbox_.put(
        [this, job, request, identity = *identity, stream = SocketStream::over(loop_, std::move(socket), followed)] {
          api_.follow_as_text(job, request, identity, stream);
        });
    return true;
  }
  // Of an agent, whether it is still connected or not.
  struct Caller {
    std::string peer, only_server;  // Identity::server
  };
  void on_agent_text(SessionId session, const Caller& from, const std::string& text) {
    auto message = wire::decode_agent_message(text);
    if (!message.ok()) return close(session, "bad-message");
    if (const auto* query = std::get_if<wire::JobFilesQuery>(&*message)) return job_files_.on_query(session, *query);
    if (const auto* read = std::get_if<wire::CheckpointRead>(&*message)) return checkpoints_.on_read(session, *read);
    if (const auto* piece = std::get_if<wire::CheckpointPiece>(&*message))
      return checkpoints_.on_piece(session, *piece);
    if (const auto* refused = std::get_if<wire::ChannelRefused>(&*message))
      return loop_.post([this, session, refused = *refused] { channels_.refuse(session, refused); });
    if (const auto* read = std::get_if<wire::SnapshotRead>(&*message))
      return snapshots_.read(*read, [this, session](const auto& piece) { send_unrecorded(session, piece); });
    if (auto* offered = std::get_if<wire::CheckpointOffered>(&*message)) offered->address = host_of_peer(from.peer);
    if (auto* hello = std::get_if<wire::Hello>(&*message)) {
      hello->address = host_of_peer(from.peer);
      if (!from.only_server.empty() && hello->server != from.only_server) {
        const Error error = not_your_server(from.only_server, hello->server);
        send_unrecorded(session, wire::Refused{error.code, error.message});
        return close(session, error.code);
      }
    }
    logic_->on_agent_message(session, *message, clock_.now());
  }

  net::EventLoop& loop_;
  ControllerSettings settings_;
  Clock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Recording> recording_;  // null: not requested
  std::unique_ptr<SecretStore> secrets_;
  Inbox inbox_;   // of the core
  Inbox wishes_;  // of the maker
  std::atomic<bool> is_ending_ = false;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<Logic> logic_;
  std::unique_ptr<History> history_;
  HiddenJobs hidden_;
  People people_;
  Announcements announcements_;
  Instant revoked_checked_, found_kept_;
  Series series_;
  Retention retention_;
  JobFiles job_files_;
  CheckpointRelay checkpoints_;
  AttemptSecrets attempt_secrets_;
  Instant commit_seen_;  // the last one that notifications were told of
  std::unique_ptr<notify::Notifications> notifications_;
  Shadow shadow_;
  AutoPolicy auto_policy_;
  Forecasts forecasts_;  // its thread ends before the two above, which it may still be working for
  Snapshots snapshots_;
  Simulations simulations_;
  std::shared_ptr<RequestLog> log_;
  BrowserSessions browser_sessions_;
  Api api_;
  Admission admission_;  // only the loop's thread uses it, and these:
  SignInFailures failures_;
  std::map<std::int64_t, std::shared_ptr<net::EventLoop::Timer>> delayed_;  // refusals
  std::int64_t next_delayed_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  Channels channels_;
  std::mutex sockets_mutex_;
  struct AgentSocket {
    std::shared_ptr<net::WebSocket> socket;
    Identity identity;
  };
  std::map<SessionId, AgentSocket> sockets_;
  SessionId next_session_ = 1;
  std::map<std::string, std::shared_ptr<int>> followed_;  // held by the outputs that a user follows over WebSockets
  std::unique_ptr<net::HttpServer> server_;
  std::thread core_thread_, maker_thread_;
};

}  // namespace

Result<std::unique_ptr<Controller>> Controller::start(net::EventLoop& loop, const ControllerSettings& settings) {
  if (!net::is_loopback(settings.listen_address) && settings.token.empty()) {
    return denied("authentication-required",
                  "listening on " + settings.listen_address + " lets others run commands here, so a token is needed")
        .hint("--token-file FILE with a secret of at least 16 characters");
  }
  auto store = store::open_sqlite(settings.data_dir);
  if (!store.ok()) return store.error();
  auto loaded = (*store)->load(Clock::wall_now().us, finished_jobs_max);
  if (!loaded.ok()) return loaded.error();
  std::vector<std::unique_ptr<store::Reader>> readers;
  for (int i = 0; i < reading_threads; ++i) {
    auto reader = store::open_reader(settings.data_dir);
    if (!reader.ok()) return reader.error();
    readers.push_back(std::move(*reader));
  }
  const Clock clock(Instant{loaded->last_event_us});
  const Instant begin = clock.now();
  std::unique_ptr<Recording> recording;
  if (!settings.record.empty()) {
    auto made = Recording::create(settings.record, logic_settings(settings), *loaded, begin);
    if (!made.ok()) return made.error();
    recording = std::move(*made);
  }
  auto people = readers.front()->people();
  if (!people.ok()) return people.error();
  auto secrets = SecretStore::open(settings.data_dir);
  if (!secrets.ok()) return secrets.error();
  auto controller =
      std::make_unique<LiveController>(loop, settings, clock, begin, std::move(*store), std::move(readers), *loaded,
                                       *people, std::move(recording), std::move(*secrets));
  if (Status opened = controller->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<Controller>(std::move(controller));
}

}  // namespace sl::controller
