#include "policy/preemptive_policy.h"

#include <algorithm>

#include "policy/placer.h"

namespace sl {
namespace {

bool has_timer(const Job& job) { return job.is_waiting() || job.state == JobState::running; }

}  // namespace

std::vector<ParameterInfo> PreemptivePolicy::parameters(bool with_margin) {
  std::vector<ParameterInfo> list = {{"min_quantum_s",
                                      ParameterType::number,
                                      "s",
                                      "60",
                                      0,
                                      86400,
                                      {},
                                      "a job runs at least this long before it may be preempted"}};
  if (with_margin) {
    list.push_back({"preempt_margin_s",
                    ParameterType::number,
                    "s",
                    "60",
                    0,
                    1e9,
                    {},
                    "a running job is preempted only for one that is ahead by more than this"});
  }
  return list;
}

PreemptionSettings PreemptivePolicy::settings(const Parameters& given, bool ages) {
  PreemptionSettings settings;
  settings.min_quantum = Duration::seconds(given.number("min_quantum_s"));
  settings.ages = ages;
  if (ages) settings.margin = Duration::seconds(given.number("preempt_margin_s"));
  return settings;
}

ParameterInfo PreemptivePolicy::head_parameter() {
  return {"head",
          ParameterType::choice,
          "",
          "skip",
          0,
          0,
          {"skip", "block"},
          "skip: a job that does not fit lets the next ones pass; block: it holds them all back"};
}

PreemptionSettings PreemptivePolicy::queue_settings(const Parameters& given) {
  return {.may_preempt = false, .head_blocks = given.text("head") == "block"};
}

void PreemptivePolicy::attach(const Snapshot& snapshot) {
  before_attach(snapshot);
  QueuePolicy::attach(snapshot);
  victims_.clear();
  timers_ = {};
  timer_of_.clear();
  limits_ = {};
  limit_of_.clear();
  ripening_.clear();
  starting_.clear();
  starting_since_ = snapshot.now;
  for (const JobIndex job : snapshot.waiting) set_timer(snapshot, job);
  for (const JobIndex job : snapshot.active) {
    victims_.place(job, snapshot.job(job).allocation);
    set_timer(snapshot, job);
    ripens(snapshot, job);
    starting_.emplace_back(job, snapshot.job(job).request.id);
  }
  std::sort(ripening_.begin(), ripening_.end(), [](const Timer& a, const Timer& b) { return b > a; });
  start_over(snapshot);
}

void PreemptivePolicy::notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) {
  QueuePolicy::notice(snapshot, kind, job);
  switch (kind) {
    case NoticeKind::waiting:
    case NoticeKind::ended:
      look_for_room(snapshot, job);
      victims_.remove(job);
      break;
    case NoticeKind::active:
      if (snapshot.job(job).state == JobState::starting) started_.note(job);
      take_place(snapshot, job);
      break;
    case NoticeKind::running:
      ripens(snapshot, job);
      take_place(snapshot, job);
      [[fallthrough]];
    case NoticeKind::edited:
      rank_again(snapshot, job);
      break;
    case NoticeKind::stopping:
      interrupted_.note(job);
      rank_again(snapshot, job);
  }
  set_timer(snapshot, job);
}

void PreemptivePolicy::decide(const Snapshot& snapshot, Plan& plan) {
  const bool ranks_differ = prepare(snapshot, plan);
  if (ranks_differ) rank_waiting_anew(snapshot);
  if (ranks_differ || snapshot.free.generation() != generation_ || !was_carried_out()) start_over(snapshot);
  started_.clear();
  interrupted_.clear();
  ++decision_;
  recall_starting(snapshot);
  run_timers(snapshot, plan);
  if (lines_.empty()) return;
  serve(snapshot, plan);
  wake(snapshot, plan);
}

// The core carries out what it accepts at once and in order, and gives notice of it; it skips what it refuses.
void PreemptivePolicy::Ordered::note(JobIndex job) {
  if (!is_carried_out() && jobs[carried_out] == job) ++carried_out;
}

// Forgets all earlier results.
void PreemptivePolicy::start_over(const Snapshot& snapshot) {
  generation_ = snapshot.free.generation();
  for (const JobIndex job : snapshot.active) rank_again(snapshot, job);
  victims_.touch_all();
  closed_.has_room();
}

void PreemptivePolicy::take_place(const Snapshot& snapshot, JobIndex job) {
  const Allocation& gpus = snapshot.job(job).allocation;
  if (gpus == victims_.where(job)) return;
  look_for_room(snapshot, job);
  victims_.place(job, gpus);
}

// There is room if a job no longer holds what it had, unless all of it went directly to the next job.
void PreemptivePolicy::look_for_room(const Snapshot& snapshot, JobIndex index) {
  const Allocation& had = victims_.where(index);
  const bool asks_more = !had.empty() && !snapshot.job(index).request.demand.is_zero();
  const bool has_left = asks_more || std::ranges::any_of(had.parts(), [&](const ServerGpus& part) {
                          return !(snapshot.free.on(part.server) & part.gpus).empty();
                        });
  if (has_left) closed_.has_room();
}

void PreemptivePolicy::serve(const Snapshot& snapshot, Plan& plan) {
  changed_.clear();
  leaves_room_ = false;
  Victims::Context context{snapshot, lines_.shapes(), snapshot.free, {}, settings_.drifts};
  if (!settings_.ages_evenly) context.rank_now = [&](JobIndex job) { return rank_now(snapshot, job); };
  if (settings_.drifts) {
    keep_ranks_anew(snapshot);
    victims_.expect_higher_ranks();
    closed_.may_stop(victims_.least_urgent());
  }
  if (settings_.head_blocks) closed_.has_room();  // which lines can be served depends on the job before them
  const auto& open = closed_.begin(lines_, [&](const Rank& rank) { return claim(snapshot, rank); });
  if (open.empty()) return;
  Walk walk(lines_, open);
  Trial trial(snapshot.free);
  while (!walk.done()) {
    const Shape& shape = lines_.shapes()[walk.shape()];
    if (start_on_free(snapshot, walk.job(), shape, trial, plan) || start_by_preempting(context, walk, trial, plan)) {
      walk.next();
    } else if (settings_.head_blocks) {
      break;
    } else {
      closed_.close(walk.shape(), walk.key());
      walk.close_line();
    }
  }
  if (!leaves_room_) return;
  for (const ServerIndex server : changed_) victims_.touch(server);  // it has less room until these jobs have stopped
}

// A job that starts at once gives notice when it runs, but perhaps after the last decision at this instant.
void PreemptivePolicy::expect_change(const Snapshot& snapshot, const Job& job, int gpus) {
  first_change_ = std::min(first_change_, next_change(snapshot, job, gpus));
  if (settings_.may_preempt) first_change_ = std::min(first_change_, snapshot.now + settings_.min_quantum);
}

// A job that takes longer to start wakes the policy when it runs.
void PreemptivePolicy::recall_starting(const Snapshot& snapshot) {
  first_change_ = Instant::never();
  if (starting_since_ != snapshot.now) return starting_.clear();
  std::erase_if(starting_, [&](const auto& started) {
    const Job& job = snapshot.job(started.first);
    return job.request.id != started.second || job.state != JobState::starting || job.state_since != snapshot.now;
  });
  for (const auto& [index, id] : starting_)
    expect_change(snapshot, snapshot.job(index), snapshot.job(index).allocation.count());
}

void PreemptivePolicy::start(const Snapshot& snapshot, JobIndex job, Allocation gpus, Trial& trial, Plan& plan) {
  const Job& starting = snapshot.job(job);
  trial.take(gpus, starting.request);
  expect_change(snapshot, starting, gpus.count());
  starting_.emplace_back(job, starting.request.id);
  starting_since_ = snapshot.now;
  for (const ServerGpus& part : gpus.parts()) {
    victims_.touch(part.server);
    changed_.push_back(part.server);
  }
  started_.jobs.push_back(job);
  plan.start(job, std::move(gpus));
}

bool PreemptivePolicy::start_on_free(const Snapshot& snapshot, JobIndex job, const Shape& shape, Trial& trial,
                                     Plan& plan) {
  if (trial.free().total() < shape.gpus) return false;
  const Job& waiting = snapshot.job(job);
  auto gpus = place(trial.free(), snapshot.servers, waiting, shape.gpus, shape.spread);
  if (!gpus) return false;
  start(snapshot, job, std::move(*gpus), trial, plan);
  return true;
}

// The rank that a running job must exceed to give way to this waiting one.
Rank PreemptivePolicy::claim(const Snapshot& snapshot, const Rank& waiting) const {
  Rank claim = waiting;
  if (claim.minor < Rank::last / 2) claim.minor += ageing(snapshot) + settings_.margin.us;
  return claim;
}

// Where running jobs less urgent than `wanted` may make room for a job of this line: on one server, or (none) on
// several, which only a trial shows; nothing: nowhere.
std::optional<ServerIndex> PreemptivePolicy::may_give_way(const Victims::Context& context, std::uint32_t line,
                                                          const Rank& wanted) {
  if (!settings_.may_preempt || !victims_.any_above(wanted)) return std::nullopt;
  if (context.shapes[line].servers_max > 1) return ServerIndex::none();
  const ServerIndex server = victims_.best(context, line, wanted);
  return server.valid() ? std::optional(server) : std::nullopt;
}

bool PreemptivePolicy::start_by_preempting(const Victims::Context& context, Walk& walk, Trial& trial, Plan& plan) {
  const Rank wanted = claim(context.snapshot, walk.key().rank);
  const auto where = may_give_way(context, walk.shape(), wanted);
  if (!where) return false;
  const Shape& shape = context.shapes[walk.shape()];
  const auto victims = where->valid() ? victims_.on_server(context, walk.shape(), *where, wanted)
                                      : victims_.anywhere(context, shape, wanted);
  return !victims.empty() && interrupt(context.snapshot, victims, walk, *where, trial, plan);
}

// Stops as many of the victims, least urgent first, as the job needs to be placed, and spares those that turn out not
// to be needed, most urgent first.
bool PreemptivePolicy::interrupt(const Snapshot& snapshot, const Victims::Jobs& victims, Walk& walk,
                                 ServerIndex only_on, Trial& trial, Plan& plan) {
  const Shape& shape = lines_.shapes()[walk.shape()];
  const Job& waiting = snapshot.job(walk.job());
  const auto placed = [&]() -> std::optional<Allocation> {
    if (trial.free().total() < shape.gpus) return std::nullopt;
    const bool one_server_will_do = only_on.valid() && !is_frozen(waiting);
    return one_server_will_do ? place_on(trial.free(), snapshot.servers, waiting.request, shape.gpus, only_on)
                              : place(trial.free(), snapshot.servers, waiting, shape.gpus, shape.spread);
  };
  const std::size_t before = trial.mark();
  std::optional<Allocation> found;
  Victims::Jobs stopped;
  for (std::size_t i = 0; i < victims.size() && !found; ++i) {
    trial.give(snapshot.job(victims[i]).allocation, snapshot.job(victims[i]).request);
    stopped.push_back(victims[i]);
    found = placed();
  }
  if (!found) {
    trial.rewind(before);
    return false;
  }
  for (std::size_t i = stopped.size() - 1; i-- > 0;) {  // without the last one it would not have fitted
    const std::size_t mark = trial.mark();
    trial.take(snapshot.job(stopped[i]).allocation, snapshot.job(stopped[i]).request);
    if (auto without = placed()) {
      found = std::move(without);
      stopped.erase(stopped.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      trial.rewind(mark);
    }
  }
  if (!waiting.request.demand.is_zero() && !is_frozen(waiting)) {
    std::vector<Allocation> left;
    for (const JobIndex job : stopped) left.push_back(snapshot.job(job).allocation);
    found = rather_on(left, trial.free(), snapshot.servers, waiting.request, *found);
  }
  // The rest of their GPUs is for less urgent jobs: a more urgent one could have stopped them itself.
  if (stop(snapshot, stopped, *found, plan))
    closed_.reopen(lines_, [&](std::uint32_t line) { return walk.join(line); });
  start(snapshot, walk.job(), std::move(*found), trial, plan);
  return true;
}

// Returns whether they leave more than the job that takes `gpus` needs.
bool PreemptivePolicy::stop(const Snapshot& snapshot, const Victims::Jobs& victims, const Allocation& gpus,
                            Plan& plan) {
  bool leave_room = false;
  for (const JobIndex victim : victims) {
    const Job& job = snapshot.job(victim);
    interrupted_.jobs.push_back(victim);
    victims_.spare(victim);
    for (const ServerGpus& part : job.allocation.parts()) changed_.push_back(part.server);
    leave_room = leave_room || !job.request.demand.is_zero() || !difference(job.allocation, gpus).empty();
    plan.preempt(victim);
  }
  leaves_room_ = leaves_room_ || leave_room;
  return leave_room;
}

Rank PreemptivePolicy::aged_rank(const Snapshot& snapshot, const Job& job) {
  Rank rank = running_rank(snapshot, job);
  rank.minor += ageing(snapshot);
  return rank;
}

// Worked out once in a decision.
Rank PreemptivePolicy::rank_now(const Snapshot& snapshot, JobIndex index) {
  if (!rank_in_.contains(index)) rank_in_.resize(index.value + 1);
  RankIn& known = rank_in_[index];
  if (known.decision != decision_) known = {decision_, aged_rank(snapshot, snapshot.job(index))};
  return known.rank;
}

// The rank that is kept is never too urgent.
Rank PreemptivePolicy::rank_to_keep(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  if (!settings_.drifts) return aged_rank(snapshot, job);
  const auto [rank, until] = rank_until(snapshot, job);
  if (!limit_of_.contains(index)) limit_of_.resize(index.value + 1);
  limit_of_[index] = until;
  if (!until.is_never()) limits_.push({until, job.request.id, index});
  return rank;
}

void PreemptivePolicy::keep_ranks_anew(const Snapshot& snapshot) {
  while (!limits_.empty() && limits_.top().at <= snapshot.now) {
    const Timer limit = limits_.top();
    limits_.pop();
    if (snapshot.job(limit.job).request.id == limit.id && limit_of_[limit.job] == limit.at)
      rank_again(snapshot, limit.job);
  }
}

void PreemptivePolicy::rank_again(const Snapshot& snapshot, JobIndex index) {
  if (!settings_.may_preempt) return;
  const Job& job = snapshot.job(index);
  const bool may_stop = job.state == JobState::running && job.request.preemptible &&
                        job.request.capability == Capability::checkpoint && ripe_at(job) <= snapshot.now &&
                        all_usable(snapshot, job.allocation);
  if (!may_stop) return victims_.spare(index);
  const Rank rank = rank_to_keep(snapshot, index);
  victims_.set_rank(index, RankKey::of(rank, job));
  closed_.may_stop(rank);
}

void PreemptivePolicy::set_timer(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  if (!timer_of_.contains(index)) timer_of_.resize(index.value + 1);
  const Instant at = has_timer(job) ? next_change(snapshot, job, job.allocation.count()) : Instant::never();
  if (timer_of_[index] == at) return;
  timer_of_[index] = at;
  if (!at.is_never()) timers_.push({at, job.request.id, index});
}

void PreemptivePolicy::ripens(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  if (settings_.may_preempt && job.state == JobState::running && ripe_at(job) > snapshot.now)
    ripening_.push_back({ripe_at(job), job.request.id, index});
}

bool PreemptivePolicy::will_be_ripe(const Snapshot& snapshot, const Timer& timer) const {
  const Job& job = snapshot.job(timer.job);
  return job.request.id == timer.id && job.state == JobState::running && ripe_at(job) == timer.at;
}

bool PreemptivePolicy::is_current(const Snapshot& snapshot, const Timer& timer) const {
  const Job& job = snapshot.job(timer.job);
  return job.request.id == timer.id && timer_of_[timer.job] == timer.at && has_timer(job);
}

void PreemptivePolicy::run_timers(const Snapshot& snapshot, Plan& plan) {
  for (; !ripening_.empty() && ripening_.front().at <= snapshot.now; ripening_.pop_front()) {
    if (will_be_ripe(snapshot, ripening_.front())) rank_again(snapshot, ripening_.front().job);
  }
  while (!timers_.empty() && timers_.top().at <= snapshot.now) {
    const Timer timer = timers_.top();
    timers_.pop();
    if (!is_current(snapshot, timer)) continue;
    timer_of_[timer.job] = Instant::never();
    if (snapshot.job(timer.job).is_waiting()) {
      lines_.rekey(timer.job, RankKey::of(changed(snapshot, timer.job, plan), snapshot.job(timer.job)));
      // It changes only once; the next time is set when it has run.
    } else {
      rank_again(snapshot, timer.job);
      set_timer(snapshot, timer.job);
    }
  }
}

void PreemptivePolicy::wake(const Snapshot& snapshot, Plan& plan) {
  while (!timers_.empty() && !is_current(snapshot, timers_.top())) timers_.pop();
  while (!ripening_.empty() && !will_be_ripe(snapshot, ripening_.front())) ripening_.pop_front();
  Instant at = std::min(wake_besides(snapshot), first_change_);
  if (!timers_.empty()) at = std::min(at, timers_.top().at);
  if (!ripening_.empty()) at = std::min(at, ripening_.front().at);
  if (!at.is_never()) plan.wake_at(at);
}

}  // namespace sl
