#include "policy/elastic_policy.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "policy/placer.h"

namespace sl {
namespace {

bool all_free(const FreeGpus& free, const Allocation& gpus) {
  return std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
    return free.is_open(part.server) && free.on(part.server).contains(part.gpus);
  });
}

}  // namespace

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

namespace {

struct Step {
  double gain;
  Share* share;
  bool operator<(const Step& other) const {  // first starts are left out of the comparison
    if (gain != other.gain) return gain < other.gain;
    const RankKey &a = share->key, &b = other.share->key;
    return std::tie(b.rank.major, b.submitted, b.id) < std::tie(a.rank.major, a.submitted, a.id);
  }
};

}  // namespace

void hand_out_by_gain(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) {
  std::priority_queue<Step> steps;
  const auto offer = [&](Share& share) {
    if (share.gpus >= share.most) return;
    const double gain =
        share.gpus == 0 ? speedup_of(snapshot, share.job, share.least) / share.least
                        : speedup_of(snapshot, share.job, share.gpus + 1) - speedup_of(snapshot, share.job, share.gpus);
    if (gain > 0) steps.push({gain, &share});
  };
  for (Share& share : shares) offer(share);
  while (gpus > 0 && !steps.empty()) {
    Share& share = *steps.top().share;
    steps.pop();
    const int step = share.gpus == 0 ? share.least : 1;
    if (step > gpus) continue;
    share.gpus += step;
    gpus -= step;
    offer(share);
  }
}

ParameterInfo admit_parameter() {
  return {"admit",
          ParameterType::choice,
          "",
          "skip",
          0,
          0,
          {"skip", "strict"},
          "whether jobs may pass one whose minimum does not fit"};
}

bool admits_strictly(const Parameters& given) { return given.text("admit") == "strict"; }

void ElasticPolicy::decide(const Snapshot& snapshot, Plan& plan) {
  prepare(snapshot, plan);
  if (ranks_change(snapshot) || run_times_.has_guessed()) rekey_all(snapshot);
  const int gpus = gather(snapshot);
  if (shares_.empty()) return wake(snapshot, plan);
  divide(snapshot, shares_, gpus);
  keep_to_allowed_counts(snapshot);
  {
    Trial trial(snapshot.free);
    carry_out(snapshot, trial, plan);
  }
  wake(snapshot, plan);
}

int ElasticPolicy::gather(const Snapshot& snapshot) {
  shares_.clear();
  int gpus = snapshot.free.total();
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    if (!may_interrupt(snapshot, job) || !is_settled(snapshot, job) || !may_change(snapshot, job)) continue;
    const int has = job.allocation.count();
    shares_.push_back({index, key_of(snapshot, job), job.request.gpus_min, job.request.gpus_max, has});
    gpus += has;
  }
  std::ranges::sort(shares_, {}, &Share::key);
  const auto running = static_cast<std::ptrdiff_t>(shares_.size());
  to_divide_ = gpus;
  fills_in_order() ? gather_admitted(snapshot, gpus) : gather_waiting(snapshot, gpus);
  for (Share& share : shares_) {
    const double room =
        static_cast<double>(snapshot.free.gpus_per_server_max()) * snapshot.job(share.job).request.servers_max;
    if (room < share.most) share.most = std::max(share.has, static_cast<int>(room));
  }
  std::ranges::inplace_merge(shares_, shares_.begin() + running, {}, &Share::key);  // both parts are in order
  return gpus;
}

// Of each line no more jobs than could ever be served.
void ElasticPolicy::gather_waiting(const Snapshot& snapshot, int gpus) {
  std::vector<int> taken(lines_.shapes().size(), 0);
  for (Walk walk(lines_); !walk.done();) {
    const Job& job = snapshot.job(walk.job());
    int& gpus_of_line = taken[walk.shape()];
    gpus_of_line += job.request.gpus_min;
    if (gpus_of_line > gpus) {
      if (!may_pass()) break;  // no job behind it is served
      walk.close_line();
      continue;
    }
    shares_.push_back({walk.job(), walk.key(), job.request.gpus_min, job.request.gpus_max});
    walk.next();
  }
}

// Those that elastic_fill() gives their minimum. What it has left only becomes less, so the first job of a line that it
// gives nothing ends the line.
void ElasticPolicy::gather_admitted(const Snapshot& snapshot, int gpus) {
  const std::size_t running = shares_.size();
  std::size_t passed = 0;
  for (Walk walk(lines_); !walk.done() && gpus > 0;) {
    for (; passed < running && shares_[passed].key < walk.key(); ++passed) {
      if (gpus >= shares_[passed].least) {
        gpus -= shares_[passed].least;
      } else if (!may_pass()) {
        return;
      }
    }
    const JobRequest& request = snapshot.job(walk.job()).request;
    if (gpus < request.gpus_min) {
      if (!may_pass()) return;
      walk.close_line();
      continue;
    }
    gpus -= request.gpus_min;
    shares_.push_back({walk.job(), walk.key(), request.gpus_min, request.gpus_max});
    walk.next();
  }
}

// A count that a job may not have becomes the next lower one that it may. What is left over goes to the first in order
// whom it brings to a higher one that makes it faster.
void ElasticPolicy::keep_to_allowed_counts(const Snapshot& snapshot) {
  int left = 0;
  for (Share& share : shares_) {
    const int allowed = share.gpus == 0 ? 0 : allowed_gpus(snapshot.job(share.job).request, share.gpus);
    left += share.gpus - allowed;
    share.gpus = allowed;
  }
  for (Share& share : shares_) {
    if (left == 0) return;
    if (share.gpus == 0) continue;
    const int higher = allowed_gpus(snapshot.job(share.job).request, std::min(share.most, share.gpus + left));
    if (higher <= share.gpus || speedup_on(snapshot, share.job, higher) <= speedup_on(snapshot, share.job, share.gpus))
      continue;
    left -= higher - share.gpus;
    share.gpus = higher;
  }
}

void ElasticPolicy::carry_out(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  take_away(snapshot, trial);
  start(snapshot, trial, plan);
  give_back_unneeded(snapshot, trial);
  if (may_pass() && fills_in_order()) start_others_on_leftovers(snapshot, trial, plan);
  if (may_pass() && !fills_in_order()) start_on_leftovers(snapshot, trial, plan);
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
    if (share.gpus > 0 && share.gpus < share.has && !worth_resizing(snapshot, share.job, share.gpus))
      share.gpus = share.has;
    kept_[i] = first_of(job.allocation, std::min(share.gpus, share.has));
    if (!trial.free().fits_more(job.allocation, kept_[i], job.request)) {  // members would change servers
      share.gpus = share.has;
      kept_[i] = job.allocation;
    }
    const bool stops = kept_[i].empty();
    if (kept_[i].count() < share.has)
      trial.give(difference(job.allocation, kept_[i]), stops ? Demand(job.request) : Demand());
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
  for (int gpus = allowed_gpus(request, std::min(share.gpus, trial.free().total())); gpus >= share.least;
       gpus = allowed_gpus(request, gpus - 1)) {
    auto found = place(trial.free(), snapshot.servers, snapshot.job(share.job), gpus);
    if (!found) continue;
    trial.take(*found, request);
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

// The same among all that wait, for a policy that did not gather them. A job that finds no place closes its line.
void ElasticPolicy::start_others_on_leftovers(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  std::vector<JobIndex> started;
  for (const Share& share : shares_) {
    if (share.started) started.push_back(share.job);
  }
  std::sort(started.begin(), started.end());
  std::vector<int> taken(lines_.shapes().size(), 0);
  for (Walk walk(lines_); !walk.done() && trial.free().total() > 0;) {
    const Job& job = snapshot.job(walk.job());
    const JobRequest& request = job.request;
    taken[walk.shape()] += request.gpus_min;
    if (taken[walk.shape()] > to_divide_) {
      walk.close_line();
      continue;
    }
    if (!std::binary_search(started.begin(), started.end(), walk.job())) {
      Share share{walk.job(), walk.key(), request.gpus_min, request.gpus_max, 0, request.gpus_min};
      if (!start(snapshot, share, trial, plan) && !is_frozen(job) &&
          allowed_gpus(request, request.gpus_min) == request.gpus_min) {
        walk.close_line();
        continue;
      }
    }
    walk.next();
  }
}

// GPUs that were taken from a running job and are still free after all starts go back to it.
void ElasticPolicy::give_back_unneeded(const Snapshot& snapshot, Trial& trial) {
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    if (share.has == 0 || kept_[i].count() == share.has) continue;
    const Job& job = snapshot.job(share.job);
    const Allocation taken = difference(job.allocation, kept_[i]);
    if (!all_free(trial.free(), taken)) continue;
    trial.take(taken, kept_[i].empty() ? Demand(job.request) : Demand());
    kept_[i] = job.allocation;
  }
}

std::optional<Allocation> ElasticPolicy::room_for(const Snapshot& snapshot, const Job& job, int gpus,
                                                  Trial& trial) const {
  std::optional<Allocation> found;
  if (job.request.single_server()) {
    found = grown_in_place(trial.free(), snapshot.servers, job.request, job.allocation, gpus);
    if (found->count() == gpus) return found;
  }
  const std::size_t before = trial.mark();
  trial.give(job.allocation, job.request);
  if (auto anew = place(trial.free(), snapshot.servers, job.request, gpus)) found = std::move(anew);
  trial.rewind(before);
  return found;
}

std::optional<Allocation> ElasticPolicy::room_to_grow(const Snapshot& snapshot, const Share& share,
                                                      Trial& trial) const {
  const Job& job = snapshot.job(share.job);
  for (int gpus = share.gpus; gpus > share.has; gpus = allowed_gpus(job.request, gpus - 1)) {
    auto found = room_for(snapshot, job, gpus, trial);
    if (found && found->count() <= share.has) found.reset();
    const bool spreads = found && found->parts().size() > 1 && gpus <= snapshot.free.gpus_per_server_max();
    if (may_spread() || (found && !spreads)) return found;
  }
  return std::nullopt;
}

void ElasticPolicy::grow(const Snapshot& snapshot, Share& share, Trial& trial, Plan& plan) {
  const Job& job = snapshot.job(share.job);
  if (trial.free().total() == 0) return;
  const auto gpus = room_to_grow(snapshot, share, trial);
  if (!gpus || !worth_resizing(snapshot, share.job, gpus->count())) return;
  trial.take_more(job.allocation, *gpus, job.request);
  plan.resize(share.job, *gpus);
}

}  // namespace sl
