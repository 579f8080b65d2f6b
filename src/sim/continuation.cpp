#include "sim/continuation.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "estimate/estimates.h"
#include "sim/trainings.h"

namespace sl::sim {
namespace {

using forecast::Future;
using forecast::FutureSettings;
using forecast::Present;

constexpr Duration stop_takes = Duration::whole_seconds(2);  // a job of which nothing is known
constexpr double longest_s = 3.2e9;                          // a century
constexpr std::int64_t steps_between_ends_most = 2'000'000;  // a policy that only interrupts gets no further
constexpr std::int64_t stop_asked_every = 256;

class Continuation {
 public:
  Continuation(const Present& present, std::unique_ptr<Policy> policy, const FutureSettings& settings)
      : present_(present), settings_(settings), core_(estimates_, core_settings(present, settings)), now_(present.now) {
    future_.jobs.resize(present.jobs.size());
    trainings_.resize(present.jobs.size());
    forecast::restore(present, core_, effects_);
    for (std::size_t at = 0; at < present.jobs.size(); ++at) begin(at);
    core_.set_policy(std::move(policy), now_, effects_);
    for (const forecast::ServerReturn& back : present.returns)
      push({std::max(back.at, now_), Happening::returned, back.server.value, 0});
  }

  Future run() {
    if (!wait_for_the_first()) turn();
    while (open_ > 0 && !is_known() && !is_over()) {
      const Instant next = next_event();
      if (next > settings_.until) future_.gpu_s += core_.ledger().gpus_in_use() * (settings_.until - now_).to_seconds();
      if (next.is_never() || next > settings_.until || next > present_.now + Duration::seconds(longest_s)) break;
      pass_to(next);
    }
    note_held(Instant::never());
    if (settings_.notes_holds) end_holds();
    future_.failure = core_.policy_failure();
    return std::move(future_);
  }

 private:
  struct Happening {
    enum Kind : std::uint8_t { ended, gone, returned };
    Instant at;
    Kind kind;
    std::uint32_t which;  // position in trainings_; returned: the server
    int attempt;
    friend bool operator>(const Happening& a, const Happening& b) {
      return std::tie(a.at, a.which) > std::tie(b.at, b.which);
    }
  };
  struct Holder {
    JobId job;  // none: the GPU is free
    Instant from;
  };
  struct Running {
    JobId id;
    std::size_t of = 0;  // position in Present::jobs: its own, or its group's if it comes up in this future
    std::optional<std::size_t> group = {};  // likewise, of the group whose member it is
    Training training;
    bool is_endless = false;
    bool is_stopped_for_good = false;  // its time limit, or a cancellation
    bool is_suspended = false;         // what stops is frozen
  };

  static CoreSettings core_settings(const Present& present, const FutureSettings& settings) {
    CoreSettings core = present.settings;
    core.seed = settings.seed;
    return core;
  }

  // ---- the beginning ----
  void begin(std::size_t at) {
    const Job& job = present_.jobs[at];
    const JobIndex index = core_.find(job.request.id);
    const double left_s = settings_.left_s[at];
    set_up(trainings_[at], job.request.id, at, left_s);
    const std::size_t group = present_.find(job.request.member_of);
    if (group < present_.jobs.size()) trainings_[at].group = group;
    if (!index.valid()) return begin_unseen(at);
    note_position(index, at);
    const Running& running = trainings_[at];
    if (!running.is_endless && !job.on_hold && job.state != JobState::held) ++open_;
    if (job.state == JobState::starting)
      core_.apply(AttemptStarted{job.request.id, job.attempt, index}, now_, effects_);
    if (job.state == JobState::starting || job.state == JobState::running) go_on(at, job.allocation, now_);
    if (job.state == JobState::stopping) {
      const auto& limit = job.request.time_limit;
      trainings_[at].is_stopped_for_good = job.cancel_requested || (limit && *limit <= job.run_at(now_));
      push({now_ + stop_takes, Happening::gone, position(at), job.attempt});
    }
  }
  static void set_up(Running& running, JobId id, std::size_t of, double left_s) {
    running.id = id;
    running.of = of;
    running.is_endless = !(left_s < longest_s);
    running.training.left = Duration::seconds(std::min(std::max(left_s, 0.0), longest_s));
  }
  void note_position(JobIndex index, std::size_t at) {
    if (index.value >= positions_.size()) positions_.resize(index.value + 1);
    positions_[index.value] = at;
  }
  // A member of a group has come up.
  void begin_member(JobIndex index) {
    const JobRequest& request = core_.job(index).request;
    const std::size_t group = positions_[core_.find(request.member_of).value], at = trainings_.size();
    const auto& draw = settings_.left_s_of_member;
    set_up(trainings_.emplace_back(), request.id, group, draw ? draw(group, at) : settings_.left_s[group]);
    trainings_[at].group = group;
    note_position(index, at);
  }
  // It runs beside others on their GPUs, which a core that is being restored cannot know.
  void begin_unseen(std::size_t at) {
    const Job& job = present_.jobs[at];
    if (!job.allocation.empty() && !trainings_[at].is_endless)
      future_.jobs[at].finish = now_ + trainings_[at].training.left;
  }

  // ---- time ----
  // The policy is new to this core, which would ask it at once; the original is asked when something happens. Whether
  // there is anything to wait for: then it has happened.
  bool wait_for_the_first() {
    Instant first = present_.next_wake;
    if (!happenings_.empty()) first = std::min(first, happenings_.top().at);
    if (first <= now_ || first.is_never()) return false;
    pass_to(first);
    return true;
  }
  void pass_to(Instant next) {
    note_held(next);
    if (settings_.notes_holds) note_holds();
    future_.gpu_s += core_.ledger().gpus_in_use() * (next - now_).to_seconds();
    now_ = next;
    while (!happenings_.empty() && happenings_.top().at <= now_) take();
    turn();
  }
  // What is held now is held until `next`.
  void note_held(Instant next) {
    while (future_.held.size() < settings_.moments.size() && settings_.moments[future_.held.size()] < next) {
      std::vector<int>& held = future_.held.emplace_back();
      for (std::uint32_t server = 0; server < present_.servers.size(); ++server) {
        const auto& gpus = core_.ledger().tenants()[ServerIndex(server)];
        held.push_back(
            static_cast<int>(std::ranges::count_if(gpus, [](const auto& gpu) { return gpu.jobs.items().size() > 0; })));
      }
    }
  }
  // Compares who has each GPU now with who had it before.
  void note_holds() {
    holders_.resize(present_.servers.size());
    for (std::uint32_t server = 0; server < present_.servers.size(); ++server) {
      const auto& gpus = core_.ledger().tenants()[ServerIndex(server)];
      holders_[server].resize(gpus.size());
      for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        const auto tenants = gpus[gpu].jobs.items();
        const JobId job = tenants.empty() ? JobId() : core_.job(tenants.front()).request.id;
        Holder& holder = holders_[server][gpu];
        if (holder.job == job) continue;
        end_hold(holder, ServerIndex(server), static_cast<int>(gpu), now_);
        holder = {job, now_};
      }
    }
  }
  void end_holds() {
    note_holds();
    for (std::uint32_t server = 0; server < holders_.size(); ++server) {
      for (std::size_t gpu = 0; gpu < holders_[server].size(); ++gpu)
        end_hold(holders_[server][gpu], ServerIndex(server), static_cast<int>(gpu), Instant::never());
    }
    for (const auto& [key, gpus] : holds_) {
      const auto& [from, job, to, server] = key;
      future_.holds.push_back({JobId(job), ServerIndex(server), gpus, from, to});
    }
  }
  void end_hold(const Holder& holder, ServerIndex server, int gpu, Instant to) {
    if (holder.job == JobId() || holder.from == to) return;
    holds_[{holder.from, holder.job.value, to, server.value}] |= GpuSet::only(gpu);
  }
  Instant next_event() const {
    const Instant next = happenings_.empty() ? Instant::never() : happenings_.top().at;
    return std::min(next, std::max(core_.next_wake(), now_ + Duration{1}));
  }
  // All that is asked for.
  bool is_known() const { return settings_.until_end_of && !future_.jobs[*settings_.until_end_of].finish.is_never(); }
  bool is_over() {
    if (++steps_ % stop_asked_every == 0 && settings_.stop && settings_.stop()) future_.is_cut = true;
    const bool in_vain = core_.ledger().gpus_in_use() == 0 && happenings_.empty() && ++idle_steps_ > stop_asked_every;
    return future_.is_cut || in_vain || steps_ - last_end_ > steps_between_ends_most || core_.policy_failure();
  }

  // ---- events ----
  void push(const Happening& happening) { happenings_.push(happening); }
  void take() {
    const Happening happening = happenings_.top();
    happenings_.pop();
    if (happening.kind == Happening::returned) {
      const Server& server = present_.servers[happening.which];
      return core_.apply(ServerQuarantined{server.description.name, false}, now_, effects_);
    }
    const JobId id = trainings_[happening.which].id;
    const JobIndex index = core_.find(id);
    if (!index.valid() || core_.job(index).attempt != happening.attempt) return;
    if (happening.kind == Happening::ended) return end(happening, index);
    Running& running = trainings_[happening.which];
    if (core_.job(index).state != JobState::stopping) return;
    if (running.is_stopped_for_good) return finish(happening.which, index, FailureKind::time_limit);
    if (std::exchange(running.is_suspended, false))
      return core_.apply(AttemptSuspended{id, happening.attempt}, now_, effects_);
    core_.apply(AttemptReleased{id, happening.attempt, index}, now_, effects_);
  }
  void end(const Happening& happening, JobIndex index) {
    const Training& training = trainings_[happening.which].training;
    if (training.runs() && training.ends == happening.at) finish(happening.which, index, FailureKind::none);
  }
  void finish(std::size_t at, JobIndex index, FailureKind how) {
    const Job& job = core_.job(index);
    if (at < future_.jobs.size()) note_end(at);  // else its group ends later
    trainings_[at].training.stand_still();
    last_end_ = steps_;
    idle_steps_ = 0;
    core_.apply(AttemptExited{job.request.id, job.attempt, {.failure = how}, false, index}, now_, effects_);
  }

  void note_end(std::size_t at) {
    future_.jobs[at].finish = now_;
    if (!trainings_[at].is_endless && open_ > 0) --open_;
  }

  // ---- decisions ----
  void turn() {
    core_.schedule(now_, effects_);
    take_note();
    while (!effects_.commands.empty()) {
      commands_.clear();
      commands_.swap(effects_.commands);
      for (const Command& command : commands_) obey(command);
      effects_.records.clear();
      core_.schedule(now_, effects_);
      take_note();
    }
    effects_.records.clear();
  }
  // Of what the core decided besides commands: members that have come up, and jobs that ended without having run.
  void take_note() {
    for (const Record& record : effects_.records) {
      if (record.kind == RecordKind::job_submitted) begin_member(record.index);
      if (record.kind != RecordKind::job_state || !is_finished(record.to)) continue;
      const std::size_t at = positions_[record.index.value];
      const bool has_run = record.from != JobState::pending && record.from != JobState::suspended;
      if (at >= future_.jobs.size() || has_run) continue;
      if (present_.jobs[at].group && record.to != JobState::failed)
        note_end(at);
      else if (!trainings_[at].is_endless && open_ > 0)
        --open_;
    }
  }
  void obey(const Command& command) {
    const std::size_t at = positions_[command.index.value];
    Running& running = trainings_[at];
    if (running.training.runs()) {
      running.training.settle(now_, {});
      running.training.stand_still();
    }
    switch (command.kind) {
      case CommandKind::stop:
      case CommandKind::suspend:
        running.is_suspended = command.kind == CommandKind::suspend;
        running.is_stopped_for_good = command.why != StopReason::none && command.why != StopReason::preempted;
        if (!running.is_stopped_for_good) ++future_.preemptions;
        return push({now_ + stop_takes, Happening::gone, position(at), command.attempt});
      case CommandKind::start:
        return start(at, command, command.resume ? restart_takes(at) : Duration{});
      case CommandKind::resume:
        return start(at, command, {});
      case CommandKind::migrate:
        ++future_.migrations;
        [[fallthrough]];
      case CommandKind::resize:
        return start(at, command, restart_takes(at));
    }
  }
  Duration restart_takes(std::size_t at) const {
    const auto& model = present_.jobs[trainings_[at].of].request.model;
    return model && model->restart_cost ? *model->restart_cost : stop_takes;
  }
  void note_start(Future::Of& of, const Allocation& gpus) const {
    if (!of.start.is_never()) return;
    of.start = now_;
    of.server = gpus.empty() ? ServerIndex() : gpus.parts().front().server;
    of.gpus = gpus.count();
  }
  void start(std::size_t at, const Command& command, Duration takes) {
    if (at < future_.jobs.size() && present_.jobs[at].allocation.empty()) note_start(future_.jobs[at], command.gpus);
    if (const auto group = trainings_[at].group) note_start(future_.jobs[*group], command.gpus);
    core_.apply(AttemptStarted{command.job, command.attempt, command.index}, now_, effects_);
    go_on(at, command.gpus, now_ + takes);
  }
  void go_on(std::size_t at, const Allocation& gpus, Instant from) {
    const Job& job = present_.jobs[trainings_[at].of];
    Running& running = trainings_[at];
    const double speed = gpus.count() == job.request.gpus
                             ? 1
                             : job.request.speed_curve().speed_on(std::max(1, gpus.count()), job.request.gpus);
    running.training.go_on(from, static_cast<float>(std::max(speed, 1e-6)));
    if (running.is_endless || running.training.ends > present_.now + Duration::seconds(longest_s)) return;
    const JobIndex index = core_.find(running.id);
    push({running.training.ends, Happening::ended, position(at), core_.job(index).attempt});
  }
  static std::uint32_t position(std::size_t at) { return static_cast<std::uint32_t>(at); }

  const Present& present_;
  const FutureSettings& settings_;
  RequestEstimates estimates_;
  Core core_;
  Effects effects_;
  Future future_;
  std::vector<Running> trainings_;      // as Present::jobs, then members that have come up since
  std::vector<std::size_t> positions_;  // of jobs, by the core's index
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  std::vector<Command> commands_;
  std::vector<std::vector<Holder>> holders_;  // by server and GPU; while holds are noted
  std::map<std::tuple<Instant, std::int64_t, Instant, std::uint32_t>, GpuSet> holds_;
  std::size_t open_ = 0;  // jobs that have an end and have not come to it
  std::int64_t steps_ = 0, last_end_ = 0, idle_steps_ = 0;
  Instant now_;
};

}  // namespace

Future continue_present(const Present& present, std::unique_ptr<Policy> policy, const FutureSettings& settings) {
  return Continuation(present, std::move(policy), settings).run();
}

}  // namespace sl::sim
