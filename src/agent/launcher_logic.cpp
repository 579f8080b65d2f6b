#include "agent/launcher_logic.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace sl::agent {

void LauncherLogic::adopt(const LauncherState& state, bool fenced) {
  attempts_[state.key] = {state, true, fenced};
  by_pid_[state.pid] = state.key;
}

void LauncherLogic::adopt_gone(const LauncherState& state) {
  adopt(state, false);
  on_ended(state.pid, unknown_status);
}

void LauncherLogic::obey(const Fields& order, Instant now) {
  if (order.empty()) return;
  const std::string& verb = order[0];
  if (verb == "start") return start(order, now);
  if (verb == "signal" && order.size() == 3) return send_signal(order[1], std::atoi(order[2].c_str()));
  if (verb == "forget" && order.size() == 2) return forget(order[1]);
  if (verb == "list") return list();
  if (verb == "shutdown") shutting_down_ = true;
  if (verb == "lease" && order.size() == 2) {
    lease_until_ = Instant{std::atoll(order[1].c_str())};
    fence_ = Fence::open;
    ports_.write_lease(lease_until_);
    enforce_lease(now);  // it may have come too late
  }
}

void LauncherLogic::start(const Fields& fields, Instant now) {
  const auto order = to_launch_order(fields);
  if (!order) return;
  if (const auto known = attempts_.find(order->key); known != attempts_.end())
    return ports_.tell(to_fields(known->second.state));  // the order came twice
  LauncherState state;
  state.key = order->key;
  state.gpus = order->gpus;
  // Over and forgotten, or an order from before the server was cut off: it must not run (again).
  if (ports_.was_started(order->key) || (order->fenced && now >= lease_until_)) {
    state.state = "exited";
    state.failure_kind = "lost";
    return ports_.tell(to_fields(state));
  }
  const Result<std::int64_t> pid = ports_.spawn(*order);
  if (!pid.ok()) {
    fail_start(state, pid.error().message);
  } else {
    state.state = "running";
    state.pid = *pid;
    state.started_us = ports_.wall_us();
    by_pid_[*pid] = order->key;
    ports_.tell(to_fields(state));
  }
  attempts_[order->key] = {std::move(state), false, order->fenced};
}

void LauncherLogic::fail_start(LauncherState& state, const std::string& why) {
  state.state = "exited";
  state.ended_us = ports_.wall_us();
  state.failure_kind = "setup";
  state.failure_message = why;
  ended_.push_back(state);
}

void LauncherLogic::send_signal(const std::string& key, int number) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.state.state != "running" || number <= 0 || number > 64) return;
  ports_.signal(at->second.state.pid, number);
  if (number != SIGKILL) ports_.signal(at->second.state.pid, SIGCONT);  // a stopped process sees it too
}

void LauncherLogic::forget(const std::string& key) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.state.state != "exited") return;
  ports_.write_forgotten(key);
  attempts_.erase(at);
}

// What has ended but is not written down yet is told by settle(): here it still counts as running.
void LauncherLogic::list() {
  for (const auto& [key, attempt] : attempts_) {
    const bool unwritten =
        std::any_of(ended_.begin(), ended_.end(), [&](const LauncherState& state) { return state.key == key; });
    if (!unwritten) ports_.tell(to_fields(attempt.state));
  }
  for (LauncherState state : ended_) {
    state.state = "running";
    state.ended_us = 0;
    state.exit_code.reset(), state.signal.reset();
    state.failure_kind.clear(), state.failure_message.clear();
    ports_.tell(to_fields(state));
  }
  ports_.tell({"listed"});
}

// Whatever the job left behind in its process group ends with it.
void LauncherLogic::on_ended(std::int64_t pid, int status) {
  const auto at = by_pid_.find(pid);
  if (at == by_pid_.end()) return;
  LauncherState& state = attempts_[at->second].state;
  by_pid_.erase(at);
  if (status != unknown_status || attempts_[state.key].adopted) ports_.signal(pid, SIGKILL);
  state.state = "exited";
  state.ended_us = ports_.wall_us();
  if (status == unknown_status) {
    state.failure_kind = "lost";
    state.failure_message = "the launcher was killed while the job ran, so its exit code is not known";
  } else if (WIFSIGNALED(status)) {
    state.signal = WTERMSIG(status);
  } else {
    state.exit_code = WEXITSTATUS(status);
  }
  ended_.push_back(state);
}

void LauncherLogic::on_start_failed(std::int64_t pid, const std::string& why) {
  const auto at = by_pid_.find(pid);
  if (at == by_pid_.end()) return;
  fail_start(attempts_[at->second].state, why);
  by_pid_.erase(at);
}

void LauncherLogic::settle(Instant now) {
  enforce_lease(now);
  if (ended_.empty()) return;
  for (const LauncherState& state : ended_) ports_.write_end(state);
  ports_.sync();
  const std::vector<LauncherState> ended = std::exchange(ended_, {});
  for (const LauncherState& state : ended) ports_.tell(to_fields(state));
}

void LauncherLogic::enforce_lease(Instant now) {
  if (fence_ == Fence::open && now >= lease_until_) signal_fenced(SIGTERM), fence_ = Fence::asked;
  if (fence_ == Fence::asked && now >= lease_until_ + fence_grace) signal_fenced(SIGKILL), fence_ = Fence::shut;
}

void LauncherLogic::signal_fenced(int number) {
  for (const auto& [pid, key] : by_pid_) {
    if (attempts_[key].fenced) ports_.signal(pid, number);
  }
}

Instant LauncherLogic::next_wake() const {
  if (lease_until_.is_never() || fence_ == Fence::shut) return Instant::never();
  return fence_ == Fence::open ? lease_until_ : lease_until_ + fence_grace;
}

bool LauncherLogic::is_done() const { return shutting_down_ && by_pid_.empty() && ended_.empty(); }

}  // namespace sl::agent
