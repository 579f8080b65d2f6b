#include "agent/agent_logic.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>

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

bool is_being_brought(const HeldAttempt& attempt) {
  return attempt.is_fetching || attempt.awaits_image || attempt.awaits_code;
}

bool is_prepared(const HeldAttempt& attempt) { return attempt.report.state == "prepared"; }

}  // namespace

// ---- sessions ----

void AgentLogic::on_session_opened(wire::Hello hello, Instant now) {
  in_session_ = true;
  is_welcome_ = false;
  reports_sent_ = orders_seen_ = 0;
  hello_sent_ = now;
  next_ping_ = now + lease_ / wire::pings_per_lease;
  lease_until_ = now + lease_;
  hello.cluster = cluster_.id;
  hello.last_job = std::max(cluster_.last_job, last_forgotten_);
  for (const auto& [key, attempt] : attempts_) {
    const Incarnation& incarnation = attempt.report.incarnation;
    if (incarnation.cluster == cluster_.id) hello.last_job = std::max(hello.last_job, incarnation.job);
    hello.attempts.push_back(attempt.report);
  }
  ports_.send(hello);
}

void AgentLogic::on_launcher_lost() {
  launcher_ready_ = false;
  drop_waiting();
  attempts_.clear();
  disconnect();  // orders in progress are based on what is now unknown
}

// Orders that were not begun are given again in the next session if they are still wanted.
void AgentLogic::on_session_closed() {
  in_session_ = false;
  drop_waiting();
}

void AgentLogic::drop_waiting() {
  for (auto& [key, attempt] : attempts_) {
    end_bringing(key, attempt, false);
    if (is_prepared(attempt)) ports_.abandon(key);
    attempt.waiting_to_thaw.reset();
    if (attempt.resized_by.is_never()) attempt.resizing.reset();
  }
  std::erase_if(attempts_, [](const auto& item) { return item.second.waiting.has_value(); });
}

// What has come of a checkpoint stays for another try, unless `discards`.
void AgentLogic::end_bringing(const std::string& key, HeldAttempt& attempt, bool discards) {
  const bool fetches = std::exchange(attempt.is_fetching, false) && !attempt.awaits_code;
  if (fetches) ports_.end_fetch(key, discards);
  if (std::exchange(attempt.awaits_image, false)) ports_.end_find_image(key);
  if (std::exchange(attempt.awaits_code, false)) ports_.end_find_code(key);
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

// What a welcome says counts, also when it is less than before: the controller knows now what we had heard.
void AgentLogic::hear_of(const std::string& cluster, std::int64_t last_job) {
  const KnownCluster heard{cluster, last_job};
  if (heard == cluster_) return;
  cluster_ = heard;
  ports_.remember(cluster_);
}

// Whether it is the next order in sequence. If one is missing, or the welcome, without whose lease nothing may start,
// both sides start over with a new session.
bool AgentLogic::is_next(std::int64_t seq) {
  if (seq <= orders_seen_) return false;  // repeated
  if (!is_welcome_ || seq != orders_seen_ + 1) return disconnect(), false;
  orders_seen_ = seq;
  return true;
}

void AgentLogic::on_message(const wire::ControllerMessage& message, Instant now) {
  if (!in_session_) return;
  if (const auto* welcome = std::get_if<wire::Welcome>(&message)) {
    is_welcome_ = true;
    lease_ = Duration::seconds(welcome->lease_s);
    renew(hello_sent_);
    hear_of(welcome->cluster, welcome->last_job);
    last_forgotten_ = 0;
  }
  if (const auto* ping = std::get_if<wire::Ping>(&message)) {
    if (ping->last_seq > orders_seen_) return disconnect();
    renew(std::max(hello_sent_, Instant{ping->at_us}));
    hear_of(cluster_.id, std::max({cluster_.last_job, last_forgotten_, ping->last_job}));
  }
  if (now >= lease_until_) return disconnect();  // old news: we may have been frozen
  if (const auto* order = std::get_if<wire::StartAttempt>(&message)) {
    if (is_next(order->seq)) start(*order);
  } else if (const auto* launch_order = std::get_if<wire::LaunchAttempt>(&message)) {
    if (is_next(launch_order->seq)) launch(*launch_order);
  } else if (const auto* stop_order = std::get_if<wire::StopAttempt>(&message)) {
    if (is_next(stop_order->seq)) stop(*stop_order, now);
  } else if (const auto* signal_order = std::get_if<wire::SignalAttempt>(&message)) {
    if (is_next(signal_order->seq)) pass_on(*signal_order);
  } else if (const auto* resize_order = std::get_if<wire::ResizeAttempt>(&message)) {
    if (is_next(resize_order->seq)) resize(*resize_order, now);
  } else if (const auto* freeze_order = std::get_if<wire::FreezeAttempt>(&message)) {
    if (is_next(freeze_order->seq)) freeze(*freeze_order);
  } else if (const auto* thaw_order = std::get_if<wire::ThawAttempt>(&message)) {
    if (is_next(thaw_order->seq)) thaw(*thaw_order);
  } else if (const auto* forget_order = std::get_if<wire::ForgetAttempt>(&message)) {
    if (is_next(forget_order->seq)) forget(*forget_order);
  } else if (const auto* offer_order = std::get_if<wire::OfferCheckpoint>(&message)) {
    if (is_next(offer_order->seq)) ports_.offer(*offer_order);
  }
}

void AgentLogic::tick(Instant now) {
  if (in_session_ && now >= lease_until_) disconnect();
  if (in_session_ && now >= next_ping_) {
    next_ping_ = now + lease_ / wire::pings_per_lease;
    ports_.send(wire::Ping{now.us, reports_sent_});
  }
  for (auto& [key, attempt] : attempts_) {
    if (attempt.resizing && in_session_) ask_to_resize(key, attempt, now);
    if (now < attempt.kill_at) continue;
    ports_.signal(key, SIGKILL);
    attempt.kill_at = now + Duration::whole_seconds(5);  // repeated, in case the first was lost
  }
}

// ---- orders ----

// The order may come again after a reconnect: a known attempt only reports its state.
void AgentLogic::start(const wire::StartAttempt& order) {
  const std::string key = key_of(order.incarnation);
  const auto [at, is_new] = attempts_.try_emplace(key);
  HeldAttempt& attempt = at->second;
  if (!is_new) return start_again(key, attempt, order);
  attempt.report.incarnation = order.incarnation;
  attempt.report.state = "starting";
  attempt.is_fetching = order.checkpoint.has_value();
  attempt.awaits_image = order.spec.image.has_value();
  attempt.awaits_code = order.spec.snapshot.has_value();
  if (!is_being_brought(attempt) && are_free(order.placement.gpus, order.incarnation, order.neighbours))
    return begin(key, order);
  attempt.waiting = order;
  // The checkpoint folder may be one of the code's: so the code comes first.
  if (attempt.is_fetching && !attempt.awaits_code) ports_.fetch(key, order);
  if (attempt.awaits_image) ports_.find_image(key, order);
  if (attempt.awaits_code) ports_.find_code(key, order);
}

// What is being fetched may be elsewhere now, or lost.
void AgentLogic::start_again(const std::string& key, HeldAttempt& attempt, const wire::StartAttempt& order) {
  if (!attempt.is_fetching) return report(attempt.report);
  attempt.waiting = order;
  if (order.checkpoint) return attempt.awaits_code ? void() : ports_.fetch(key, order);
  attempt.is_fetching = false;
  if (!attempt.awaits_code) ports_.end_fetch(key, true);
  launch_waiting();
}

void AgentLogic::on_fetched(const std::string& key, const Result<wire::CheckpointCopy>& copy, Instant now) {
  if (in_session_ && now >= lease_until_) return disconnect();  // nothing may start any more
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || !at->second.is_fetching) return;
  at->second.is_fetching = false;
  if (!copy.ok()) return fail_to_bring(key, at->second, copy.error());
  at->second.report.checkpoint_copy = *copy;
  launch_waiting();
}

void AgentLogic::on_image(const std::string& key, const Result<std::string>& digest, Instant now) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return;
  if (digest.ok()) at->second.report.image = *digest;
  if (!at->second.awaits_image) return;
  if (in_session_ && now >= lease_until_) return disconnect();
  at->second.awaits_image = false;
  digest.ok() ? launch_waiting() : fail_to_bring(key, at->second, digest.error());
}

void AgentLogic::on_code(const std::string& key, const Status& found, Instant now) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || !at->second.awaits_code) return;
  if (in_session_ && now >= lease_until_) return disconnect();
  if (!found.ok()) {
    at->second.is_fetching = false;  // it had not begun
    at->second.awaits_code = false;
    return fail_to_bring(key, at->second, found.error());
  }
  at->second.awaits_code = false;
  if (at->second.is_fetching) ports_.fetch(key, wire::StartAttempt(*at->second.waiting));
  launch_waiting();
}

void AgentLogic::fail_to_bring(const std::string& key, HeldAttempt& attempt, const Error& error) {
  end_bringing(key, attempt, false);
  attempt.waiting.reset();
  fail(key, error);
}

void AgentLogic::on_offered(wire::CheckpointOffered offered) {
  if (!in_session_ || !is_welcome_) return;  // it will be asked for again
  offered.seq = ++reports_sent_;
  ports_.send(offered);
}

// It has its checkpoint and its GPUs.
void AgentLogic::begin(const std::string& key, const wire::StartAttempt& order) {
  attempts_[key].report.gpus = order.placement.gpus;
  order.placement.servers > 1 ? prepare(key, order) : launch(key, order, {});
}

void AgentLogic::prepare(const std::string& key, const wire::StartAttempt& order) {
  const Result<int> port = ports_.prepare(key, order);
  if (!port.ok()) return fail(key, port.error());
  HeldAttempt& attempt = attempts_[key];
  attempt.waiting = order;
  attempt.report.state = "prepared";
  attempt.report.port = *port;
  report(attempt.report);
}

void AgentLogic::launch(const wire::LaunchAttempt& order) {
  const std::string key = key_of(order.incarnation);
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return report_lost(order.incarnation);
  HeldAttempt& attempt = at->second;
  if (!is_prepared(attempt)) return report(attempt.report);
  attempt.report.state = "starting";
  const wire::StartAttempt prepared = *std::exchange(attempt.waiting, std::nullopt);
  launch(key, prepared, order.parts);
}

// What never ran need not be on disk: should we forget its end, the order comes again.
void AgentLogic::launch(const std::string& key, const wire::StartAttempt& order,
                        const std::vector<wire::AttemptPart>& parts) {
  const Status launched = ports_.launch(key, order, parts);
  if (!launched.ok()) fail(key, launched.error());
}

void AgentLogic::fail(const std::string& key, const Error& error) {
  wire::AttemptReport& told = attempts_[key].report;
  told.state = "exited";
  told.failure_kind = error.code;
  told.failure_message = error.message;
  report(told);
  launch_waiting();  // others, for its GPUs
}

// An attempt that the controller has given up may still be ending. A frozen one computes nothing.
bool AgentLogic::are_free(const std::vector<int>& gpus, const Incarnation& self,
                          const std::vector<Incarnation>& neighbours) const {
  return std::none_of(attempts_.begin(), attempts_.end(), [&](const auto& item) {
    const wire::AttemptReport& other = item.second.report;
    const std::vector<int>& asked = item.second.asked;
    if (other.incarnation == self ||
        std::find(neighbours.begin(), neighbours.end(), other.incarnation) != neighbours.end())
      return false;
    return other.state != "exited" && other.state != "frozen" && std::any_of(gpus.begin(), gpus.end(), [&](int gpu) {
             return std::find(other.gpus.begin(), other.gpus.end(), gpu) != other.gpus.end() ||
                    std::find(asked.begin(), asked.end(), gpu) != asked.end();
           });
  });
}

void AgentLogic::launch_waiting() {
  for (auto& [key, attempt] : attempts_) {
    const Incarnation& self = attempt.report.incarnation;
    if (attempt.waiting && !is_being_brought(attempt) && !is_prepared(attempt) &&
        are_free(attempt.waiting->placement.gpus, self, attempt.waiting->neighbours)) {
      const wire::StartAttempt order = std::move(*attempt.waiting);
      attempt.waiting.reset();
      begin(key, order);
    } else if (attempt.waiting_to_thaw && are_free(attempt.report.gpus, self, attempt.waiting_to_thaw->neighbours)) {
      attempt.waiting_to_thaw.reset();
      ports_.freeze(key, false);
    }
  }
}

void AgentLogic::stop_those_here(const std::vector<wire::StopAttempt>& orders, Instant now) {
  for (const wire::StopAttempt& order : orders) {
    if (attempts_.contains(key_of(order.incarnation))) stop(order, now);
  }
}

void AgentLogic::stop(const wire::StopAttempt& order, Instant now) {
  const std::string key = key_of(order.incarnation);
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return report_lost(order.incarnation);  // unknown: it cannot be running here
  HeldAttempt& attempt = at->second;
  if (attempt.waiting) {
    end_bringing(key, attempt, true);
    if (is_prepared(attempt)) ports_.abandon(key);
    attempts_.erase(at);
    report_lost(order.incarnation);
    return launch_waiting();
  }
  if (attempt.report.state == "exited") return report(attempt.report);
  const Instant kill_at = now + Duration::seconds(order.grace_s);
  if (kill_at >= attempt.kill_at && order.grace_s > 0) return;  // it is being ended, and no later
  end(key, attempt, order.signal, kill_at);
}

void AgentLogic::end(const std::string& key, HeldAttempt& attempt, const std::string& signal, Instant kill_at) {
  attempt.report.state = "stopping";
  attempt.waiting_to_thaw.reset();
  attempt.resizing.reset();
  attempt.kill_at = kill_at;
  ports_.signal(key, signal_number(signal));
}

void AgentLogic::pass_on(const wire::SignalAttempt& order) {
  const std::string key = key_of(order.incarnation);
  const auto at = attempts_.find(key);
  if (at != attempts_.end() && at->second.report.state == "running") ports_.pass_on(key, signal_number(order.signal));
}

void AgentLogic::report_lost(const Incarnation& incarnation) {
  wire::AttemptReport lost;
  lost.incarnation = incarnation;
  lost.state = "exited";
  lost.failure_kind = "lost";
  report(lost);
}

// One that is being asked goes on being asked: the order was repeated.
void AgentLogic::resize(const wire::ResizeAttempt& order, Instant now) {
  const std::string key = key_of(order.incarnation);
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return report_lost(order.incarnation);
  HeldAttempt& attempt = at->second;
  if (attempt.report.state != "running" || attempt.report.gpus == order.placement.gpus) return report(attempt.report);
  if (attempt.resizing && attempt.resizing->placement.gpus != order.placement.gpus)
    return stop_to_resize(key, attempt, now);
  if (attempt.resizing) return;
  attempt.resizing = order;
  attempt.resized_by = Instant::never();
  ask_to_resize(key, attempt, now);
}

// Once its GPUs are free. One that does not answer in time, or cannot be asked, is stopped at a checkpoint.
void AgentLogic::ask_to_resize(const std::string& key, HeldAttempt& attempt, Instant now) {
  const wire::ResizeAttempt& order = *attempt.resizing;
  if (!attempt.resized_by.is_never()) return now >= attempt.resized_by ? stop_to_resize(key, attempt, now) : void();
  if (!are_free(order.placement.gpus, order.incarnation, order.neighbours)) return;
  attempt.resized_by = now + Duration::seconds(order.grace_s);
  attempt.asked = order.placement.gpus;
  const bool is_asked =
      ports_.keep_gpus(key, {attempt.report.gpus, attempt.asked}).ok() && ports_.ask_to_resize(key, order).ok();
  if (!is_asked) stop_to_resize(key, attempt, now);
}

void AgentLogic::stop_to_resize(const std::string& key, HeldAttempt& attempt, Instant now) {
  const wire::ResizeAttempt order = *attempt.resizing;
  end(key, attempt, order.signal, now + Duration::seconds(order.grace_s));
}

void AgentLogic::on_resized(const std::string& key) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || !at->second.resizing || at->second.resized_by.is_never()) return;
  HeldAttempt& attempt = at->second;
  if (!ports_.keep_gpus(key, {attempt.asked, {}}).ok()) return;  // tried again, until it is stopped
  attempt.resizing.reset();
  attempt.report.gpus = std::exchange(attempt.asked, {});
  report(attempt.report);
  launch_waiting();  // others, for the GPUs that it has left
}

// The launcher answers. What is being stopped goes on being stopped.
void AgentLogic::freeze(const wire::FreezeAttempt& order) {
  const std::string key = key_of(order.incarnation);
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return report_lost(order.incarnation);
  HeldAttempt& attempt = at->second;
  attempt.waiting_to_thaw.reset();
  if (attempt.report.state == "running" && !attempt.resizing) return ports_.freeze(key, true);
  report(attempt.report);
}

void AgentLogic::thaw(const wire::ThawAttempt& order) {
  const std::string key = key_of(order.incarnation);
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return report_lost(order.incarnation);
  HeldAttempt& attempt = at->second;
  if (attempt.report.state != "frozen") return report(attempt.report);
  if (are_free(attempt.report.gpus, order.incarnation, order.neighbours)) return ports_.freeze(key, false);
  attempt.waiting_to_thaw = order;
}

void AgentLogic::forget(const wire::ForgetAttempt& order) {
  const std::string key = key_of(order.incarnation);
  const auto at = attempts_.find(key);
  if (at == attempts_.end() || at->second.report.state != "exited") return;
  attempts_.erase(at);
  if (order.incarnation.cluster == cluster_.id) last_forgotten_ = std::max(last_forgotten_, order.incarnation.job);
  ports_.forget(key);
}

// ---- the launcher ----

void AgentLogic::on_launcher_state(const LauncherState& state) {
  const auto incarnation = parse_key(state.key);
  if (!incarnation) return;
  const auto [at, is_new] = attempts_.try_emplace(state.key);
  HeldAttempt& attempt = at->second;
  if (is_new) {
    const auto kept = ports_.kept_gpus(state.key).value_or(ResizedGpus{split_gpus(state.gpus), {}});
    attempt.report.gpus = kept.held, attempt.asked = kept.asked;
  }
  const bool stopping = attempt.report.state == "stopping" && state.state != "exited";
  wire::AttemptReport& told = attempt.report;
  told.incarnation = *incarnation;
  told.state = stopping ? "stopping" : state.frozen ? "frozen" : state.state;
  told.pid = state.pid;
  if (state.started_us != 0) told.started_us = state.started_us;
  if (state.ended_us != 0) told.ended_us = state.ended_us;
  told.exit_code = state.exit_code;
  told.signal = state.signal;
  if (!state.failure_kind.empty()) told.failure_kind = state.failure_kind;
  if (!state.failure_message.empty()) told.failure_message = state.failure_message;
  if (!state.stopped_by.empty()) told.stopped_by = state.stopped_by;
  if (launcher_ready_) report(told);
  if (state.frozen) launch_waiting();
  if (state.state != "exited") return;
  attempt.kill_at = Instant::never();
  attempt.resizing.reset();
  launch_waiting();
}

std::vector<int> AgentLogic::gpus_of(const LauncherState& state) const {
  const auto known = attempts_.find(state.key);
  if (known != attempts_.end()) return known->second.report.gpus;
  const auto kept = ports_.kept_gpus(state.key);
  return kept ? kept->held : split_gpus(state.gpus);
}

bool AgentLogic::holds(const wire::StoredJob& job) const {
  const std::string prefix = std::to_string(job.job) + ".";
  for (auto at = attempts_.lower_bound(prefix); at != attempts_.end() && at->first.starts_with(prefix); ++at) {
    const std::string& cluster = at->second.report.incarnation.cluster;
    if (job.cluster.empty() || cluster.empty() || cluster == job.cluster) return true;
  }
  return false;
}

bool AgentLogic::runs_another(std::int64_t job_id, const std::string& key) const {
  return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& item) {
    const wire::AttemptReport& other = item.second.report;
    return other.incarnation.job == job_id && item.first != key && other.state != "exited";
  });
}

void AgentLogic::on_checkpoint(const std::string& key, std::int64_t bytes, std::optional<double> seconds) {
  const auto at = attempts_.find(key);
  if (at == attempts_.end()) return;
  at->second.report.checkpoint_bytes = bytes;
  at->second.report.checkpoint_s = seconds;
}

void AgentLogic::report(const wire::AttemptReport& report) {
  if (in_session_) ports_.send(wire::AttemptChanged{++reports_sent_, report});
}

}  // namespace sl::agent
