#include "agent/agent_logic.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>

namespace sl::agent {
namespace {

int signal_number(const std::string& name) {
  static const std::map<std::string, int> numbers = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},
                                                     {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                                                     {"KILL", SIGKILL}};
  const std::string plain = name.starts_with("SIG") ? name.substr(3) : name;
  const auto at = numbers.find(plain);
  return at == numbers.end() ? SIGTERM : at->second;
}

std::vector<int> parse_gpus(const std::string& text) {
  std::vector<int> gpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) gpus.push_back(std::atoi(part.c_str()));
  return gpus;
}

}  // namespace

std::string key_of(std::int64_t job_id, int attempt) { return std::to_string(job_id) + "." + std::to_string(attempt); }

// ---- sessions ----

void AgentLogic::on_session_opened(wire::Hello hello, Instant now) {
  in_session_ = true;
  reports_sent_ = orders_seen_ = 0;
  hello_sent_ = now;
  next_ping_ = now + lease_ / 6;
  lease_until_ = now + lease_;
  for (const auto& [key, attempt] : attempts_) hello.attempts.push_back(attempt.report);
  ports_.send(hello);
}

void AgentLogic::on_launcher_lost() {
  launcher_ready_ = false;
  attempts_.clear();
  disconnect();  // orders under way assume what is no longer known
}

// What has not begun is ordered again in the next session, if it is still wanted.
void AgentLogic::on_session_closed() {
  in_session_ = false;
  std::erase_if(attempts_, [](const auto& item) { return item.second.waiting.has_value(); });
}

void AgentLogic::disconnect() {
  if (!in_session_) return;
  on_session_closed();
  ports_.disconnect();
}

void AgentLogic::renew(Instant from) {
  lease_until_ = from + lease_;
  ports_.renew(lease_until_);
}

// Whether it is the order after the last one. When one is missing, both sides start over with a new session.
bool AgentLogic::is_next(std::int64_t seq) {
  if (seq <= orders_seen_) return false;  // came twice
  if (seq != orders_seen_ + 1) return disconnect(), false;
  orders_seen_ = seq;
  return true;
}

void AgentLogic::on_message(const wire::ControllerMessage& message, Instant now) {
  if (!in_session_) return;
  if (const auto* welcome = std::get_if<wire::Welcome>(&message)) {
    lease_ = Duration::seconds(welcome->lease_s);
    renew(hello_sent_);
  }
  if (const auto* ping = std::get_if<wire::Ping>(&message)) {
    if (ping->last_seq > orders_seen_) return disconnect();
    renew(std::max(hello_sent_, Instant{ping->at_us}));
  }
  if (now >= lease_until_) return disconnect();  // old news: we may have been frozen
  if (const auto* order = std::get_if<wire::StartAttempt>(&message)) {
    if (is_next(order->seq)) start(*order);
  } else if (const auto* stop_order = std::get_if<wire::StopAttempt>(&message)) {
    if (is_next(stop_order->seq)) stop(*stop_order, now);
  } else if (const auto* forget_order = std::get_if<wire::ForgetAttempt>(&message)) {
    if (is_next(forget_order->seq)) forget(*forget_order);
  }
}

void AgentLogic::tick(Instant now) {
  if (in_session_ && now >= lease_until_) disconnect();
  if (in_session_ && now >= next_ping_) {
    next_ping_ = now + lease_ / 6;
    ports_.send(wire::Ping{now.us, reports_sent_});
  }
  for (auto& [key, attempt] : attempts_) {
    if (now < attempt.kill_at) continue;
    ports_.signal(key, SIGKILL);
    attempt.kill_at = now + Duration::whole_seconds(5);  // again, should the first have been lost
  }
}

// ---- orders ----

// The order may come again after a reconnect: an attempt that is known only tells how it stands.
void AgentLogic::start(const wire::StartAttempt& order) {
  const std::string key = key_of(order.job_id, order.attempt);
  const auto [at, is_new] = attempts_.try_emplace(key);
  HeldAttempt& attempt = at->second;
  if (!is_new) return report(attempt.report);
  attempt.report.job_id = order.job_id;
  attempt.report.attempt = order.attempt;
  attempt.report.state = "starting";
  if (!gpus_are_free(order)) {
    attempt.waiting = order;
    return;
  }
  attempt.report.gpus = order.gpus;
  ports_.launch(key, order);
}

// An attempt that the controller has given up may still be on its way out.
bool AgentLogic::gpus_are_free(const wire::StartAttempt& order) const {
  return std::none_of(attempts_.begin(), attempts_.end(), [&](const auto& item) {
    const wire::AttemptReport& other = item.second.report;
    return other.state != "exited" && std::any_of(order.gpus.begin(), order.gpus.end(), [&](int gpu) {
             return std::find(other.gpus.begin(), other.gpus.end(), gpu) != other.gpus.end();
           });
  });
}

void AgentLogic::launch_waiting() {
  for (auto& [key, attempt] : attempts_) {
    if (!attempt.waiting || !gpus_are_free(*attempt.waiting)) continue;
    const wire::StartAttempt order = std::move(*attempt.waiting);
    attempt.waiting.reset();
    attempt.report.gpus = order.gpus;
    ports_.launch(key, order);
  }
}

void AgentLogic::stop(const wire::StopAttempt& order, Instant now) {
  const std::string key = key_of(order.job_id, order.attempt);
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return report_lost(order);  // never heard of: it cannot run here
  HeldAttempt& attempt = at->second;
  if (attempt.waiting) {
    attempts_.erase(at);
    return report_lost(order);
  }
  if (attempt.report.state == "exited") return report(attempt.report);
  if (!attempt.kill_at.is_never()) return;  // already on its way
  attempt.report.state = "stopping";
  attempt.kill_at = now + Duration::seconds(order.grace_s);
  ports_.signal(key, signal_number(order.signal));
}

void AgentLogic::report_lost(const wire::StopAttempt& order) {
  wire::AttemptReport lost;
  lost.job_id = order.job_id;
  lost.attempt = order.attempt;
  lost.state = "exited";
  lost.failure_kind = "lost";
  report(lost);
}

void AgentLogic::forget(const wire::ForgetAttempt& order) {
  const std::string key = key_of(order.job_id, order.attempt);
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.report.state != "exited") return;
  attempts_.erase(at);
  ports_.forget(key);
}

// ---- the launcher ----

void AgentLogic::on_launcher_state(const LauncherState& state) {
  const std::size_t dot = state.key.find('.');
  if (dot == std::string::npos) return;
  HeldAttempt& attempt = attempts_[state.key];
  const bool stopping = attempt.report.state == "stopping" && state.state == "running";
  wire::AttemptReport& told = attempt.report;
  told.job_id = std::atoll(state.key.c_str());
  told.attempt = std::atoi(state.key.c_str() + dot + 1);
  told.state = stopping ? "stopping" : state.state;
  told.pid = state.pid;
  told.gpus = parse_gpus(state.gpus);
  if (state.started_us != 0) told.started_us = state.started_us;
  if (state.ended_us != 0) told.ended_us = state.ended_us;
  told.exit_code = state.exit_code;
  told.signal = state.signal;
  if (!state.failure_kind.empty()) told.failure_kind = state.failure_kind;
  if (!state.failure_message.empty()) told.failure_message = state.failure_message;
  if (launcher_ready_) report(told);
  if (state.state != "exited") return;
  attempt.kill_at = Instant::never();
  launch_waiting();
}

void AgentLogic::report(const wire::AttemptReport& report) {
  if (in_session_) ports_.send(wire::AttemptChanged{++reports_sent_, report});
}

}  // namespace sl::agent
