#include "agent/launcher_logic.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/out_of_memory.h"

namespace sl::agent {
namespace {

constexpr const char *by_order = "order", *by_lease = "lease";  // LauncherState::stopped_by

}  // namespace

void LauncherLogic::recover(const Remains& remains, const std::string& boot) {
  if (is_same_boot(remains.lease.boot, boot)) lease_until_ = remains.lease.until;
  for (const auto& [key, state] : remains.journal.ends) attempts_[key] = {state, false, false};
  for (const auto& [key, started] : remains.journal.started) {
    if (attempts_.count(key) == 0) recover(started, boot);
  }
}

void LauncherLogic::recover(const Started& started, const std::string& boot) {
  LauncherState state;
  state.key = started.key, state.state = "running", state.gpus = started.gpus;
  state.pid = started.pid, state.started_us = started.wall_us;
  const bool is_of_this_boot = is_same_boot(started.boot, boot);
  const bool runs = is_of_this_boot && runtime_.adopt(started);
  state.frozen = runs && runtime_.is_frozen(started.key);
  attempts_[started.key] = {std::move(state), true, runs && started.fenced};
  if (runs) return;
  on_ended(started.key, unknown_status);
  if (!is_of_this_boot)
    ending_[started.key].state.failure_message =
        "the server was rebooted while the job ran, so its exit code is not known";
}

void LauncherLogic::obey(const Fields& order, Instant now) {
  if (order.empty()) return;
  const std::string& verb = order[0];
  if (verb == "start") return start(order, now);
  if (verb == "signal" && order.size() == 3) return send_signal(order[1], std::atoi(order[2].c_str()));
  if (verb == "pass_on" && order.size() == 3) return pass_on(order[1], std::atoi(order[2].c_str()));
  if ((verb == "freeze" || verb == "thaw") && order.size() == 2) return freeze(order[1], verb == "freeze");
  if (verb == "forget" && order.size() == 2) return forget(order[1]);
  if (verb == "join") return join(order);
  if (verb == "limit") return limit(order);
  if (verb == "list") return list();
  if (verb == "ping") return ports_.tell({"pong"});
  if (verb == "shutdown") shutting_down_ = true;
  if (verb == "lease" && order.size() == 2) {
    lease_until_ = Instant{std::atoll(order[1].c_str())};
    fence_ = Fence::open;
    ports_.write_lease(lease_until_);
    enforce_lease(now);  // the renewal may have come too late
  }
}

void LauncherLogic::start(const Fields& fields, Instant now) {
  auto order = to_launch_order(fields);
  if (!order) return;
  if (const auto given = limits_.extract(order->key); !given.empty()) order->limits = given.mapped();
  if (const auto known = attempts_.find(order->key); known != attempts_.end())
    return ports_.tell(to_fields(known->second.state));  // the order was repeated
  LauncherState state;
  state.key = order->key;
  state.gpus = order->gpus;
  // Over and forgotten, or an order from before the server was cut off: it must not run (again).
  if (ports_.was_started(order->key) || (order->fenced && now >= lease_until_)) {
    state.state = "exited";
    state.failure_kind = "lost";
    return ports_.tell(to_fields(state));
  }
  state.state = "running";
  const Result<std::int64_t> pid = runtime_.start(*order);
  if (pid.ok()) {
    state.pid = *pid;
    state.started_us = ports_.wall_us();
    ports_.tell(to_fields(state));
  } else {
    LauncherState failed = state;
    failed.state = "exited";
    failed.ended_us = ports_.wall_us();
    failed.failure_kind = pid.error().code;
    failed.failure_message = pid.error().message;
    ending_[order->key] = {std::move(failed), {}};  // reported once it is recorded
  }
  attempts_[order->key] = {std::move(state), false, order->fenced};
}

void LauncherLogic::send_signal(const std::string& key, int number) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.state.state != "running" || number <= 0 || number > 64) return;
  deliver(at->second, number, by_order);
}

// A user's own signal: should the attempt end by it, nobody has stopped it.
void LauncherLogic::pass_on(const std::string& key, int number) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.state.state != "running" || number <= 0 || number > 64) return;
  number == SIGKILL ? runtime_.kill(key) : runtime_.signal(key, number);
}

// Told also if nothing changes: the order may have been repeated.
void LauncherLogic::freeze(const std::string& key, bool frozen) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return;
  LauncherState& state = at->second.state;
  if (state.state == "running" && state.frozen != frozen) {
    frozen ? runtime_.freeze(key) : runtime_.thaw(key);
    state.frozen = frozen;
  }
  ports_.tell(to_fields(state));
}

// What is ending gets no new process: the end waits for all of them. A frozen one would not run.
void LauncherLogic::join(const Fields& fields) {
  const auto order = to_join_order(fields);
  const auto at = order ? attempts_.find(order->key) : attempts_.end();
  if (at == attempts_.end()) return;
  const LauncherState& state = at->second.state;
  if (state.state == "running" && !state.frozen && !ending_.contains(order->key)) runtime_.join(*order);
}

// A request goes to the leader's process group, which a stopped process receives too; nothing escapes a kill. If both an
// order and the lease end an attempt, the lease counts: then the job may be started elsewhere.
void LauncherLogic::deliver(Attempt& attempt, int number, const char* by) {
  const std::string& key = attempt.state.key;
  if (attempt.state.stopped_by != by_lease) attempt.state.stopped_by = by;
  if (number == SIGKILL) return runtime_.kill(key);
  runtime_.signal(key, number);  // a frozen process receives it when it is thawed
  if (std::exchange(attempt.state.frozen, false)) runtime_.thaw(key);
  runtime_.signal(key, SIGCONT);
}

// An attempt that is known does not start again. What is over may be named by an order that was late.
void LauncherLogic::limit(const Fields& fields) {
  const auto order = to_limit_order(fields);
  if (!order) return;
  const auto at = attempts_.find(order->key);
  if (at == attempts_.end())
    limits_[order->key] = order->limits;
  else if (at->second.state.state == "running")
    runtime_.limit(order->key, order->limits);
}

void LauncherLogic::forget(const std::string& key) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.state.state != "exited") return;
  ports_.write_forgotten(key);
  attempts_.erase(at);
}

void LauncherLogic::list() {
  for (const auto& [key, attempt] : attempts_) ports_.tell(to_fields(attempt.state));
  ports_.tell(to_fields(runtime_.enforces()));
  ports_.tell({"listed"});
}

void LauncherLogic::on_ended(const std::string& key, int status) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.state.state != "running" || ending_.count(key) != 0) return;
  LauncherState state = at->second.state;
  state.state = "exited";
  state.frozen = false;
  state.ended_us = ports_.wall_us();
  if (status == unknown_status) {
    state.failure_kind = "lost";
    state.failure_message = "the launcher was killed while the job ran, so its exit code is not known";
  } else if (WIFSIGNALED(status)) {
    state.signal = WTERMSIG(status);
  } else {
    state.exit_code = WEXITSTATUS(status);
  }
  ending_[key] = {std::move(state), {}};
}

// One that went on without the process that was killed, and succeeded, did not need it. Of one whose exit code cannot be
// known nobody knows why it ended.
void LauncherLogic::explain_end(LauncherState& state) const {
  const bool has_failed = state.signal || state.exit_code.value_or(0) != 0;
  if (!has_failed || !state.failure_kind.empty() || !state.stopped_by.empty()) return;
  const MemoryUse use = runtime_.memory_use(state.key);
  if (use.kills == 0) return;
  state.failure_kind = "out_of_memory";
  state.failure_message = out_of_memory_text(use.limit_bytes, use.peak_bytes);
}

// Those whose trees are gone. What is left of the other trees is killed.
std::vector<LauncherState> LauncherLogic::take_ended(Instant now) {
  std::vector<LauncherState> ended;
  for (auto at = ending_.begin(); at != ending_.end();) {
    auto& [key, ending] = *at;
    if (now < ending.look_at) {
      ++at;
    } else if (runtime_.is_gone(key)) {
      ended.push_back(std::move(ending.state));
      explain_end(ended.back());
      at = ending_.erase(at);
    } else {
      runtime_.kill(key);
      ending.look_at = now + ending.look_again;
      ending.look_again = std::min(ending.look_again * 2, Duration::whole_seconds(1));
      ++at;
    }
  }
  return ended;
}

void LauncherLogic::settle(Instant now) {
  enforce_lease(now);
  const std::vector<LauncherState> ended = take_ended(now);
  if (ended.empty()) return;
  for (const LauncherState& state : ended) ports_.write_end(state);
  ports_.sync();
  for (const LauncherState& state : ended) {
    attempts_[state.key].state = state;
    runtime_.forget(state.key);
    ports_.tell(to_fields(state));
  }
}

void LauncherLogic::enforce_lease(Instant now) {
  if (fence_ == Fence::open && now >= lease_until_) signal_fenced(SIGTERM), fence_ = Fence::asked;
  if (fence_ == Fence::asked && now >= lease_until_ + fence_grace) signal_fenced(SIGKILL), fence_ = Fence::shut;
}

void LauncherLogic::signal_fenced(int number) {
  for (auto& [key, attempt] : attempts_) {
    if (attempt.fenced && attempt.state.state == "running") deliver(attempt, number, by_lease);
  }
}

Instant LauncherLogic::next_wake() const {
  Instant wake = Instant::never();
  for (const auto& [key, ending] : ending_) wake = std::min(wake, ending.look_at);
  if (lease_until_.is_never() || fence_ == Fence::shut) return wake;
  return std::min(wake, fence_ == Fence::open ? lease_until_ : lease_until_ + fence_grace);
}

bool LauncherLogic::is_idle() const {
  return std::none_of(attempts_.begin(), attempts_.end(),
                      [](const auto& item) { return item.second.state.state == "running"; });
}

bool LauncherLogic::is_done() const { return shutting_down_ && is_idle(); }

}  // namespace sl::agent
