#include "policies/elastic/afs_l.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

namespace sl {
namespace {

constexpr std::size_t nobody = SIZE_MAX;

// A job with GPUs that may get more, and the shortest job without any between it and the previous such job: against a
// job with GPUs all of those do equally well, so the shortest stands for them. The last place has no job.
struct Place {
  std::size_t job;
  std::size_t newcomer = 0;  // in shortest_first_
};

class Tournament {
 public:
  Tournament(std::vector<Share>& jobs, const std::vector<std::size_t>& shortest_first, Supply& supply,
             const AfsSpeedup& speedup)
      : jobs_(jobs),
        shortest_first_(shortest_first),
        speedup_(speedup),
        known_(jobs.size()),
        places_({{jobs.size()}}),
        supply_(supply) {}

  void run() {
    while (supply_.total() > 0) {
      const auto [job, place] = winner();
      if (job == nobody) return;
      Share& best = jobs_[job];
      const bool is_new = best.gpus == 0;
      supply_.give(best, best.step());
      const bool has_all = best.gpus >= best.most;
      if (is_new && !has_all) enter(job, place);
      if (!is_new && has_all) leave(place);
    }
  }

 private:
  using Position = std::ptrdiff_t;  // in places_
  struct Winner {
    std::size_t job = nobody;
    Position place = 0;
  };

  Winner winner() {
    Winner champion;
    const auto meet = [&](std::size_t challenger, Position place) {
      if (champion.job == nobody || wins(challenger, champion.job)) champion = {challenger, place};
    };
    if (!supply_.is_of_one_kind()) leave_where_nothing_is_left();
    for (Position place = 0; place < std::ssize(places_); ++place) {
      look_on(place);
      if (at(place).newcomer < jobs_.size()) meet(shortest_first_[at(place).newcomer], place);
      if (at(place).job < jobs_.size()) meet(at(place).job, place);
    }
    return champion;
  }

  // Whether `challenger` takes the GPU from `champion`, who comes first in the order.
  bool wins(std::size_t challenger, std::size_t champion) {
    if (jobs_[champion].gpus == 0 && jobs_[challenger].gpus == 0) return work_s(challenger) < work_s(champion);
    const bool challenger_is_shorter = length(challenger) < length(champion);
    const std::size_t shorter = challenger_is_shorter ? challenger : champion;
    const std::size_t longer = challenger_is_shorter ? champion : challenger;
    const double longer_gain = (speed(longer, 1) - speed(longer, 0)) / speed(longer, 1);
    const double shorter_gain = (speed(shorter, 1) - speed(shorter, 0)) / speed(shorter, 0);
    return (longer_gain > shorter_gain) != challenger_is_shorter;
  }
  double work_s(std::size_t job) const { return Duration(jobs_[job].key.rank.minor).to_seconds(); }
  double length(std::size_t job) {
    return jobs_[job].gpus == 0 ? std::numeric_limits<double>::infinity() : work_s(job) / speed(job, 0);
  }
  // With the GPUs that the job has, or so many steps more.
  double speed(std::size_t job, int steps) {
    const Share& of = jobs_[job];
    std::vector<double>& known = known_[job];
    if (known.empty()) {
      known.resize(static_cast<std::size_t>(of.most) + 1);
      for (int g = of.least; g <= of.most; ++g) known[static_cast<std::size_t>(g)] = speedup_(job, g);
    }
    return known[static_cast<std::size_t>(of.gpus + steps * of.step())];
  }

  void enter(std::size_t job, Position place) { places_.insert(places_.begin() + place, {job, at(place).newcomer}); }
  void leave(Position place) {
    at(place + 1).newcomer = std::min(at(place).newcomer, at(place + 1).newcomer);
    places_.erase(places_.begin() + place);
  }

  void leave_where_nothing_is_left() {
    for (Position place = std::ssize(places_) - 2; place >= 0; --place) {
      if (supply_.left_for(jobs_[at(place).job]) == 0) leave(place);
    }
  }

  // Moves to the shortest job of the place that may take part. One that may not never can again: fewer GPUs are left
  // than its minimum.
  void look_on(Position place) {
    const std::size_t from = place == 0 ? 0 : at(place - 1).job + 1, to = at(place).job;
    const auto takes_part = [&](std::size_t job) {
      return job >= from && job < to && jobs_[job].gpus == 0 && jobs_[job].least <= supply_.left_for(jobs_[job]);
    };
    std::size_t& newcomer = at(place).newcomer;
    while (newcomer < jobs_.size() && !takes_part(shortest_first_[newcomer])) ++newcomer;
  }
  Place& at(Position place) { return places_[static_cast<std::size_t>(place)]; }

  std::vector<Share>& jobs_;
  const std::vector<std::size_t>& shortest_first_;
  const AfsSpeedup& speedup_;
  std::vector<std::vector<double>> known_;  // by job and GPUs; empty: not asked yet
  std::vector<Place> places_;               // in order
  Supply& supply_;
};

}  // namespace

void divide_by_tournament(std::vector<Share>& jobs, const std::vector<std::size_t>& shortest_first, Supply& supply,
                          const AfsSpeedup& speedup) {
  if (!jobs.empty()) Tournament(jobs, shortest_first, supply, speedup).run();
}

namespace {

class AfsL : public ElasticPolicy {
 public:
  using ElasticPolicy::ElasticPolicy;

 protected:
  // What is left on one GPU; so the jobs of each shape that may win are the first of its line.
  Rank rank_of(const Snapshot& snapshot, const Job& job) override {
    return {.minor = run_times_.remaining(snapshot, job, 1).us};
  }
  // If no job may get more than its minimum, each GPU goes to the shortest that has none.
  bool serves_in_order(const std::vector<Share>& shares) const override {
    return std::ranges::all_of(shares, [](const Share& share) { return share.most <= share.least; });
  }
  void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) override {
    if (serves_in_order(shares)) return serve_in_order(snapshot, shares, supply);
    const std::vector<std::size_t> shortest_first = order_by_submission(shares);
    divide_by_tournament(shares, shortest_first, supply,
                         [&](std::size_t n, int g) { return speedup_of(snapshot, shares[n].job, g); });
  }

 private:
  // Returns where each went.
  static std::vector<std::size_t> order_by_submission(std::vector<Share>& shares) {
    std::vector<std::size_t> from(shares.size()), to(shares.size());
    std::iota(from.begin(), from.end(), std::size_t{0});
    std::ranges::sort(from, {}, [&](std::size_t i) { return std::tie(shares[i].key.submitted, shares[i].key.id); });
    std::vector<Share> ordered;
    ordered.reserve(shares.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      ordered.push_back(shares[from[i]]);
      to[from[i]] = i;
    }
    shares = std::move(ordered);
    return to;
  }
};

}  // namespace

PolicyEntry afs_l_entry() {
  PolicyInfo info;
  info.name = "afs_l";
  info.title = "AFS-L";
  info.summary =
      "Gives each GPU to the job where it helps the mean completion time most, short jobs against efficient ones.";
  info.good_for = "a low mean completion time with jobs that scale differently";
  info.weak_for = "bad estimates of run time or speedup";
  info.needs = {run_time_or_history(), speedup_or_linear(), resizable_or_rigid()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<AfsL>(ElasticPolicy::settings(given));
          }};
}

}  // namespace sl
