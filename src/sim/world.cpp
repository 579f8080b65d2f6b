#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "engine/engine.h"
#include "engine/progress.h"
#include "policy/placer.h"
#include "sim/event_queue.h"
#include "sim/fault_schedule.h"
#include "sim/free_time.h"
#include "sim/patience.h"
#include "sim/reports.h"
#include "sim/requests.h"
#include "sim/speeds.h"
#include "sim/trainings.h"
#include "sim/unfinished.h"

namespace sl::sim {
namespace {

class World : private Journal, private Fleet {
 public:
  World(const trace::Trace& trace, std::unique_ptr<Policy> policy, const SimulationSettings& settings,
        std::vector<PolicySwitch> switches)
      : trace_(trace),
        settings_(settings),
        cluster_(settings.cluster),
        switches_(std::move(switches)),
        trainings_(trace.jobs.size()),
        behaviours_(trace, cluster_),
        told_models_(settings.knows_durations),
        requests_(trace, cluster_),
        prerequisite_(trace),
        known_(trace, trainings_, cluster_.costs,
               !Speeds::depend_on_others(trace, cluster_) && cluster_.has_one_speed() && !behaviours_.any(),
               !settings.like_live),
        core_(settings.knows_durations ? static_cast<const Estimates&>(known_) : estimates_,
              CoreSettings{.seed = settings.seed, .jobs_expected = std::min<std::size_t>(trace.jobs.size(), 1 << 16)}),
        speeds_(trace, cluster_, behaviours_, core_),
        reports_(trace, behaviours_, cluster_, core_, settings.seed),
        engine_(core_, *this, *this),
        free_time_(wider_than(trace, cluster_.gpus_per_server_max()), cluster_.is_pool),
        gpus_per_server_(cluster_.gpus_per_server_max()),
        random_(settings.seed),
        faults_(cluster_, random_.fork(1), trace.jobs.front().submitted) {
    result_.outcomes.reserve(trace.jobs.size());
    result_.finished.reserve(trace.jobs.size());
    now_ = trace.jobs.front().submitted;
    for (const std::string& user : trace.users) users_.push_back(core_.users().intern(user));
    for (const trace::TraceDetails& details : trace.details) intern(details);
    join_servers();
    core_.set_policy(std::move(policy), now_, engine_.effects());
  }

  SimulationResult run() {
    while (ended_ < trace_.jobs.size() && result_.standstill.empty()) {
      const Instant next = next_event();
      if (next.is_never() || is_cancelled() || waits_in_vain()) break;
      pass_time(next);
      finish_due();
      report_due();
      tell_due();
      fault_due();
      submit_due();
      switch_due();
      turn();
      note_haste();
      if (settings_.advise) heed_advice();
      if (settings_.watch) settings_.watch(core_, now_);
    }
    return sum_up();
  }

 private:
  struct Completion {  // small, since there is one for every training
    Instant at;
    std::uint32_t training;  // index in the trace
    JobIndex job;            // another training's by now if this one has gone
    friend bool operator>(const Completion& a, const Completion& b) {
      return a.at != b.at ? a.at > b.at : a.training > b.training;
    }
  };
  struct Answer {  // what the core hears once a stop or suspension is over, or when a training breaks
    enum class Kind : std::uint8_t { released, suspended, broke } kind;
    Instant at;
    JobId job;
    int attempt;
    Instant ends;  // broke: when the training would have ended as of then; else unused
    friend bool operator>(const Answer& a, const Answer& b) { return a.at != b.at ? a.at > b.at : a.job > b.job; }
  };

  // ---- beginning and end ----
  void intern(const trace::TraceDetails& details) {
    auto& types = gpu_types_.emplace_back();
    for (const std::string& type : details.gpu_types) types.push_back(core_.gpu_types().intern(type));
    models_.push_back(told_models_.of(details, core_.gpu_types()));
    families_.push_back(details.family.empty() ? FamilyIndex() : core_.families().intern(details.family));
  }

  void join_servers() {
    descriptions_ = cluster_.descriptions();
    std::size_t server = 0;
    for (const ServerKind& kind : cluster_.kinds) {
      const GpuTypeIndex type = kind.gpu_type.empty() ? GpuTypeIndex() : core_.gpu_types().intern(kind.gpu_type);
      for (int i = 0; i < kind.count; ++i) {
        descriptions_[server].gpu_type = type;
        join(server++);
      }
    }
  }
  void join(std::size_t server) {
    tell({.kind = WorldEventKind::server,
          .at = now_,
          .count = descriptions_[server].gpus,
          .name = descriptions_[server].name});
    free_time_.set(server, descriptions_[server].gpus);
    progress_.restart();
    engine_.feed(ServerJoined{descriptions_[server]}, now_);
  }

  SimulationResult sum_up() {
    result_.unfinished = static_cast<std::int64_t>(trace_.jobs.size() - ended_);
    for (int why = 1; why <= static_cast<int>(Refusal::world_cannot); ++why)
      result_.decisions_refused += core_.refusals(static_cast<Refusal>(why));
    result_.free_gpu_s = free_time_.free_s();
    result_.fragmented_gpu_s = free_time_.fragmented_s();
    result_.fragmented_demand_gpu_s = free_time_.useless_s();
    result_.cancelled = is_cancelled();
    if (result_.unfinished > 0) result_.first_unfinished = first_unfinished(core_, trace_);
    result_.outcomes.resize(trace_.jobs.size());  // also for jobs that were not submitted any more
    return std::move(result_);
  }

  bool is_cancelled() const { return settings_.cancelled && settings_.cancelled->load(std::memory_order_relaxed); }
  void tell(const WorldEvent& event) {
    if (settings_.observer) settings_.observer->happened(event);
  }

  // ---- time ----
  Instant next_event() {
    Instant next = completions_.empty() ? Instant::never() : completions_.top().at;
    if (!answers_.empty()) next = std::min(next, answers_.top().at);
    next = std::min(next, reports_.next());
    if (next_arrival_ < trace_.jobs.size()) next = std::min(next, trace_.jobs[next_arrival_].submitted);
    const Instant wake = std::max(core_.next_wake(), now_ + Duration{1});
    is_hasty_ = wake < next && wake - now_ <= haste && faults_.next() > wake;
    next = std::min(next, wake);
    if (next_switch_ < switches_.size()) next = std::min(next, std::max(switches_[next_switch_].at, now_));
    // Servers that come and go help no job if all are up, nothing runs and no event is to come.
    const bool hopeless = next.is_never() && faults_.all_up() && !faults_.any_planned();
    return hopeless ? next : std::min(next, std::max(faults_.next(), now_));
  }

  // Nothing runs, no event is to come, and the policy only asks to be woken again.
  bool waits_in_vain() {
    if (core_.has_active() || next_arrival_ < trace_.jobs.size() || next_switch_ < switches_.size() ||
        (faults_.any_planned() && !faults_.all_up()))
      return patience_.restart(), false;
    if (!patience_.is_over(now_, faults_.all_up(), core_.waiting().empty())) return false;
    result_.idle_at_end = patience_.waited(now_);
    return true;
  }

  // A policy that asks to be woken at once again and again, and decides nothing, would never let its jobs end.
  void note_haste() {
    hasty_wakes_ = is_hasty_ ? hasty_wakes_ + 1 : 0;
    if (hasty_wakes_ == hasty_wakes_most)
      result_.standstill = fmt::format("{} times in a row it asked to be woken within {} ms, and decided nothing",
                                       hasty_wakes_most, haste.us / 1000);
  }

  void pass_time(Instant next) {
    const double seconds = (next - now_).to_seconds();
    const int held = core_.ledger().gpus_in_use() - core_.gpus_standing_by();
    result_.gpu_s_allocated += held * seconds;
    if (seconds > 0) result_.gpu_s_given += speeds_.gpus_given(held) * seconds;
    if (held > 0) result_.busy_until = next;
    free_time_.pass(seconds, core_.has_active());
    now_ = next;
  }

  // ---- events ----
  // With tens of thousands of trainings the next one to end is in no cache: it is prefetched while this one ends.
  void fetch(const Completion& next) const {
    core_.fetch(next.job);
    trainings_.fetch(next.training);
    __builtin_prefetch(&result_.outcomes[next.training]);
  }
  void finish_due() {
    while (!completions_.empty() && completions_.top().at <= now_) {
      const Completion done = completions_.top();
      completions_.pop();
      if (!completions_.empty()) fetch(completions_.top());
      Training* training = trainings_.find(done.training);
      if (!training || training->awaited != done.at) continue;
      training->awaited = {};
      if (training->ends != done.at) {  // it stood still or ran slower in between
        if (training->runs()) await_end(done.job, *training);
        continue;
      }
      training->stand_still();
      end(done.job, WorldEventKind::finish);
      result_.finish(done.training, now_);
      constexpr int told_at_once = 16;  // each addition waits for all that was written before it
      if (settings_.finished && result_.finished.size() % told_at_once == 0) *settings_.finished += told_at_once;
      const Job& job = core_.job(done.job);
      engine_.feed(AttemptExited{job.request.id, job.attempt, {}, false, done.job}, now_);
      leave(done.training);
      if (!completions_.empty()) core_.fetch_gpus(completions_.top().job);
    }
  }

  void report_due() {
    while (const auto report = reports_.take(trainings_, now_)) engine_.feed(*report, now_);
  }

  // The job leaves for good: finished, failed or rejected.
  void leave(std::size_t job) {
    progress_.restart();
    progress_.forget(id_of(job)), losses_.forget(id_of(job));
    trainings_.leave(job);
    reports_.forget(job);
    ++ended_;
  }

  // The attempt ends, for good or not: its servers' speeds are checked again, what it did is recorded.
  void end(JobIndex index, WorldEventKind how) {
    const Job& job = core_.job(index);
    const std::size_t at = index_of(job.request.id);
    touch(job.allocation);
    tell({.kind = how, .at = now_, .job = at, .gpus = &job.allocation});
    Outcome& outcome = result_.outcomes[at];
    outcome.run = job.run_at(now_);
    outcome.resizes = job.resizes;
    outcome.migrations = job.migrations;
  }

  void tell_due() {
    while (!answers_.empty() && answers_.top().at <= now_) {
      const Answer answer = answers_.top();
      answers_.pop();
      const JobIndex index = core_.find(answer.job);
      if (!index.valid() || core_.job(index).attempt != answer.attempt) continue;
      if (answer.kind == Answer::Kind::broke) {
        const Training* training = trainings_.find(index_of(answer.job));
        if (training && training->ends == answer.ends) break_down(index, answer);
      } else {
        let_go(index, answer.kind == Answer::Kind::suspended);
      }
    }
  }

  void let_go(JobIndex index, bool suspended) {
    const Job& job = core_.job(index);
    if (job.state != JobState::stopping) return;  // its server was lost in between
    charge_stop(job);
    if (suspended) trainings_.find(index_of(job.request.id))->stand_on(job.allocation);
    end(index, suspended ? WorldEventKind::suspend : WorldEventKind::stop);
    suspended ? engine_.feed(AttemptSuspended{job.request.id, job.attempt}, now_)
              : engine_.feed(AttemptReleased{job.request.id, job.attempt, index}, now_);
  }

  // The time that it has taken so far.
  void charge_stop(const Job& job) {
    const auto begun = stops_.extract(job.request.id);
    if (begun) result_.gpu_s_lost += (now_ - begun.mapped()).to_seconds() * job.allocation.count();
  }

  void break_down(JobIndex index, const Answer& answer) {
    const Job& job = core_.job(index);
    const bool again = job.failures < cluster_.faults.job_retries;
    fall_back(index);
    end(index, again ? WorldEventKind::stop : WorldEventKind::fail);
    Exit exit;
    exit.failure = FailureKind::exit;
    exit.exit_code = 1;
    engine_.feed(AttemptExited{answer.job, answer.attempt, exit, again}, now_);
    ++result_.outcomes[index_of(answer.job)].failures;
    if (again) return;
    prerequisite_.note_failure(answer.job);
    leave(index_of(answer.job));
  }

  // The work since its last checkpoint is lost.
  void fall_back(JobIndex index) {
    const Job& job = core_.job(index);
    Training* training = trainings_.find(index_of(job.request.id));
    if (!training || !training->runs()) return;
    settle(*training);
    forget_overhead(*training, job);
    if (cluster_.faults.checkpoint_every && now_ > training->checkpoint) {
      training->left = training->left_at_checkpoint;
      result_.gpu_s_lost += (now_ - training->checkpoint).to_seconds() * job.allocation.count();
    }
    training->stand_still();
    if (!losses_.interrupt(job.request.id, training->left))
      result_.standstill = fmt::format(
          "job {} broke down or lost its server {} times in a row before any of its work was kept in a checkpoint",
          name_of(job.request.id), losses_.fruitless_most());
  }

  void fault_due() {
    while (faults_.next() <= now_) {
      const FaultSchedule::Event event = faults_.take();
      event.lost ? lose(event.server) : join(event.server);
    }
  }
  // A job that was about to move there is stopped by the core.
  void lose(std::size_t server) {
    const auto at = ServerIndex(static_cast<std::uint32_t>(server));
    ++result_.server_losses;
    progress_.restart();
    for (const JobIndex index : core_.all_active()) {
      const Job& job = core_.job(index);
      if (!job.allocation.is_on(at) || stands_by(job)) continue;
      charge_stop(job);
      fall_back(index);
      end(index, WorldEventKind::stop);
      ++result_.outcomes[index_of(job.request.id)].failures;
    }
    tell({.kind = WorldEventKind::server_lost,
          .at = now_,
          .count = descriptions_[server].gpus,
          .name = descriptions_[server].name});
    trainings_.lose_those_on(at, [this](Training& training) {
      ++result_.outcomes[training.job].failures;
      if (!cluster_.faults.checkpoint_every) return;
      const Duration lost = training.left_at_checkpoint - training.left;
      result_.gpu_s_lost += lost.to_seconds() * trace_.jobs[training.job].gpus;
      training.left = training.left_at_checkpoint;
    });
    engine_.feed(ServerLost{descriptions_[server].name}, now_);
    free_time_.set(server, 0);
  }

  void submit_due() {
    while (next_arrival_ < trace_.jobs.size() && trace_.jobs[next_arrival_].submitted <= now_) {
      const std::size_t first = next_arrival_, members = trace::array_at(trace_, first);
      for (std::size_t i = 0; i < std::max<std::size_t>(1, members); ++i) note_arrival();
      if (prerequisite_.is_missed(trace_.jobs[first], core_))
        turn_away(first, std::max<std::size_t>(1, members));
      else
        members > 0 ? submit_array(first, members) : engine_.feed(JobSubmitted{request_of(first)}, now_);
    }
  }
  void turn_away(std::size_t first, std::size_t jobs) {
    prerequisite_.note_failure(group_of(trace_, first));  // if it is one
    for (std::size_t job = first; job < first + jobs; ++job) {
      prerequisite_.note_failure(id_of(job));
      tell({.kind = WorldEventKind::reject, .at = now_, .job = job});
    }
    result_.failed += static_cast<std::int64_t>(jobs), ended_ += jobs;
  }
  void note_arrival() {
    result_.outcomes.emplace_back();
    progress_.restart();
    tell({.kind = WorldEventKind::submit, .at = now_, .job = next_arrival_, .count = trace_.jobs[next_arrival_].gpus});
    ++next_arrival_;
  }
  void submit_array(std::size_t first, std::size_t members) {
    JobSubmitted group{.request = request_of(first),
                       .members = static_cast<std::int64_t>(members),
                       .max_running = trace_.details_of(trace_.jobs[first])->max_running,
                       .first_member = id_of(first)};
    group.request.id = group_of(trace_, first);
    engine_.feed(std::move(group), now_);
  }

  JobRequest request_of(std::size_t at) const {
    const trace::TraceJob& job = trace_.jobs[at];
    JobRequest request = requests_.of(job);
    request.id = id_of(at);
    request.user = users_[job.user];
    request.preemptible = !settings_.like_live;
    request.prerequisites = prerequisite_.of(job);
    if (job.details == trace::TraceJob::nothing_more) return request;
    request.gpu_types = gpu_types_[job.details];
    request.family = families_[job.details];
    request.model = models_[job.details];
    set_demand(request, cluster_);
    return request;
  }

  void switch_due() {
    for (; next_switch_ < switches_.size() && switches_[next_switch_].at <= now_; ++next_switch_)
      switch_to(switches_[next_switch_]);
  }
  void switch_to(PolicySwitch& next) {
    tell({.kind = WorldEventKind::policy, .at = now_, .name = next.name});
    core_.set_policy(std::move(next.policy), now_, engine_.effects());
  }
  void heed_advice() {
    auto advised = settings_.advise(core_, now_);
    if (!advised) return;
    switch_to(*advised);
    turn();
  }

  // ---- decisions ----
  // Decides, and carries out commands until nothing more happens at this instant.
  void turn() {
    decide();
    while (!orders_.empty() && result_.standstill.empty()) {
      obeyed_.swap(orders_);
      for (const Command& order : obeyed_) obey(order);
      obeyed_.clear();
      decide();
    }
    for (const ServerIndex server : touched_) {
      free_time_.set(server.value, core_.ledger().free().is_open(server) ? core_.ledger().free().count(server) : 0);
      if (speeds_.depend_on_others()) change_speeds(server);
    }
    touched_.clear();
  }
  void decide() {
    ++result_.decisions;
    engine_.turn(now_);
  }

  void obey(const Command& order) {
    is_hasty_ = false;
    Training* training = trainings_.find(index_of(order.job));
    if (training && training->runs()) {  // stopped, or moved and then started again
      settle(*training);
      forget_overhead(*training, core_.job(order.index));
      touch(core_.job(order.index).allocation);
      training->stand_still();
      if (!progress_.interrupt(order.job, training->left))
        result_.standstill = interrupted_in_vain(order, progress_, core_, trace_, now_);
    }
    switch (order.kind) {
      case CommandKind::stop:
        return stop(order, cluster_.costs.stop, Answer::Kind::released);
      case CommandKind::suspend:
        return stop(order, suspend_cost(core_.job(order.index), cluster_.costs), Answer::Kind::suspended);
      case CommandKind::start:
        return start(order, order.resume ? restart_cost(trace_, index_of(order.job), cluster_.costs) : Duration{0});
      case CommandKind::resume:
        return start(order, resume_cost(trace_, *training, order.gpus, cluster_.costs));
      case CommandKind::migrate:
        return start(order, cluster_.costs.migrate);
      case CommandKind::resize:
        return start(order, cluster_.costs.resize);
    }
  }

  std::string name_of(JobId job) const { return std::string(trace_.jobs[index_of(job)].id()); }
  static JobId id_of(std::size_t job) { return JobId(static_cast<std::int64_t>(job) + 1); }

  void stop(const Command& order, Duration takes, Answer::Kind kind) {
    ++result_.outcomes[index_of(order.job)].preemptions;
    if (takes.us == 0) return let_go(order.index, kind == Answer::Kind::suspended);
    stops_.insert_or_assign(order.job, now_);
    answers_.push({kind, now_ + takes, order.job, order.attempt, {}});
  }

  void start(const Command& order, Duration takes) {
    const std::size_t job = index_of(order.job);
    Training* known = trainings_.find(job);
    Training& training = known ? *known : trainings_.enter(job, trace_.jobs[job].duration);
    Outcome& outcome = result_.outcomes[job];
    const bool first = !outcome.started.happened();
    if (first) outcome.started = now_;
    tell({.kind = kind_of(order.kind, first), .at = now_, .job = job, .gpus = &order.gpus});
    touch(order.gpus);
    training.go_on(now_ + takes, speeds_.of(core_.job(order.index), order.gpus));
    result_.gpu_s_lost += takes.to_seconds() * order.gpus.count();
    await_end(order.index, training);
    if (cluster_.faults.job_mtbf.us > 0) await_fault(order, training);
    engine_.feed(AttemptStarted{order.job, order.attempt, order.index}, now_);
    reports_.start(order.index, training);
  }
  static WorldEventKind kind_of(CommandKind kind, bool first) {
    return kind == CommandKind::migrate  ? WorldEventKind::migrate
           : kind == CommandKind::resize ? WorldEventKind::resize
           : first                       ? WorldEventKind::start
                                         : WorldEventKind::resume;
  }

  // A training has one completion that counts. It may come too early; then another is scheduled. So a training that is
  // stopped and started a hundred times leaves nothing behind in the queue.
  void await_end(JobIndex job, Training& training) {
    if (training.awaited.happened() && training.awaited <= training.ends) return;
    training.awaited = training.ends;
    completions_.push({training.ends, training.job, job});
  }
  void await_fault(const Command& order, const Training& training) {
    const double mean = cluster_.faults.job_mtbf.to_seconds() / std::max(1, order.gpus.count());
    const Instant at = now_ + Duration::seconds(std::min(random_.exponential(mean), 1e11));
    if (at < training.ends) answers_.push({Answer::Kind::broke, at, order.job, order.attempt, training.ends});
  }

  void settle(Training& training) const {
    training.settle(now_, cluster_.faults.checkpoint_every.value_or(Duration{}));
  }

  // It was interrupted while it still came back: that part of the cost was not paid.
  void forget_overhead(const Training& training, const Job& job) {
    if (training.since > now_) result_.gpu_s_lost -= (training.since - now_).to_seconds() * job.allocation.count();
  }

  // ---- speed ----
  void touch(const Allocation& gpus) {
    for (const ServerGpus& part : gpus.parts()) touched_.push_back(part.server);
  }

  void change_speeds(ServerIndex server) {
    core_.servers()[server].all().for_each([&](int gpu) {
      for (const JobIndex index : core_.ledger().tenants()[server][static_cast<std::size_t>(gpu)].jobs.items()) {
        const Job& job = core_.job(index);
        Training* training = trainings_.find(index_of(job.request.id));
        if (job.state != JobState::running || !training || !training->runs()) continue;
        const float speed = speeds_.of(job, job.allocation);
        if (speed != training->speed) {
          settle(*training);
          training->set_speed(speed);
          await_end(index, *training);
        }
        reports_.change(index, *training, now_);
      }
    });
  }

  // ---- Journal, Fleet ----
  bool append(const Core&, const std::vector<Record>& records, BatchNumber) override {
    for (const Record& record : records) {
      if (record.kind != RecordKind::job_state || record.to != JobState::failed) continue;
      prerequisite_.note_failure(record.job);
      if (index_of(record.job) >= trace_.jobs.size()) continue;  // a group, whose members are counted
      ++result_.failed;
      const bool turned_away = record.from == JobState::pending || record.from == JobState::suspended;
      if (turned_away) {
        leave(index_of(record.job));
        tell({.kind = WorldEventKind::reject, .at = now_, .job = index_of(record.job)});
      }
    }
    return true;
  }
  void carry_out(const Core&, std::vector<Command>& commands) override {
    for (const Command& order : commands) __builtin_prefetch(&result_.outcomes[index_of(order.job)]);
    if (orders_.empty()) return orders_.swap(commands);
    orders_.insert(orders_.end(), commands.begin(), commands.end());
  }

  const trace::Trace& trace_;
  const SimulationSettings& settings_;
  const Cluster& cluster_;
  std::vector<PolicySwitch> switches_;
  Trainings trainings_;
  Behaviours behaviours_;
  ToldModels told_models_;
  Requests requests_;
  Prerequisite prerequisite_;
  KnownDurations known_;
  RequestEstimates estimates_;
  Core core_;
  Speeds speeds_;
  Reports reports_;
  Engine engine_;
  FreeTime free_time_;
  int gpus_per_server_;
  Random random_;
  FaultSchedule faults_;
  Patience patience_{settings_.idle_wakes_most};
  Progress progress_;
  Progress losses_{10'000};  // by servers and jobs that break down
  SimulationResult result_;
  EventQueue<Completion> completions_;
  EventQueue<Answer> answers_;
  std::unordered_map<JobId, Instant> stops_;  // that take time: when they began
  std::vector<Command> orders_, obeyed_;
  std::vector<ServerIndex> touched_;
  std::vector<UserIndex> users_;  // by the trace's index
  std::vector<std::vector<GpuTypeIndex>> gpu_types_;
  std::vector<FamilyIndex> families_;
  std::vector<std::shared_ptr<const JobModel>> models_;
  std::vector<ServerDescription> descriptions_;
  static constexpr Duration haste = Duration::milliseconds(10);
  static constexpr int hasty_wakes_most = 100'000;
  bool is_hasty_ = false;  // the policy asked for the next decision, and soon
  int hasty_wakes_ = 0;    // in a row, without a decision
  std::size_t next_arrival_ = 0, next_switch_ = 0;
  std::size_t ended_ = 0;  // jobs that finished, failed for good or were rejected
  Instant now_;
};

}  // namespace

SimulationResult simulate(const trace::Trace& trace, std::unique_ptr<Policy> policy, const SimulationSettings& settings,
                          std::vector<PolicySwitch> switches) {
  return World(trace, std::move(policy), settings, std::move(switches)).run();
}

}  // namespace sl::sim
