#include "agent/agent_logic.h"

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

void AgentLogic::on_session_opened(wire::Hello hello) {
  next_seq_ = 1;
  for (auto& [key, attempt] : attempts_) {
    attempt.unacknowledged = 0;  // Hello tells it all
    hello.attempts.push_back(attempt.report);
  }
  ports_.send(hello);
}

void AgentLogic::on_message(const wire::ControllerMessage& message, Instant now) {
  last_contact_ = now;
  if (const auto* order = std::get_if<wire::StartAttempt>(&message)) start(*order);
  if (const auto* order = std::get_if<wire::StopAttempt>(&message)) stop(*order, now);
  if (const auto* order = std::get_if<wire::ForgetAttempt>(&message)) forget(*order);
  if (const auto* ack = std::get_if<wire::Ack>(&message)) {
    for (auto& [key, attempt] : attempts_) {
      if (attempt.unacknowledged == ack->seq) attempt.unacknowledged = 0;
    }
  }
}

// The order may come again after a reconnect: an attempt that is known only tells how it stands.
void AgentLogic::start(const wire::StartAttempt& order) {
  const std::string key = key_of(order.job_id, order.attempt);
  const auto [at, is_new] = attempts_.try_emplace(key);
  HeldAttempt& attempt = at->second;
  if (!is_new && !attempt.ordered) return report(attempt);
  attempt.report.job_id = order.job_id;
  attempt.report.attempt = order.attempt;
  attempt.report.state = "starting";
  attempt.report.gpus = order.gpus;
  attempt.ordered = true;
  ports_.launch(key, order);
}

void AgentLogic::stop(const wire::StopAttempt& order, Instant now) {
  const std::string key = key_of(order.job_id, order.attempt);
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) {  // never heard of: it cannot run here
    wire::AttemptReport report;
    report.job_id = order.job_id;
    report.attempt = order.attempt;
    report.state = "exited";
    report.failure_kind = "lost";
    return ports_.send(wire::AttemptChanged{next_seq_++, report});
  }
  HeldAttempt& attempt = at->second;
  if (attempt.report.state == "exited") return report(attempt);
  if (!attempt.kill_at.is_never()) return;  // already on its way
  attempt.report.state = "stopping";
  attempt.kill_at = now + Duration::seconds(order.grace_s);
  ports_.signal(key, signal_number(order.signal));
}

void AgentLogic::forget(const wire::ForgetAttempt& order) {
  const std::string key = key_of(order.job_id, order.attempt);
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.report.state != "exited") return;
  attempts_.erase(at);
  ports_.forget(key);
}

void AgentLogic::on_launcher_state(const LauncherState& state) {
  const std::size_t dot = state.key.find('.');
  if (dot == std::string::npos) return;
  HeldAttempt& attempt = attempts_[state.key];
  const bool stopping = attempt.report.state == "stopping" && state.state == "running";
  wire::AttemptReport& report_ = attempt.report;
  report_.job_id = std::atoll(state.key.c_str());
  report_.attempt = std::atoi(state.key.c_str() + dot + 1);
  report_.state = stopping ? "stopping" : state.state;
  report_.pid = state.pid;
  report_.gpus = parse_gpus(state.gpus);
  if (state.started_us != 0) report_.started_us = state.started_us;
  if (state.ended_us != 0) report_.ended_us = state.ended_us;
  report_.exit_code = state.exit_code;
  report_.signal = state.signal;
  if (!state.failure_kind.empty()) report_.failure_kind = state.failure_kind;
  if (!state.failure_message.empty()) report_.failure_message = state.failure_message;
  attempt.ordered = false;
  if (state.state == "exited") attempt.kill_at = Instant::never();
  if (launcher_ready_) report(attempt);
}

void AgentLogic::on_launcher_listed() { launcher_ready_ = true; }

void AgentLogic::report(HeldAttempt& attempt) {
  attempt.unacknowledged = next_seq_++;
  ports_.send(wire::AttemptChanged{attempt.unacknowledged, attempt.report});
}

void AgentLogic::tick(Instant now) {
  for (auto& [key, attempt] : attempts_) {
    if (now < attempt.kill_at) continue;
    ports_.signal(key, SIGKILL);
    attempt.kill_at = now + Duration::whole_seconds(5);  // again, should the first have been lost
  }
}

}  // namespace sl::agent
