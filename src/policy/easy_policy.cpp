#include "policy/easy_policy.h"

#include "policy/placer.h"

namespace sl {

std::vector<ParameterInfo> EasySettings::parameters() {
  std::vector<ParameterInfo> list = ReservationSettings::parameters();
  list.push_back({"backfill_depth",
                  ParameterType::integer,
                  "jobs",
                  "1000",
                  0,
                  1e6,
                  {},
                  "how many jobs behind the first are tried at each decision"});
  return list;
}

EasySettings EasySettings::of(const Parameters& given) {
  return {ReservationSettings::of(given), given.integer("backfill_depth")};
}

void EasyPolicy::attach(const Snapshot& snapshot) {
  ArrivalPolicy::attach(snapshot);
  in_order_.clear();
  bounds_.clear();
  for (const JobIndex job : snapshot.waiting) enter(snapshot, job);
}

// What is known of a waiting job changes only with its request.
void EasyPolicy::enter(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  in_order_.insert(index, ArrivalKey::of(job));
  if (!bounds_.contains(index)) bounds_.resize(index.value + 1);
  bounds_[index] = run_bound(snapshot, job, gpus_of(job), settings_.reservations);
}

void EasyPolicy::notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) {
  ArrivalPolicy::notice(snapshot, kind, job);
  const bool waits = kind == NoticeKind::waiting;
  if (!waits && kind != NoticeKind::active && kind != NoticeKind::ended) return;
  in_order_.erase(job, ArrivalKey::of(snapshot.job(job)));
  if (waits) enter(snapshot, job);
}

std::vector<Reservation> EasyPolicy::reservations(const View& view) const {
  if (!settings_.backfill || in_order_.empty()) return {};
  const JobIndex head = in_order_.begin()->job;
  return reserve(view, head, gpus_of(view.job(head)), settings_.reservations);
}

bool EasyPolicy::serve(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  starting_.clear();
  auto at = in_order_.begin();
  for (; at != in_order_.end(); ++at) {
    auto gpus = find(snapshot, trial.free(), snapshot.job(at->job));
    if (!gpus) break;
    take(snapshot, at->job, std::move(*gpus), trial);
  }
  const bool all_served = at == in_order_.end();
  if (!all_served && settings_.backfill && trial.free().total() > 0) backfill(snapshot, at, trial, plan);
  return all_served;
}

void EasyPolicy::take(const Snapshot& snapshot, JobIndex index, Allocation gpus, Trial& trial) {
  const Job& job = snapshot.job(index);
  trial.take(gpus, job.request);
  const Duration bound = run_bound(snapshot, job, gpus.count(), settings_.reservations);
  starting_.push_back({index, std::move(gpus), snapshot.now + bound});
}

std::vector<Holding> EasyPolicy::held_until(const Snapshot& snapshot) const {
  std::vector<Holding> held = holdings(snapshot, settings_.reservations);
  for (const Starting& job : starting_) held.push_back({job.end, job.gpus, snapshot.job(job.job).request});
  return held;
}

Shadow EasyPolicy::shadow_of(const Snapshot& snapshot, const Job& head, const std::vector<Holding>& held,
                             Trial& trial) const {
  auto shadow = find_shadow(snapshot, head, gpus_of(head), held, trial);
  // A job that fits on no server that is up holds nothing back.
  return shadow ? std::move(*shadow) : Shadow{Instant::never(), {}, std::vector<int>(trial.free().servers(), 0)};
}

// Without those of frozen jobs: each can continue on one server only, which the search for room does not know.
std::vector<std::uint32_t> EasyPolicy::lines_with_room(const Snapshot& snapshot, const FreeGpus& free) const {
  std::vector<std::uint32_t> some;
  for (std::uint32_t line = 0; line < lines_.lines(); ++line) {
    if (lines_[line].empty()) continue;
    const Job& first = snapshot.job(lines_[line].begin()->job);
    if (is_frozen(first)) continue;
    const int gpus = gpus_of(first);
    if (free.total() < gpus) continue;
    if (!speaks_for_its_shape(first.request) || place(free, snapshot.servers, first.request, gpus))
      some.push_back(line);
  }
  return some;
}

void EasyPolicy::backfill(const Snapshot& snapshot, const InOrder::Iterator& head, Trial& trial, Plan& plan) {
  const std::vector<std::uint32_t> lines = lines_with_room(snapshot, trial.free());
  if (lines.empty()) return;
  const std::vector<Holding> held = held_until(snapshot);
  if (const Instant at = first_end(held); !at.is_never()) plan.wake_at(at);
  Backfill room(snapshot, shadow_of(snapshot, snapshot.job(head->job), held, trial), trial.free());
  InOrder::Iterator end = head;
  end += static_cast<std::size_t>(settings_.depth) + 1;
  for (Walk walk(lines_, lines); !walk.done() && trial.free().total() > 0;) {
    if (end != in_order_.end() && !(walk.key() < end->key)) return;
    if (!(head->key < walk.key())) {  // it starts anyway, or is the head
      walk.next();
      continue;
    }
    const Duration bound = bounds_[walk.job()];
    if (!room.may_take_any(bound) && room.left_over() < lines_.shapes()[walk.shape()].gpus) {
      walk.next();
      continue;
    }
    const Job& job = snapshot.job(walk.job());
    const auto gpus = room.find(trial.free(), job.request, gpus_of(job), bound);
    if (gpus) {
      take(snapshot, walk.job(), *gpus, trial);
      room.took(trial.free(), *gpus, bound);
      plan.wake_at(snapshot.now + bound);
    } else if (room.may_take_any(bound) && speaks_for_its_shape(job.request)) {
      walk.close_line();
      continue;
    }
    walk.next();
  }
}

}  // namespace sl
