#include "policy/elastic_policy.h"

#include <algorithm>
#include <utility>

#include "policy/placer.h"

namespace sl {
namespace {

bool all_free(const FreeGpus& free, const Allocation& gpus) {
  return std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
    return free.is_open(part.server) && free.on(part.server).contains(part.gpus);
  });
}

}  // namespace

void elastic_fill(const Snapshot& snapshot, std::vector<Share>& shares, Supply& supply) {
  if (supply.total() <= 0) return;
  std::vector<Share*> growing;
  for (Share& share : shares) {
    if (share.gpus > 0) growing.push_back(&share);
  }
  while (supply.total() > 0 && !growing.empty()) {
    const auto stays = [&](Share* share) {
      if (share->gpus >= share->most || supply.left_for(*share) == 0) return false;
      if (speedup_of(snapshot, share->job, share->gpus + 1) <= speedup_of(snapshot, share->job, share->gpus))
        return false;
      supply.give(*share, 1);
      return true;
    };
    std::erase_if(growing, [&](Share* share) { return !stays(share); });
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

void ElasticPolicy::attach(const Snapshot& snapshot) {
  ResizingPolicy::attach(snapshot);
  running_.clear();
  kinds_.clear();
  is_running_.clear();
  shape_of_.clear();
  ranked_.clear();
  for (const JobIndex job : snapshot.active) note_running(snapshot, job);
}

void ElasticPolicy::notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) {
  ResizingPolicy::notice(snapshot, kind, job);
  if (kind == NoticeKind::running) note_running(snapshot, job);
  if (ranked_.contains(job)) ranked_[job] = {};
}

const ElasticPolicy::Ranked& ElasticPolicy::ranked(const Snapshot& snapshot, JobIndex index) {
  if (!ranked_.contains(index)) ranked_.resize(index.value + 1);
  Ranked& kept = ranked_[index];
  if (kept.until <= snapshot.now) {
    const Job& job = snapshot.job(index);
    kept = {key_of(snapshot, job), rank_lasts_until(snapshot, job)};
  }
  return kept;
}

void ElasticPolicy::note_running(const Snapshot& snapshot, JobIndex job) {
  while (!is_running_.contains(job)) {
    is_running_.push_back(0);
    shape_of_.push_back(0);
  }
  const Job& started = snapshot.job(job);
  shape_of_[job] = lines_.shape_for(started, gpus_of(started), spread_of(started));
  if (is_running_[job] == 0) running_.push_back(job);
  is_running_[job] = 1;
}

void ElasticPolicy::decide(const Snapshot& snapshot, Plan& plan) {
  prepare(snapshot, plan);
  if (ranks_change(snapshot)) rekey_all(snapshot);
  const Supply supply = gather(snapshot);
  if (shares_.empty() && lines_.size() == 0) return wake(snapshot, plan);
  divide(snapshot, shares_, supply);
  keep_to_allowed_counts(snapshot, supply);
  {
    Trial trial(snapshot.free);
    carry_out(snapshot, trial, plan);
  }
  wake(snapshot, plan);
}

Share ElasticPolicy::new_share(const Snapshot& snapshot, JobIndex index, const RankKey& key) const {
  const JobRequest& request = snapshot.job(index).request;
  const double room = static_cast<double>(snapshot.free.gpus_per_server_max()) * request.servers_max;
  const int most = room < request.gpus_max ? static_cast<int>(room) : request.gpus_max;
  const std::uint32_t shape = lines_.contains(index) ? lines_.shape_of(index) : shape_of_[index];
  return {index, key, request.gpus_min, most, kinds_.of_shape(shape), kinds_.servers_of_shape(shape)};
}

Supply ElasticPolicy::gather(const Snapshot& snapshot) {
  kinds_.update(snapshot, lines_.shapes());
  shares_.clear();
  Supply supply = Supply::of_free(snapshot, kinds_);
  gather_running(snapshot, supply);
  to_divide_ = supply.total();
  const std::ptrdiff_t running = std::ssize(shares_);
  if (serves_in_order(shares_)) gather_served(snapshot, supply);
  if (!serves_in_order(shares_)) {
    shares_.erase(shares_.begin() + running, shares_.end());
    gather_waiting(snapshot, supply);
  }
  std::ranges::inplace_merge(shares_, shares_.begin() + running, {}, &Share::key);  // both parts are in order
  return supply;
}

// Looks at the jobs in the order of the last decision, since it hardly changes. Adds the GPUs they have.
void ElasticPolicy::gather_running(const Snapshot& snapshot, Supply& supply) {
  std::vector<JobIndex> others;
  for (const JobIndex index : running_) {
    const Job& job = snapshot.job(index);
    if (job.state != JobState::running) {
      is_running_[index] = 0;
    } else if (!may_interrupt(snapshot, index) || !is_settled(snapshot, job) || !may_change(snapshot, job)) {
      others.push_back(index);
    } else {
      Share& share = shares_.emplace_back(new_share(snapshot, index, ranked(snapshot, index).key));
      share.has = job.allocation.count();
      share.most = std::max(share.most, share.has);
      for (const ServerGpus& part : job.allocation.parts()) supply.add(kinds_.of(part.server), part.gpus.count());
    }
  }
  const auto moved = std::ranges::is_sorted_until(shares_, {}, &Share::key);
  std::ranges::sort(moved, shares_.end(), {}, &Share::key);
  std::ranges::inplace_merge(shares_, moved, {}, &Share::key);
  running_.clear();
  for (const Share& share : shares_) running_.push_back(share.job);
  running_.insert(running_.end(), others.begin(), others.end());
}

// Of each line the first in order, no more jobs than could ever be served.
void ElasticPolicy::gather_waiting(const Snapshot& snapshot, const Supply& supply) {
  std::vector<int> taken(lines_.shapes().size(), 0);
  for (Walk walk(lines_); !walk.done();) {
    int& gpus_of_line = taken[walk.shape()];
    gpus_of_line += snapshot.job(walk.job()).request.gpus_min;
    if (gpus_of_line > supply.left(kinds_of_line(walk.shape()))) {
      walk.close_line();
      continue;
    }
    shares_.push_back(new_share(snapshot, walk.job(), walk.key()));
    walk.next();
  }
}

// Those to whom serve_in_order() gives something, and the first to whom it does not if none may pass that one. What is
// left only becomes less, so a line ends when its minimum is no longer there.
void ElasticPolicy::gather_served(const Snapshot& snapshot, Supply supply) {
  const std::size_t running = shares_.size();
  std::size_t passed = 0;
  const auto serve = [&](Share share) {
    const int given = gpus_in_order(snapshot, share, supply.left_for(share));
    supply.give(share, given);
    return given;
  };
  for (Walk walk(lines_); !walk.done() && supply.total() > 0;) {
    for (; passed < running && shares_[passed].key < walk.key(); ++passed) {
      if (serve(shares_[passed]) == 0 && !may_pass()) return;
    }
    const Share share = new_share(snapshot, walk.job(), walk.key());
    const int given = serve(share);
    if (given > 0 || !may_pass()) shares_.push_back(share);
    if (given == 0 && !may_pass()) return;
    given == 0 && supply.left(share.may_use) < share.least ? walk.close_line() : walk.next();
  }
}

void ElasticPolicy::serve_in_order(const Snapshot& snapshot, std::vector<Share>& shares, Supply& supply) const {
  for (Share& share : shares) {
    supply.give(share, gpus_in_order(snapshot, share, supply.left_for(share)));
    if (share.gpus == 0 && !may_pass()) break;
  }
}

// A count that a job may not have becomes the next lower one that it may. What is left over goes to the first in order
// whom it brings to a higher one that makes it faster.
void ElasticPolicy::keep_to_allowed_counts(const Snapshot& snapshot, Supply supply) {
  int left = 0;
  for (Share& share : shares_) {
    const int divided = std::exchange(share.gpus, 0);
    const int allowed = divided == 0 ? 0 : allowed_gpus(snapshot.job(share.job).request, divided);
    supply.give(share, allowed);
    left += divided - allowed;
  }
  for (Share& share : shares_) {
    if (left == 0) return;
    if (share.gpus == 0) continue;
    const int more = std::min(left, supply.left_for(share));
    const int higher = allowed_gpus(snapshot.job(share.job).request, std::min(share.most, share.gpus + more));
    if (higher <= share.gpus || speedup_on(snapshot, share.job, higher) <= speedup_on(snapshot, share.job, share.gpus))
      continue;
    left -= higher - share.gpus;
    supply.give(share, higher - share.gpus);
  }
}

void ElasticPolicy::carry_out(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  take_away(snapshot, trial);
  start(snapshot, trial, plan);
  give_back_unneeded(snapshot, trial);
  if (may_pass()) start_on_leftovers(snapshot, trial, plan);
  for (const Shrunk& shrunk : shrunk_) {
    const JobIndex job = shares_[shrunk.share].job;
    shrunk.kept.empty() ? plan.preempt(job) : plan.resize(job, shrunk.kept);
  }
  for (Share& share : shares_) {
    if (share.has > 0 && share.gpus > share.has) grow(snapshot, share, trial, plan);
  }
}

void ElasticPolicy::take_away(const Snapshot& snapshot, Trial& trial) {
  shrunk_.clear();
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    Share& share = shares_[i];
    if (share.gpus >= share.has) continue;
    const Job& job = snapshot.job(share.job);
    Allocation kept = first_of(job.allocation, share.gpus);
    const bool is_worth_it = share.gpus == 0 || worth_resizing(snapshot, share.job, share.gpus);
    if (!is_worth_it || !trial.free().fits_more(job.allocation, kept, job.request)) {  // members would change servers
      share.gpus = share.has;
      continue;
    }
    trial.give(difference(job.allocation, kept), kept.empty() ? Demand(job.request) : Demand());
    shrunk_.push_back({i, std::move(kept)});
  }
}

void ElasticPolicy::start(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  std::vector<Share*> starting;
  for (Share& share : shares_) {
    if (share.has == 0 && share.gpus > 0) starting.push_back(&share);
  }
  if (may_pass())  // those with less choice of servers, and wide jobs, find a place while there is one
    std::stable_sort(starting.begin(), starting.end(), [](const Share* a, const Share* b) {
      return std::pair(a->servers, -a->gpus) < std::pair(b->servers, -b->gpus);
    });
  for (Share* share : starting) {
    if (!start(snapshot, *share, trial, plan) && !may_pass()) return;
  }
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

// Among all that wait. A job that finds no place closes its line.
void ElasticPolicy::start_on_leftovers(const Snapshot& snapshot, Trial& trial, Plan& plan) {
  if (trial.free().total() == 0) return;
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
      Share share{.job = walk.job(), .key = walk.key(), .least = request.gpus_min, .gpus = request.gpus_min};
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
  std::erase_if(shrunk_, [&](const Shrunk& shrunk) {
    const Job& job = snapshot.job(shares_[shrunk.share].job);
    const Allocation taken = difference(job.allocation, shrunk.kept);
    if (!all_free(trial.free(), taken)) return false;
    trial.take(taken, shrunk.kept.empty() ? Demand(job.request) : Demand());
    return true;
  });
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
