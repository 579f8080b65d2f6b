#include "controller/controller.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "controller/api.h"
#include "controller/logic.h"
#include "controller/recording.h"
#include "net/http_server.h"
#include "store/writer.h"
#include "wire/error.h"

namespace sl::controller {
namespace {

// The time of day when the controller started, and from then on a clock that never jumps: a corrected wall clock moves
// no deadline and makes no run time negative.
class Clock {
 public:
  // Never before `least`: what the database already tells of.
  explicit Clock(Instant least) : begin_(std::max(least, wall_now())) {}
  static Instant wall_now() {
    using namespace std::chrono;
    return Instant{duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()};
  }
  Instant now() const {
    using namespace std::chrono;
    return begin_ + Duration{duration_cast<microseconds>(steady_clock::now() - steady_begin_).count()};
  }

 private:
  Instant begin_;
  std::chrono::steady_clock::time_point steady_begin_ = std::chrono::steady_clock::now();
};

LogicSettings logic_settings(const ControllerSettings& settings) { return {.version = settings.version}; }

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

// Compares without telling by its time where two secrets differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

// What a thread has to do, in the order it came.
class Inbox {
 public:
  void put(std::function<void()> input) {
    {
      const std::lock_guard lock(mutex_);
      inputs_.push_back(std::move(input));
    }
    changed_.notify_one();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
  }
  // All inputs at hand; waits until there is one or `until` (steady time). False once stopped and empty.
  bool take(std::deque<std::function<void()>>& inputs, std::chrono::microseconds wait_max) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait_max, [this] { return stopping_ || !inputs_.empty(); });
    inputs.swap(inputs_);
    return !(stopping_ && inputs.empty());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> inputs_;
  bool stopping_ = false;
};

class LiveController : public Controller, private net::Handler, private Outside {
 public:
  // `begin`: the instant of `loaded` and, if there is one, of the recording.
  LiveController(ControllerSettings settings, const Clock& clock, Instant begin, std::unique_ptr<store::Store> store,
                 const store::Loaded& loaded, std::unique_ptr<Recording> recording)
      : settings_(std::move(settings)),
        clock_(clock),
        store_(std::move(store)),
        recording_(std::move(recording)),
        writer_(std::make_unique<store::Writer>(*store_)),
        logic_(std::make_unique<Logic>(logic_settings(settings_), static_cast<Outside&>(*this), loaded, begin)),
        api_(*logic_, [this] { return clock_.now(); }) {
    if (recording_) logic_->record_to(*recording_);
  }

  ~LiveController() override {
    server_.reset();
    inbox_.stop();
    if (core_thread_.joinable()) core_thread_.join();
    is_ending_ = true;
    wishes_.stop();
    if (maker_thread_.joinable()) maker_thread_.join();
    writer_.reset();  // its last words go to an inbox nobody reads
  }

  Status open(net::EventLoop& loop) {
    net::ServerSettings http;
    http.address = settings_.listen_address == "localhost" ? "127.0.0.1" : settings_.listen_address;
    http.port = settings_.listen_port;
    auto server = net::HttpServer::listen(loop, http, *this);
    if (!server.ok()) return server.error();
    server_ = std::move(*server);
    core_thread_ = std::thread([this] { run_core(); });
    maker_thread_ = std::thread([this] { run_maker(); });
    return {};
  }
  std::uint16_t port() const override { return server_->port(); }

 private:
  // ---- the core thread ----
  void run_core() {
    std::deque<std::function<void()>> inputs;
    logic_->turn(clock_.now());
    while (inbox_.take(inputs, time_to_next_wake())) {
      for (auto& input : inputs) input();
      inputs.clear();
      const Instant begin = clock_.now();
      logic_->turn(begin);
      logic_->turn_times().add(clock_.now() - begin);
      api_.on_turn();
    }
  }
  std::chrono::microseconds time_to_next_wake() const {
    constexpr std::int64_t longest_us = 500'000;
    const Instant wake = logic_->next_wake();
    if (wake.is_never()) return std::chrono::microseconds(longest_us);
    return std::chrono::microseconds(std::clamp<std::int64_t>((wake - clock_.now()).us, 0, longest_us));
  }

  // ---- the maker's thread: it lives as long as the processes it starts, which would die with it ----
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
    writer_->submit(std::move(batch), [this](Status status) {
      inbox_.put([this, status = std::move(status)] { logic_->on_committed(status, clock_.now()); });
    });
  }
  void send(SessionId session, const wire::ControllerMessage& message) override {
    if (recording_) recording_->sent(session, message);
    if (const auto socket = socket_of(session)) socket->send(wire::encode(message));
  }
  void close(SessionId session, const std::string& why) override {
    if (const auto socket = socket_of(session)) socket->close(why);
  }
  std::shared_ptr<net::WebSocket> socket_of(SessionId session) {
    const std::lock_guard lock(sockets_mutex_);
    const auto at = sockets_.find(session);
    return at == sockets_.end() ? nullptr : at->second;
  }

  // ---- net::Handler (loop thread) ----
  void on_request(net::Request request, std::shared_ptr<net::Reply> reply) override {
    if (const Status allowed = admit(request); !allowed.ok())
      return reply->send(error_response(allowed.error(), request.path));
    inbox_.put([this, request = std::move(request), reply = std::move(reply)]() mutable {
      api_.handle(std::move(request), std::move(reply));
    });
  }
  net::Response on_protocol_error(int status, const std::string& detail) override {
    Error error = status == 413 ? Error{ErrorKind::too_large, "body-too-large", detail}
                                : invalid(status == 408   ? "request-timeout"
                                          : status == 431 ? "header-too-large"
                                                          : "bad-request",
                                          detail);
    net::Response response = error_response(error, "");
    response.status = status;
    return response;
  }
  bool on_websocket(const net::Request& request, std::shared_ptr<net::WebSocket> socket) override {
    if (request.path != "/api/v1/agent" || !admit(request).ok()) return false;
    const SessionId session = next_session_++;
    {
      const std::lock_guard lock(sockets_mutex_);
      sockets_[session] = socket;
    }
    net::WebSocket::Callbacks callbacks;
    callbacks.on_message = [this, session](std::string text) {
      inbox_.put([this, session, text = std::move(text)] { on_agent_text(session, text); });
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
  void on_agent_text(SessionId session, const std::string& text) {
    const auto message = wire::decode_agent_message(text);
    if (!message.ok()) return close(session, "bad-message");
    logic_->on_agent_message(session, *message, clock_.now());
  }

  // Who may ask: submitting means running commands. A page of another origin may not, nor a name that was rebound to
  // us.
  Status admit(const net::Request& request) const {
    const std::string host = request.header("host").value_or("");
    const std::string name = host.substr(
        0, host.rfind(':') == std::string::npos || host.ends_with("]") ? std::string::npos : host.rfind(':'));
    if (is_loopback(settings_.listen_address) && !is_loopback(name) && name != "[::1]")
      return denied("wrong-host", "this controller is not called " + name);
    if (const auto origin = request.header("origin"); origin && *origin != "http://" + host)
      return denied("foreign-origin", "requests from pages of " + *origin + " are refused");
    if (settings_.token.empty() || request.path == "/healthz") return {};
    const auto given = request.header("authorization");
    if (!given)
      return denied("token-required", "this controller asks for a token")
          .hint("SCHEDULEARN_TOKEN_FILE=FILE schedulearn …");
    if (!given->starts_with("Bearer ") || !same_secret(std::string_view(*given).substr(7), settings_.token))
      return denied("wrong-token", "the token is not the one of this controller");
    return {};
  }

  ControllerSettings settings_;
  Clock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Recording> recording_;  // null: nobody asked for one
  Inbox inbox_;                           // of the core
  Inbox wishes_;                          // of the maker
  std::atomic<bool> is_ending_ = false;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<Logic> logic_;
  Api api_;
  std::mutex sockets_mutex_;
  std::map<SessionId, std::shared_ptr<net::WebSocket>> sockets_;
  SessionId next_session_ = 1;
  std::unique_ptr<net::HttpServer> server_;
  std::thread core_thread_, maker_thread_;
};

}  // namespace

Result<std::unique_ptr<Controller>> Controller::start(net::EventLoop& loop, const ControllerSettings& settings) {
  if (!is_loopback(settings.listen_address) && settings.token.empty()) {
    return denied("authentication-required",
                  "listening on " + settings.listen_address + " lets others run commands here, so a token is needed")
        .hint("--token-file FILE with a secret of at least 16 characters");
  }
  auto store = store::open_sqlite(settings.data_dir);
  if (!store.ok()) return store.error();
  auto loaded = (*store)->load(Clock::wall_now().us, 20'000);
  if (!loaded.ok()) return loaded.error();
  const Clock clock(Instant{loaded->last_event_us});
  const Instant begin = clock.now();
  std::unique_ptr<Recording> recording;
  if (!settings.record.empty()) {
    auto made = Recording::create(settings.record, logic_settings(settings), *loaded, begin);
    if (!made.ok()) return made.error();
    recording = std::move(*made);
  }
  auto controller =
      std::make_unique<LiveController>(settings, clock, begin, std::move(*store), *loaded, std::move(recording));
  if (Status opened = controller->open(loop); !opened.ok()) return opened.error();
  return std::unique_ptr<Controller>(std::move(controller));
}

}  // namespace sl::controller
