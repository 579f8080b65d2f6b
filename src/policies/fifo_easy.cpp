#include "policies/fifo_easy.h"

#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/reservations.h"

namespace sl {
namespace {

class FifoEasy : public ArrivalPolicy {
 public:
  FifoEasy(const ReservationSettings& settings, int depth) : settings_(settings), depth_(depth) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (lines_.empty() || snapshot.free.total() == 0) return;
    Trial trial(snapshot.free);
    started_.clear();
    Walk walk(lines_);
    for (; !walk.done(); walk.next()) {
      const Job& job = snapshot.job(walk.job());
      auto gpus = place(trial.free(), snapshot.servers, job.request, job.request.gpus);
      if (!gpus) break;
      start(snapshot, walk.job(), std::move(*gpus), trial, plan);
    }
    if (!walk.done() && trial.free().total() > 0) backfill(snapshot, walk, trial, plan);
  }

 private:
  void start(const Snapshot& snapshot, JobIndex index, Allocation gpus, Trial& trial, Plan& plan) {
    const Job& job = snapshot.job(index);
    trial.take(gpus, job.request.demand);
    started_.push_back({snapshot.now + run_bound(snapshot, job, gpus.count(), settings_), gpus, job.request.demand});
    plan.start(index, std::move(gpus));
  }

  void backfill(const Snapshot& snapshot, Walk& walk, Trial& trial, Plan& plan) {
    const JobRequest& head = snapshot.job(walk.job()).request;
    std::vector<Holding> held = holdings(snapshot, settings_);
    held.insert(held.end(), started_.begin(), started_.end());
    if (const Instant at = first_end(held); !at.is_never()) plan.wake_at(at);
    auto shadow = find_shadow(snapshot, head, head.gpus, std::move(held), trial);
    if (!shadow) shadow = never(trial.free());
    if (!shadow->gpus.empty()) plan.reserve(walk.job(), shadow->gpus, shadow->at);
    Backfill room(snapshot, *shadow, trial.free());
    walk.next();
    for (int tried = 0; tried < depth_ && !walk.done() && trial.free().total() > 0; ++tried, walk.next()) {
      const Job& job = snapshot.job(walk.job());
      const Duration bound = run_bound(snapshot, job, job.request.gpus, settings_);
      auto gpus = room.find(trial.free(), job.request, job.request.gpus, bound);
      if (!gpus) continue;
      const Allocation taken = *gpus;
      start(snapshot, walk.job(), std::move(*gpus), trial, plan);
      room.took(trial.free(), taken, bound);
    }
  }

  // The head fits on no server that is up: it holds nothing back.
  static Shadow never(const FreeGpus& free) { return {Instant::never(), {}, std::vector<int>(free.servers(), 0)}; }

  ReservationSettings settings_;
  int depth_;
  std::vector<Holding> started_;
};

}  // namespace

PolicyEntry fifo_easy_entry() {
  PolicyInfo info;
  info.name = "fifo_easy";
  info.title = "EASY Backfill";
  info.summary =
      "First come, first served, but later jobs may fill GPUs that are idle until the first one in line can start, as "
      "long as they do not delay it.";
  info.good_for = "busy GPUs without starving wide jobs";
  info.weak_for = "run times nobody knows: the default of a day lets hardly anybody pass";
  info.needs = {run_time_or_default()};
  info.aliases = {"easy", "backfill"};
  info.parameters = ReservationSettings::parameters();
  info.parameters.push_back({"backfill_depth",
                             ParameterType::integer,
                             "jobs",
                             "1000",
                             0,
                             1e6,
                             {},
                             "how many jobs behind the first are tried at each decision"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<FifoEasy>(ReservationSettings::of(given), given.integer("backfill_depth"));
          }};
}

}  // namespace sl
