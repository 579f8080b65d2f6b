#include "policy/elastic_policy.h"

#include <algorithm>

#include "policy/placer.h"

namespace sl {
namespace {

// As many of the job's GPUs, the lowest on the first servers.
Allocation first_of(const Allocation& gpus, int count) {
  Allocation result;
  for (const ServerGpus& part : gpus.parts()) {
    const int here = std::min(count, part.gpus.count());
    result.add(part.server, part.gpus.lowest(here));
    count -= here;
  }
  return result;
}

bool all_free(const FreeGpus& free, const Allocation& gpus) {
  return std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
    return free.is_open(part.server) && free.on(part.server).contains(part.gpus);
  });
}

}  // namespace

double speedup_of(const Snapshot& snapshot, JobIndex job, int gpus) {
  return snapshot.estimates.speedup(snapshot.job(job), gpus).value_or(gpus);
}

void elastic_fill(const Snapshot& snapshot, std::vector<Share>& shares, int gpus, bool strict, double min_gain) {
  std::vector<Share*> admitted;
  for (Share& share : shares) {
    if (gpus >= share.least) {
      share.gpus = share.least;
      gpus -= share.least;
      admitted.push_back(&share);
    } else if (strict) {
      break;
    }
  }
  while (gpus > 0 && !admitted.empty()) {
    const auto stays = [&](Share* share) {
      if (gpus == 0 || share->gpus >= share->most) return false;
      const double gain =
          speedup_of(snapshot, share->job, share->gpus + 1) - speedup_of(snapshot, share->job, share->gpus);
      if (gain <= min_gain) return false;
      ++share->gpus;
      --gpus;
      return true;
    };
    std::erase_if(admitted, [&](Share* share) { return !stays(share); });
  }
}

std::vector<ParameterInfo> ElasticPolicy::parameters() {
  return {
      {"resize_min_run_s",
       ParameterType::number,
       "s",
       "120",
       0,
       86400,
       {},
       "a job that (re)started less than this ago is left as it is"},
      {"resize_min_rem_s",
       ParameterType::number,
       "s",
       "120",
       0,
       86400,
       {},
       "a job with less than this left is not resized"},
      {"restart_cost_s",
       ParameterType::number,
       "s",
       "30",
       0,
       86400,
       {},
       "what a resize costs a job that does not say it; growing must save more"},
      {"default_est_s",
       ParameterType::number,
       "s",
       "300",
       1,
       1e9,
       {},
       "run time of a job about which nothing is known and nothing like it has finished"},
  };
}

ElasticSettings ElasticPolicy::settings(const Parameters& given) {
  return {Duration::seconds(given.number("resize_min_run_s")), Duration::seconds(given.number("resize_min_rem_s")),
          Duration::seconds(given.number("restart_cost_s")), Duration::seconds(given.number("default_est_s"))};
}

void ElasticPolicy::attach(const Snapshot& snapshot) {
  run_times_.reset();
  run_times_.learn(snapshot);
  QueuePolicy::attach(snapshot);
}

void ElasticPolicy::decide(const Snapshot& snapshot, Plan& plan) {
  run_times_.learn(snapshot);
  prepare(snapshot, plan);
  if (ranks_change(snapshot) || run_times_.has_guessed()) rekey_all(snapshot);
  const int gpus = gather(snapshot);
  if (shares_.empty()) return wake(snapshot, plan);
  divide(snapshot, shares_, gpus);
  {
    Trial trial(snapshot.free);
    carry_out(snapshot, trial, plan);
  }
  wake(snapshot, plan);
}

bool ElasticPolicy::may_change(const Snapshot& snapshot, const Job& job) const {
  return job.state == JobState::running && job.request.preemptible &&
         job.request.capability == Capability::checkpoint &&
         snapshot.now >= job.last_start + settings_.resize_min_run && all_usable(snapshot, job.allocation) &&
         may_stay_on(snapshot, job, job.allocation);
}

int ElasticPolicy::gather(const Snapshot& snapshot) {
  shares_.clear();
  int gpus = snapshot.free.total();
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    if (!may_change(snapshot, job)) continue;
    const int has = job.allocation.count();
    shares_.push_back({index, key_of(snapshot, job), job.request.gpus_min, job.request.gpus_max, has});
    gpus += has;
  }
  std::vector<int> taken(lines_.shapes().size(), 0);  // of each line no more than could ever be served
  for (Walk walk(lines_); !walk.done();) {
    const Job& job = snapshot.job(walk.job());
    int& gpus_of_line = taken[walk.shape()];
    gpus_of_line += job.request.gpus_min;
    if (gpus_of_line > gpus) {
      if (!may_pass()) break;  // nobody behind it is served
      walk.close_line();
      continue;
    }
    shares_.push_back({walk.job(), walk.key(), job.request.gpus_min, job.request.gpus_max});
    walk.next();
  }
  for (Share& share : shares_) {
    if (snapshot.job(share.job).request.single_server)
      share.most = std::min(share.most, std::max(share.has, snapshot.free.gpus_per_server_max()));
  }
  std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) { return a.key < b.key; });
  return gpus;
}

void ElasticPolicy::carry_out(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  take_away(snapshot, trial);
  start(snapshot, trial, plan);
  give_back_unneeded(snapshot, trial);
  if (may_pass()) start_on_leftovers(snapshot, trial, plan);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    if (share.has == 0 || kept_[i].count() == share.has) continue;
    kept_[i].empty() ? plan.preempt(share.job) : plan.resize(share.job, kept_[i]);
  }
  for (Share& share : shares_) {
    if (share.has > 0 && share.gpus > share.has) grow(snapshot, share, trial, plan);
  }
}

void ElasticPolicy::take_away(const Snapshot& snapshot, Trial& trial) {
  kept_.assign(shares_.size(), {});
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    Share& share = shares_[i];
    if (share.has == 0) continue;
    const Job& job = snapshot.job(share.job);
    if (share.gpus > 0 && share.gpus < share.has && !worth_resizing(snapshot, job, share.gpus)) share.gpus = share.has;
    kept_[i] = first_of(job.allocation, std::min(share.gpus, share.has));
    const bool stops = kept_[i].empty();
    if (kept_[i].count() < share.has)
      trial.give(difference(job.allocation, kept_[i]), stops ? job.request.demand : ResourceVector{});
  }
}

void ElasticPolicy::start(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  std::vector<Share*> starting;
  for (Share& share : shares_) {
    if (share.has == 0 && share.gpus > 0) starting.push_back(&share);
  }
  std::stable_sort(starting.begin(), starting.end(), [](const Share* a, const Share* b) { return a->gpus > b->gpus; });
  for (Share* share : starting) start(snapshot, *share, trial, plan);
}

bool ElasticPolicy::start(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan) {
  const JobRequest& request = snapshot.job(share.job).request;
  for (int gpus = std::min(share.gpus, trial.free().total()); gpus >= share.least; --gpus) {
    auto found = place(trial.free(), snapshot.servers, request, gpus);
    if (!found) continue;
    trial.take(*found, request.demand);
    plan.start(share.job, std::move(*found));
    share.started = true;
    return true;
  }
  return false;
}

void ElasticPolicy::start_on_leftovers(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  for (Share& share : shares_) {
    if (trial.free().total() == 0) return;
    if (share.has > 0 || share.started) continue;
    share.gpus = share.least;
    start(snapshot, share, trial, plan);
  }
}

// What was taken from a running job and is still free after all starts was taken for nothing.
void ElasticPolicy::give_back_unneeded(const Snapshot& snapshot, Trial& trial) {
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    if (share.has == 0 || kept_[i].count() == share.has) continue;
    const Job& job = snapshot.job(share.job);
    const Allocation taken = difference(job.allocation, kept_[i]);
    if (!all_free(trial.free(), taken)) continue;
    trial.take(taken, kept_[i].empty() ? job.request.demand : ResourceVector{});
    kept_[i] = job.allocation;
  }
}

std::optional<Allocation> ElasticPolicy::room_to_grow(const Snapshot& snapshot, const Share& share,
                                                      Trial& trial) const {
  const Job& job = snapshot.job(share.job);
  const std::size_t before = trial.mark();
  trial.give(job.allocation, job.request.demand);
  std::optional<Allocation> found;
  if (job.request.single_server) {
    const ServerIndex here = job.allocation.parts().front().server;
    const int room = std::min(share.gpus, trial.free().count(here));
    if (room > share.has && trial.free().is_open(here)) {
      found = job.allocation;
      const GpuSet others = trial.free().on(here) - job.allocation.on(here);
      found->add(here, others.lowest(room - share.has));
    }
    if (room < share.gpus) {
      if (auto elsewhere = place(trial.free(), snapshot.servers, job.request, share.gpus)) found = elsewhere;
    }
  } else {
    found = place(trial.free(), snapshot.servers, job.request, share.gpus);
  }
  trial.rewind(before);
  return found;
}

void ElasticPolicy::grow(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan) {
  const Job& job = snapshot.job(share.job);
  if (trial.free().total() == 0) return;
  const auto gpus = room_to_grow(snapshot, share, trial);
  if (!gpus || !worth_resizing(snapshot, job, gpus->count())) return;
  trial.take(difference(*gpus, job.allocation));
  plan.resize(share.job, *gpus);
}

bool ElasticPolicy::worth_resizing(const Snapshot& snapshot, const Job& job, int gpus) {
  const int has = job.allocation.count();
  const Duration left = run_times_.remaining(snapshot, job, has);
  if (left < settings_.resize_min_rem) return false;
  if (gpus < has) return true;
  const JobModel* model = job.request.model.get();
  const Duration cost = model && model->restart_cost ? *model->restart_cost : settings_.restart_cost;
  const double speed_now = snapshot.estimates.speedup(job, has).value_or(has);
  const double speed_then = snapshot.estimates.speedup(job, gpus).value_or(gpus);
  return speed_then > speed_now && left.to_seconds() * (1 - speed_now / speed_then) >= cost.to_seconds();
}

// When the next job that was left alone because it has just started may change, if anybody wants GPUs then.
void ElasticPolicy::wake(const Snapshot& snapshot, Plan& plan) {
  Instant at = wake_besides(snapshot);
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    const bool on_its_way = job.state != JobState::running;
    const Instant ripe = (on_its_way ? snapshot.now : job.last_start) + settings_.resize_min_run;
    if (job.request.capability != Capability::checkpoint || !job.request.preemptible || ripe <= snapshot.now) continue;
    if (!lines_.empty() || job.request.is_elastic()) at = std::min(at, ripe);
  }
  if (!at.is_never()) plan.wake_at(at);
}

}  // namespace sl
