#include "agent/controller_session.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "agent/clocks.h"
#include "wire/error.h"
#include "wire/visible.h"

namespace sl::agent {
namespace {

constexpr Duration lasting = Duration::whole_seconds(2);
constexpr double retry_s_first = 0.1, retry_s_max = 5;

std::string websocket_url(std::string url) {
  if (url.starts_with("http")) url.replace(0, 4, "ws");
  while (url.ends_with('/')) url.pop_back();
  return url + "/api/v1/agent";
}

// "bad-message", as a controller closes a connection; what the system says of one that broke is a sentence.
bool is_code(const std::string& reason) {
  return !reason.empty() && reason.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == reason.npos;
}

}  // namespace

ControllerSession::ControllerSession(net::EventLoop& loop, const std::string& controller_url,
                                     std::function<std::string()> token, Events events)
    : loop_(loop),
      url_(websocket_url(controller_url)),
      token_(std::move(token)),
      events_(std::move(events)),
      retry_s_(retry_s_first),
      random_(std::random_device{}()) {}

ControllerSession::~ControllerSession() {
  alive_.reset();
  if (socket_) socket_->set_callbacks({}), socket_->close("agent stopped");
}

void ControllerSession::connect() {
  net::ConnectResult result;
  result.on_open = [this, alive = std::weak_ptr(alive_)](std::shared_ptr<net::WebSocket> socket) {
    if (!alive.expired()) on_open(std::move(socket));
  };
  result.on_error = [this, alive = std::weak_ptr(alive_)](const Error& error) {
    if (!alive.expired()) say("cannot join: " + error.message), retry();
  };
  result.on_refused = [this, alive = std::weak_ptr(alive_)](int status, const std::string& body) {
    if (alive.expired()) return;
    const Error error = wire::error_from_problem(status, body);
    say("the controller refuses this agent: " + wire::visible_name(error.message + " [" + error.code + "]"));
    retry();
  };
  net::Headers headers;
  if (const std::string token = token_(); !token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
  connecting_ = net::connect_websocket(loop_, url_, headers, std::move(result));
}

// It tries again and again; the same is said once.
void ControllerSession::say(const std::string& why) {
  if (why != said_) std::fprintf(stderr, "schedulearn agent: %s\n", why.c_str());
  said_ = why;
}

void ControllerSession::on_open(std::shared_ptr<net::WebSocket> socket) {
  socket_ = std::move(socket);
  is_answered_ = false;
  net::WebSocket::Callbacks callbacks;
  callbacks.on_message = [this, alive = std::weak_ptr(alive_), number = ++number_](const std::string& text) {
    if (!alive.expired() && number == number_) on_text(text);
  };
  callbacks.on_close = [this, alive = std::weak_ptr(alive_), number = number_](const std::string& reason) {
    if (alive.expired() || number != number_) return;
    if (!is_answered_ && is_code(reason))
      say("the controller ends the connection (" + reason + "); it may be of another version of schedulearn");
    lose();
    events_.on_lost();
  };
  socket_->set_callbacks(std::move(callbacks));
  events_.on_open();
}

void ControllerSession::on_text(const std::string& text) {
  const auto message = wire::decode_controller_message(text);
  if (!message.ok()) return;  // from a newer controller: nothing we can do
  is_answered_ = true;
  if (std::holds_alternative<wire::Welcome>(*message)) welcomed_ = boot_now(), said_.clear();
  if (const auto* refused = std::get_if<wire::Refused>(&*message))
    say("refused by the controller: " + wire::visible_name(refused->message));
  events_.on_message(*message);
}

void ControllerSession::send(const wire::AgentMessage& message) {
  if (socket_) socket_->send(wire::encode(message));
}

void ControllerSession::give_up() {
  if (!socket_) return;
  socket_->close("session given up");
  lose();
}

void ControllerSession::lose() {
  ++number_;
  socket_.reset();
  retry();
}

// A random time between half and all of a delay that doubles.
void ControllerSession::retry() {
  // One that ends as soon as it has begun will do so again.
  const Instant welcomed = std::exchange(welcomed_, Instant::never());
  if (!welcomed.is_never() && boot_now() - welcomed >= lasting) retry_s_ = retry_s_first;
  const double wait_s = retry_s_ * std::uniform_real_distribution<>(0.5, 1.0)(random_);
  retry_s_ = std::min(retry_s_max, retry_s_ * 2);
  retry_ = loop_.after(Duration::seconds(wait_s), [this] { connect(); });
}

}  // namespace sl::agent
