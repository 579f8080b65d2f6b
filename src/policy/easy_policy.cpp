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

std::vector<Reservation> EasyPolicy::reservations(const View& view) const {
  const Walk first(lines_);
  if (!settings_.backfill || first.done()) return {};
  return reserve(view, first.job(), gpus_of(view.job(first.job())), settings_.reservations);
}

bool EasyPolicy::serve(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  starting_.clear();
  Walk walk(lines_);
  for (; !walk.done(); walk.next()) {
    const Job& job = snapshot.job(walk.job());
    auto gpus = find(snapshot, trial.free(), job);
    if (!gpus) break;
    take(snapshot, walk.job(), std::move(*gpus), trial);
  }
  const bool all_served = walk.done();
  if (!all_served && settings_.backfill && trial.free().total() > 0) backfill(snapshot, walk, trial, plan);
  return all_served;
}

void EasyPolicy::take(const Snapshot& snapshot, JobIndex index, Allocation gpus, Trial& trial) {
  const Job& job = snapshot.job(index);
  trial.take(gpus, job.request);
  const Duration bound = run_bound(snapshot, job, gpus.count(), settings_.reservations);
  starting_.push_back({index, std::move(gpus), snapshot.now + bound});
}

Shadow EasyPolicy::shadow_of(const Snapshot& snapshot, const Job& head, Trial& trial, Plan& plan) const {
  std::vector<Holding> held = holdings(snapshot, settings_.reservations);
  for (const Starting& job : starting_) held.push_back({job.end, job.gpus, snapshot.job(job.job).request});
  if (const Instant at = first_end(held); !at.is_never()) plan.wake_at(at);
  auto shadow = find_shadow(snapshot, head, gpus_of(head), std::move(held), trial);
  // A job that fits on no server that is up holds nothing back.
  return shadow ? std::move(*shadow) : Shadow{Instant::never(), {}, std::vector<int>(trial.free().servers(), 0)};
}

void EasyPolicy::backfill(const Snapshot& snapshot, Walk& walk, Trial& trial, Plan& plan) {
  const Shadow shadow = shadow_of(snapshot, snapshot.job(walk.job()), trial, plan);
  Backfill room(snapshot, shadow, trial.free());
  walk.next();
  for (int tried = 0; tried < settings_.depth && !walk.done() && trial.free().total() > 0; ++tried, walk.next()) {
    const Job& job = snapshot.job(walk.job());
    if (is_frozen(job)) continue;  // it can continue on one server only, which find() does not know
    const Duration bound = run_bound(snapshot, job, gpus_of(job), settings_.reservations);
    const auto gpus = room.find(trial.free(), job.request, gpus_of(job), bound);
    if (!gpus) continue;
    take(snapshot, walk.job(), *gpus, trial);
    room.took(trial.free(), *gpus, bound);
    plan.wake_at(snapshot.now + bound);
  }
}

}  // namespace sl
