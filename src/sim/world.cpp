#include "sim/world.h"

#include <algorithm>
#include <queue>

#include "engine/engine.h"

namespace sl::sim {
namespace {

// How a trace job stands in the world: what it still has to run, and since when it does.
struct Progress {
  Duration remaining;
  Instant running_since;  // never happened: it does not run
  Instant ends;           // by its last start; a completion of another time is out of date
};

std::size_t index_of(JobId id) { return static_cast<std::size_t>(id.value - 1); }

// What policies are told of lengths: the truth.
class KnownDurations : public Estimates {
 public:
  KnownDurations(const Trace& trace, const std::vector<Progress>& progress) : trace_(trace), progress_(progress) {}
  Figure run_time_s(const Job& job, int gpus) const override {
    if (gpus != job.request.gpus) return Figure::unknown();
    return {trace_.jobs[index_of(job.request.id)].duration.to_seconds(), Confidence::high};
  }
  Figure remaining_s(const Job& job, int gpus, Instant now) const override {
    if (gpus != job.request.gpus) return Figure::unknown();
    const Progress& progress = progress_[index_of(job.request.id)];
    const Duration done = progress.running_since.happened() ? now - progress.running_since : Duration{0};
    return {(progress.remaining - done).to_seconds(), Confidence::high};  // a restart under way is still to come
  }
  Figure speedup(const Job& job, int gpus) const override { return RequestEstimates().speedup(job, gpus); }
  bool steady() const override { return true; }

 private:
  const Trace& trace_;
  const std::vector<Progress>& progress_;
};

class World : private Journal, private Fleet {
 public:
  World(const Trace& trace, std::unique_ptr<Policy> policy, const SimulationSettings& settings)
      : trace_(trace),
        settings_(settings),
        progress_(trace.jobs.size()),
        known_(trace, progress_),
        core_(settings.knows_durations ? static_cast<const Estimates&>(known_) : estimates_, core_settings(settings)),
        engine_(core_, *this, *this) {
    result_.outcomes.resize(trace.jobs.size());
    for (const std::string& user : trace.users) users_.push_back(core_.users().intern(user));
    now_ = trace.jobs.front().submitted;
    for (int s = 0; s < settings.shape.servers; ++s) {
      ServerDescription server;
      server.name = std::to_string(s);
      server.gpus = settings.shape.gpus_per_server;
      engine_.feed(ServerJoined{server}, now_);
    }
    core_.set_policy(std::move(policy), now_, engine_.effects());
  }

  SimulationResult run() {
    while (next_arrival_ < trace_.jobs.size() || !completions_.empty() || core_.unfinished() > 0) {
      const Instant next = next_event();
      if (next.is_never()) break;
      now_ = next;
      finish_due();
      submit_due();
      turn();
    }
    result_.unfinished = static_cast<std::int64_t>(core_.unfinished()) - finished_in_last_step_;
    for (int why = 1; why <= static_cast<int>(Refusal::world_cannot); ++why)
      result_.decisions_refused += core_.refusals(static_cast<Refusal>(why));
    return std::move(result_);
  }

 private:
  struct Completion {
    Instant at;
    JobId job;
    int attempt;
    friend bool operator>(const Completion& a, const Completion& b) {
      return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
  };

  static CoreSettings core_settings(const SimulationSettings& settings) {
    CoreSettings core;
    core.seed = settings.seed;
    return core;
  }

  Instant next_event() const {
    Instant next = completions_.empty() ? Instant::never() : completions_.top().at;
    if (next_arrival_ < trace_.jobs.size()) next = std::min(next, trace_.jobs[next_arrival_].submitted);
    return std::min(next, std::max(core_.next_wake(), now_ + Duration{1}));
  }

  void finish_due() {
    finished_in_last_step_ = 0;
    while (!completions_.empty() && completions_.top().at <= now_) {
      const Completion done = completions_.top();
      completions_.pop();
      const JobIndex index = core_.find(done.job);
      // A completion of an attempt that was preempted meanwhile means nothing.
      if (!index.valid() || core_.job(index).attempt != done.attempt || core_.job(index).state != JobState::running ||
          progress_[index_of(done.job)].ends != done.at)
        continue;
      result_.gpu_us_allocated += (now_ - core_.job(index).last_start).us * core_.job(index).allocation.count();
      result_.outcomes[index_of(done.job)].finished = now_;
      engine_.feed(AttemptExited{done.job, done.attempt, {}}, now_);
      ++finished_in_last_step_;
    }
  }

  void submit_due() {
    for (; next_arrival_ < trace_.jobs.size() && trace_.jobs[next_arrival_].submitted <= now_; ++next_arrival_) {
      const TraceJob& job = trace_.jobs[next_arrival_];
      JobRequest request;
      request.id = JobId(static_cast<std::int64_t>(next_arrival_) + 1);
      request.submitted = job.submitted;
      request.gpus = request.gpus_min = request.gpus_max = job.gpus;
      request.single_server = job.gpus <= settings_.shape.gpus_per_server;
      request.capability = Capability::checkpoint;
      if (const TraceDetails* details = trace_.details_of(job)) request.estimate = details->estimate;
      request.user = users_[job.user];
      progress_[next_arrival_].remaining = job.duration;
      engine_.feed(JobSubmitted{std::move(request)}, now_);
    }
  }

  // Decides, and obeys until nothing more happens at this instant.
  void turn() {
    engine_.turn(now_);
    while (!orders_.empty()) {
      obeyed_.swap(orders_);
      for (const Command& order : obeyed_) obey(order);
      obeyed_.clear();
      engine_.turn(now_);
    }
  }

  void obey(const Command& order) {
    const std::size_t job = index_of(order.job);
    Progress& progress = progress_[job];
    Outcome& outcome = result_.outcomes[job];
    const bool runs = progress.running_since.happened();
    if (runs && order.kind != CommandKind::set_timer) {  // stopped, or moved and then started anew
      result_.gpu_us_allocated +=
          (now_ - core_.job(order.index).last_start).us * core_.job(order.index).allocation.count();
      if (progress.running_since < now_) progress.remaining -= now_ - progress.running_since;
      progress.running_since = progress.ends = {};
    }
    if (order.kind == CommandKind::stop || order.kind == CommandKind::suspend) {
      ++outcome.preemptions;
      if (order.kind == CommandKind::stop) return engine_.feed(AttemptReleased{order.job, order.attempt}, now_);
      return engine_.feed(AttemptSuspended{order.job, order.attempt}, now_);
    }
    if (order.kind == CommandKind::set_timer) return;
    const bool first = !outcome.started.happened();
    if (first) outcome.started = now_;
    progress.running_since = first ? now_ : now_ + settings_.restart_cost;
    progress.ends = progress.running_since + progress.remaining;
    completions_.push({progress.ends, order.job, order.attempt});
    engine_.feed(AttemptStarted{order.job, order.attempt}, now_);
  }

  // ---- Journal, Fleet ----
  bool append(const Core&, const std::vector<Record>&, BatchNumber) override { return true; }
  void carry_out(const Core&, std::vector<Command>& commands) override {
    orders_.insert(orders_.end(), commands.begin(), commands.end());
  }

  const Trace& trace_;
  SimulationSettings settings_;
  std::vector<Progress> progress_;
  KnownDurations known_;
  RequestEstimates estimates_;
  Core core_;
  Engine engine_;
  SimulationResult result_;
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> completions_;
  std::vector<Command> orders_, obeyed_;
  std::vector<UserIndex> users_;  // by the trace's
  std::size_t next_arrival_ = 0;
  std::int64_t finished_in_last_step_ = 0;
  Instant now_;
};

}  // namespace

SimulationResult simulate(const Trace& trace, std::unique_ptr<Policy> policy, const SimulationSettings& settings) {
  return World(trace, std::move(policy), settings).run();
}

}  // namespace sl::sim
