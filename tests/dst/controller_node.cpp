#include "dst/controller_node.h"

namespace sl::dst {
namespace {

// Stands for a policy that a user wrote: a built-in one whose process dies now and then.
class MortalPolicy : public Policy {
 public:
  MortalPolicy(Context& context, std::unique_ptr<Policy> policy) : context_(context), policy_(std::move(policy)) {}
  void attach(const Snapshot& snapshot) override { policy_->attach(snapshot); }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    policy_->notice(snapshot, kind, job);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (!failure_ && context_.chance(0.1)) failure_ = unavailable("policy-crashed", "its process died");
    if (!failure_) policy_->decide(snapshot, plan);
  }
  std::optional<Error> failure() const override { return failure_; }

 private:
  Context& context_;
  std::unique_ptr<Policy> policy_;
  std::optional<Error> failure_;
};

}  // namespace

void ControllerNode::boot() {
  node_.come_alive();
  armed_ = Instant::never();
  policies_made_at_ = context_.heap.now();
  context_.note("controller", "starts, {} jobs in the database", disk_.jobs.size());
  logic_ = std::make_unique<controller::Logic>(controller::LogicSettings{}, static_cast<Outside&>(*this), load(),
                                               context_.heap.now());
  node_.run([this] { turn(); });
}

store::Loaded ControllerNode::load() const {
  store::Loaded loaded;
  for (const auto& [id, row] : disk_.jobs) {
    (row.finished_us ? loaded.finished_jobs : loaded.unfinished_jobs).push_back(row);
    loaded.next_job_id = id + 1;
  }
  loaded.servers = disk_.servers;
  loaded.policies = disk_.policies;
  for (const auto& [key, value] : disk_.settings) loaded.settings.push_back({key, value});
  for (const auto& [key, row] : disk_.keys) loaded.keys.push_back(row);
  loaded.next_event_seq = disk_.next_event;
  loaded.last_event_us = disk_.last_event_us;
  return loaded;
}

void ControllerNode::died() {
  context_.note("controller", "dies");
  // A transaction under way is whole or not there.
  if (in_flight_ && context_.random.chance(0.5)) write(*in_flight_);
  in_flight_.reset();
  unsynced_.clear();
  sessions_.clear();
  network_.node_died(node_);
  logic_.reset();
  context_.heap.after(context_.between(0.1, 20), [this] { boot(); });
}

void ControllerNode::turn() {
  logic_->turn(context_.heap.now());
  logic_->core().check_invariants();
  arm();
}

// One alarm at a time, at the earliest moment asked for; half a second at most, as the live one does.
void ControllerNode::arm() {
  const Instant now = context_.heap.now();
  const Instant when = std::clamp(logic_->next_wake(), now + Duration{1}, now + Duration::milliseconds(500));
  if (!armed_.is_never() && armed_ <= when && armed_ > now) return;
  armed_ = when;
  node_.post(when - now, [this, when] {
    if (armed_ != when) return;  // an earlier one came after it
    armed_ = Instant::never();
    turn();
  });
}

bool ControllerNode::is_quiet() const {
  return logic_ && logic_->core().unfinished() == 0 && logic_->core().ledger().gpus_in_use() == 0 && !in_flight_;
}

// ---- Outside ----

void ControllerNode::commit(store::Batch batch) {
  context_.crash_point();
  in_flight_ = std::move(batch);
  const bool full = !context_.calm && context_.heap.now() < full_until_;
  node_.post(context_.between(0.0002, 0.01), [this, full] {
    context_.crash_point();
    Status status;
    if (full) {
      status = unavailable("disk-full", "no space left");
    } else if (context_.plant == Plant::skip_fsync && context_.chance(0.5)) {
      unsynced_.push_back(*in_flight_);
    } else {
      for (const store::Batch& earlier : unsynced_) write(earlier);
      unsynced_.clear();
      write(*in_flight_);
    }
    in_flight_.reset();
    context_.crash_point();
    logic_->on_committed(status, context_.heap.now());
    turn();
  });
}

void ControllerNode::write(const store::Batch& batch) {
  for (const store::JobRow& row : batch.jobs) {
    context_.judge.durable(row);
    context_.note("database", "job {} {} attempt {} {}", row.id, row.state, row.attempt, row.server);
    disk_.jobs[row.id] = row;
  }
  for (const store::IdempotencyRow& row : batch.keys) disk_.keys[row.key] = row;
  for (const store::ServerRow& row : batch.servers) {
    const auto known = std::find_if(disk_.servers.begin(), disk_.servers.end(),
                                    [&](const store::ServerRow& other) { return other.name == row.name; });
    known == disk_.servers.end() ? disk_.servers.push_back(row) : void(*known = row);
  }
  for (const store::SettingRow& row : batch.settings) disk_.settings[row.key] = row.value;
  disk_.policies.insert(disk_.policies.end(), batch.policies.begin(), batch.policies.end());
  if (batch.events.empty()) return;
  if (batch.events.front().seq < disk_.next_event)
    throw Violation(fmt::format("event {} follows {}", batch.events.front().seq, disk_.next_event - 1));
  disk_.next_event = batch.events.back().seq + 1;
  disk_.last_event_us = batch.events.back().at_us;
}

void ControllerNode::send(controller::SessionId session, const wire::ControllerMessage& message) {
  context_.crash_point();
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) return;
  if (const auto* start = std::get_if<wire::StartAttempt>(&message))
    context_.note("controller", "orders {}.{} to start on server {}", start->job_id, start->attempt,
                  at->second->server);
  if (const auto* stop = std::get_if<wire::StopAttempt>(&message))
    context_.note("controller", "orders {}.{} to stop ({}) on server {}", stop->job_id, stop->attempt, stop->reason,
                  at->second->server);
  network_.send(at->second, message);
  context_.crash_point();
}

void ControllerNode::close(controller::SessionId session, const std::string& why) {
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) return;
  context_.note("controller", "gives up session {} of server {}: {}", session, at->second->server, why);
  network_.close(at->second, true);
  sessions_.erase(at);
}

// One after the other, seconds each.
void ControllerNode::make_policy(const controller::PolicyChange& change) {
  policies_made_at_ = std::max(policies_made_at_, context_.heap.now()) + context_.between(0.03, 2);
  node_.post(policies_made_at_ - context_.heap.now(), [this, change] {
    const PolicyEntry& entry = *find_policy(change.source);
    Result<MadePolicy> made = unavailable("policy-too-slow", "it is not read to its end");
    if (!context_.chance(0.2)) {
      auto policy = std::make_unique<MortalPolicy>(context_, entry.make(*Parameters::parse(entry.info, {})));
      made = MadePolicy{{.name = change.name}, std::move(policy)};
    }
    context_.note("controller", "{} is {}", change.name, made.ok() ? "made" : "not made");
    logic_->on_policy_made(std::move(made), context_.heap.now());
    turn();
  });
}

// ---- agents ----

void ControllerNode::accept(const Network::SessionPtr& session) {
  sessions_[session->id] = session;
  session->to_controller = [this, id = session->id](const wire::AgentMessage& message) {
    logic_->on_agent_message(id, message, context_.heap.now());
    turn();
  };
  session->controller.on_close = [this, id = session->id] {
    sessions_.erase(id);
    logic_->on_agent_closed(id, context_.heap.now());
    turn();
  };
}

// ---- clients ----

// A client knows only what it was answered: without an answer it tries again, with the same key.
void ControllerNode::submit(const std::string& key, wire::JobSpec spec) {
  auto answered = std::make_shared<bool>(false);
  auto attempt = std::make_shared<std::function<void()>>();
  *attempt = [this, key, spec = std::move(spec), answered, weak = std::weak_ptr(attempt)] {
    if (*answered) return;
    if (alive()) {
      node_.post(context_.between(0.001, 0.02), [this, key, spec, answered] {
        logic_->submit({spec, key, key}, context_.heap.now(), [this, key, answered](const Result<JobId>& job) {
          if (!job.ok()) return;
          context_.crash_point();
          *answered = true;
          context_.note("client", "{} is accepted as job {}", key, job->value);
          context_.judge.accepted(key, job->value);
        });
        turn();
      });
    }
    if (const auto again = weak.lock()) context_.heap.after(context_.between(1, 5), [again] { (*again)(); });
  };
  (*attempt)();
}

void ControllerNode::cancel_some() {
  if (!alive() || disk_.jobs.empty()) return;
  const auto pick =
      std::next(disk_.jobs.begin(), context_.random.integer(0, static_cast<std::int64_t>(disk_.jobs.size()) - 1));
  node_.post(context_.between(0.001, 0.02), [this, id = pick->first] {
    context_.note("client", "cancels job {}", id);
    logic_->cancel(JobId(id), "client", context_.heap.now(), [](const Result<JobId>&) {});
    turn();
  });
}

void ControllerNode::switch_policy(const std::string& name) {
  node_.post(context_.between(0.001, 0.02), [this, name] {
    context_.note("client", "switches to {}", name);
    controller::PolicyChange change{name};
    if (name.ends_with(".py")) change.source = name.substr(0, name.size() - 3);
    logic_->set_policy(std::move(change), "client", context_.heap.now(), [](const Status&) {});
    turn();
  });
}

}  // namespace sl::dst
