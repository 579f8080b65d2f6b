#include "dst/controller_node.h"

#include "dst/restless.h"
#include "policy/policy_wrapper.h"
#include "wire/json.h"
#include "wire/members.h"

namespace sl::dst {
namespace {

// Stands for a policy that a user wrote: a built-in one whose process dies occasionally.
class MortalPolicy : public PolicyWrapper {
 public:
  MortalPolicy(Context& context, std::unique_ptr<Policy> policy)
      : PolicyWrapper(std::move(policy)), context_(context) {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (!failure_ && context_.chance(0.1)) failure_ = unavailable("policy-crashed", "its process died");
    if (!failure_) policy_->decide(snapshot, plan);
  }
  std::optional<Error> failure() const override { return failure_; }

 private:
  Context& context_;
  std::optional<Error> failure_;
};

}  // namespace

void ControllerNode::boot() {
  node_.come_alive();
  armed_ = Instant::never();
  policies_made_at_ = context_.heap.now();
  context_.judge.controller_starts();
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
  for (const auto& [key, row] : disk_.placements) loaded.placements.push_back(row);
  loaded.servers = disk_.servers;
  loaded.policies = disk_.policies;
  for (const auto& [key, value] : disk_.settings) loaded.settings.push_back({key, value});
  for (const auto& [job, row] : disk_.keys) loaded.keys.push_back(row);
  loaded.next_event_seq = disk_.next_event;
  loaded.last_event_us = disk_.last_event_us;
  return loaded;
}

void ControllerNode::died() {
  context_.note("controller", "dies");
  // A transaction in progress is either complete or absent.
  if (in_flight_ && context_.random.chance(0.5)) write(*in_flight_);
  in_flight_.reset();
  unsynced_.clear();
  unanswered_ = 0;
  sessions_.clear();
  network_.node_died(node_);
  logic_.reset();
  context_.heap.after(context_.between(0.1, 20), [this] { boot(); });
}

void ControllerNode::turn() {
  logic_->turn(context_.heap.now());
  logic_->core().check_invariants();
  context_.judge.controller_turns(context_.calm);
  arm();
}

// One alarm at a time, at the earliest requested moment; after half a second at most, as in the live controller.
void ControllerNode::arm() {
  const Instant now = context_.heap.now();
  const Instant when = std::clamp(logic_->next_wake(), now + Duration{1}, now + Duration::milliseconds(500));
  if (!armed_.is_never() && armed_ <= when && armed_ > now) return;
  armed_ = when;
  node_.post(when - now, [this, when] {
    if (armed_ != when) return;  // an earlier one was set after it
    armed_ = Instant::never();
    turn();
  });
}

std::string ControllerNode::why_not_quiet() const {
  if (!logic_) return "is dead";
  if (logic_->core().unfinished() != 0 || logic_->core().ledger().gpus_in_use() != 0) return "has unfinished jobs";
  if (in_flight_) return "writes";
  return unanswered_ == 0 ? "" : fmt::format("has {} unanswered requests", unanswered_);
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
    context_.note("database", "job {} {} attempt {} {}", row.id, row.state, row.attempt, row.server);
    disk_.jobs[row.id] = row;
  }
  for (const store::PlacementRow& row : batch.placements)
    disk_.placements[{row.job_id, row.incarnation, row.rank}] = row;
  context_.judge.durable(batch);
  for (const store::IdempotencyRow& row : batch.keys) disk_.keys[row.job_id] = row;
  disk_.keys.erase(disk_.keys.begin(), disk_.keys.upper_bound(batch.forget_keys_to));
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
    context_.note("controller", "orders {}.{} to start on server {}", start->incarnation.job,
                  start->incarnation.attempt, at->second->server);
  if (const auto* stop = std::get_if<wire::StopAttempt>(&message))
    context_.note("controller", "orders {}.{} to stop ({}) on server {}", stop->incarnation.job,
                  stop->incarnation.attempt, stop->reason, at->second->server);
  context_.judge.orders(server_name(at->second->server), message);
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

namespace {

std::unique_ptr<Policy> policy_called(const std::string& name, const bool& calm) {
  if (name == "restless") return std::make_unique<Restless>(calm);
  const PolicyEntry& entry = *find_policy(name);
  return entry.make(*parse_parameters(entry.info, {}));
}

}  // namespace

// One after the other; each takes seconds.
void ControllerNode::make_policy(const controller::PolicyChange& change) {
  policies_made_at_ = std::max(policies_made_at_, context_.heap.now()) + context_.between(0.03, 2);
  node_.post(policies_made_at_ - context_.heap.now(), [this, change] {
    Result<MadePolicy> made = unavailable("policy-too-slow", "reading it takes longer than allowed");
    if (!context_.chance(0.2)) {
      auto policy = std::make_unique<MortalPolicy>(context_, policy_called(change.source, context_.calm));
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
  // What comes before the hello, when that was lost, is not heard, and a hello that comes twice is heard once.
  session->to_controller = [this, id = session->id, server = session->server,
                            greeted = false](const wire::AgentMessage& message) mutable {
    const bool is_hello = std::holds_alternative<wire::Hello>(message);
    const bool is_heard = greeted != is_hello;
    greeted = greeted || is_hello;
    if (is_heard) context_.judge.controller_hears(server_name(server), message, gpus_per_server);
    logic_->on_agent_message(id, message, context_.heap.now());
    context_.chance(0.2) ? node_.post(context_.between(0, 0.01), [this] { turn(); }) : turn();  // with what else comes
  };
  session->controller.on_close = [this, id = session->id] {
    sessions_.erase(id);
    logic_->on_agent_closed(id, context_.heap.now());
    turn();
  };
}

// ---- clients ----

void ControllerNode::ask(std::function<void()> what) {
  node_.post(context_.between(0.001, 0.02), [this, what = std::move(what)] {
    what();
    turn();
  });
}

template <typename Answer>
std::function<void(Answer)> ControllerNode::answer_to(std::function<void(const Answer&)> client) {
  ++unanswered_;
  return [this, client = std::move(client)](const Answer& answer) {
    if (--unanswered_ < 0) throw Violation("a request is answered twice");
    context_.crash_point();
    client(answer);
  };
}

namespace {

wire::JobSpec without_prerequisites(wire::JobSpec spec) {
  spec.after.clear();
  return spec;
}

}  // namespace

// A client knows only the answers it got: without an answer it tries again with the same key.
void ControllerNode::submit(const std::string& key, wire::JobSpec spec) {
  context_.judge.submits(key, spec);
  auto answered = std::make_shared<bool>(false);
  auto attempt = std::make_shared<std::function<void()>>();
  *attempt = [this, key, spec = std::move(spec), answered, weak = std::weak_ptr(attempt)] {
    if (*answered) return;
    if (alive()) {
      ask([this, key, spec, answered] {
        logic_->submit({spec, key, key}, context_.heap.now(),
                       answer_to<Result<JobId>>([this, key, spec, answered](const Result<JobId>& job) {
                         if (*answered) return;
                         if (!job.ok() && job.error().code == "dependency-failed") {
                           *answered = true;
                           return submit(key, without_prerequisites(spec));
                         }
                         if (!job.ok()) return;
                         *answered = true;
                         context_.note("client", "{} is accepted as job {}", key, job->value);
                         context_.judge.accepted(key, job->value);
                       }));
      });
    }
    if (const auto again = weak.lock()) context_.heap.after(context_.between(1, 5), [again] { (*again)(); });
  };
  (*attempt)();
}

const store::JobRow* ControllerNode::any_job() {
  if (!alive() || disk_.jobs.empty()) return nullptr;
  return &std::next(disk_.jobs.begin(), context_.random.integer(0, static_cast<std::int64_t>(disk_.jobs.size()) - 1))
              ->second;
}

void ControllerNode::cancel_some() {
  const store::JobRow* job = any_job();
  if (!job) return;
  const auto spec = wire::read_json<wire::JobSpec>(job->spec_json, wire::Unknown::ignore);
  const std::int64_t members = wire::member_count(*spec);  // also those that have not come up
  cancel(job->id + (members > 0 && context_.random.chance(0.7) ? context_.random.integer(1, members) : 0));
}

void ControllerNode::cancel(std::int64_t job) {
  if (!alive()) return;
  ask([this, job] {
    context_.note("client", "cancels job {}", job);
    context_.judge.asks_to_cancel(job);
    wire::Cancellation wanted;
    wanted.now = context_.random.chance(0.3);
    const auto answered = [this, job](const auto& answer) { context_.judge.cancel_answered(job, answer); };
    logic_->cancel(JobId(job), "client", context_.heap.now(), answer_to<Result<JobId>>(answered), wanted);
  });
}

void ControllerNode::release_held(bool also_waiting) {
  if (!alive()) return;
  for (const auto& [id, row] : disk_.jobs) {
    if (row.finished_us || !(row.held || (row.state == "held" && also_waiting))) continue;
    ask([this, job = id] {
      context_.note("client", "releases job {}", job);
      context_.judge.asks_to_release(job);
      logic_->intervene(
          JobId(job), {"resume", {}, {}}, "client", context_.heap.now(),
          answer_to<Result<JobId>>([this, job](const auto& answer) { context_.judge.release_answered(job, answer); }));
    });
  }
}

void ControllerNode::intervene_in_some() {
  const store::JobRow* job = any_job();
  if (!alive() || !job) return;
  static const std::vector<std::string> verbs = {"suspend", "suspend", "resume", "migrate", "scale"};
  wire::Intervention wanted{verbs[static_cast<std::size_t>(context_.random.integer(0, 4))], {}, {}};
  const int least = static_cast<int>(context_.random.integer(1, 2));
  if (wanted.verb == "scale")
    wanted.gpus = wire::GpuRange{least, least + static_cast<int>(context_.random.integer(0, 1))};
  ask([this, id = job->id, wanted] {
    context_.note("client", "asks to {} job {}", wanted.verb, id);
    context_.judge.asks(wanted, id);
    logic_->intervene(JobId(id), wanted, "client", context_.heap.now(),
                      answer_to<Result<JobId>>([this, id, wanted](const Result<JobId>& answer) {
                        if (wanted.verb == "suspend") context_.judge.suspend_answered(id, answer);
                      }));
  });
}

void ControllerNode::reprioritise_some() {
  const store::JobRow* job = any_job();
  if (!alive() || !job) return;
  const int priority = static_cast<int>(context_.random.integer(1, 9));
  ask([this, id = job->id, priority] {
    context_.note("client", "gives job {} priority {}", id, priority);
    context_.judge.asks_for_priority(id, priority);
    logic_->edit(JobId(id), {.priority = priority}, "client", context_.heap.now(),
                 answer_to<Result<JobId>>([this, id, priority](const Result<JobId>& answer) {
                   if (answer.ok()) context_.judge.priority_answered(id, priority);
                 }));
  });
}

void ControllerNode::switch_policy(const std::string& name) {
  if (!alive()) return;
  ask([this, name] {
    context_.note("client", "switches to {}", name);
    controller::PolicyChange change{name};
    if (name.ends_with(".py")) change.source = name.substr(0, name.size() - 3);
    logic_->set_policy(std::move(change), "client", context_.heap.now(),
                       answer_to<Status>([this, name](const Status& status) {
                         if (status.ok()) context_.judge.policy_answered(name);
                       }));
  });
}

void ControllerNode::drain(int server) {
  if (!alive()) return;
  controller::DrainRequest wanted{context_.chance(0.5)};
  if (context_.chance(0.3)) wanted.deadline_us = (context_.heap.now() + Duration::whole_seconds(60)).us;
  if (wanted.deadline_us != 0) context_.judge.asks_to_empty(server_name(server));
  ask([this, name = server_name(server), wanted] {
    context_.note("admin", "drains {}{}", name, wanted.deadline_us != 0 ? " within a minute" : "");
    const auto told = [this, name, undrains = context_.judge.undrains(name)](const Status& status) {
      if (status.ok()) context_.judge.drain_answered(name, undrains);
    };
    logic_->drain_server(name, wanted, "admin", context_.heap.now(), answer_to<Status>(told));
  });
}

void ControllerNode::undrain(int server) {
  if (!alive()) return;
  ask([this, name = server_name(server)] {
    context_.note("admin", "undrains {}", name);
    context_.judge.asks_to_undrain(name);
    logic_->undrain_server(name, "admin", context_.heap.now(), answer_to<Status>([](const Status&) {}));
  });
}

void ControllerNode::declare_lost(int server) {
  if (!alive()) return;
  ask([this, server] {
    context_.note("admin", "says that server {} is lost", server);
    context_.judge.server_given_up(server_name(server));
    logic_->declare_lost(server_name(server), "admin", context_.heap.now(), answer_to<Status>([](const Status&) {}));
  });
}

void ControllerNode::read_some_output() {
  const store::JobRow* job = any_job();
  if (!job || job->attempt == 0) return;
  const AttemptKey key{job->id, static_cast<int>(context_.random.integer(1, job->attempt))};
  const std::int64_t offset = context_.random.integer(-100, 1000);
  const double wait_s = context_.random.chance(0.5) ? context_.random.uniform(0, 10) : 0;
  ask([this, key, offset, wait_s] {
    context_.note("client", "reads the output of {}", to_string(key));
    const controller::JobEntry* entry = logic_->book().find(JobId(key.job));
    if (!entry) throw Violation(fmt::format("job {} is in the database and the controller does not know it", key.job));
    logic_->logs().read(controller::output_of(*entry, key.attempt), offset, 100, wait_s,
                        answer_to<Result<controller::LogPiece>>([this, key](const auto& piece) {
                          if (piece.ok()) context_.judge.output_read(key, piece->offset, piece->bytes);
                        }));
  });
}

}  // namespace sl::dst
