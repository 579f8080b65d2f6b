#include "policies/elastic/afs_l.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

namespace sl {
namespace {

double at(const AfsJob& job, int gpus) { return job.speedup[static_cast<std::size_t>(gpus)]; }

double length(const AfsJob& job) {
  return job.gpus == 0 ? std::numeric_limits<double>::infinity() : job.work_s / at(job, job.gpus);
}

// Whether `challenger` takes the GPU from `champion`, who comes first in the order.
bool wins(const AfsJob& challenger, const AfsJob& champion) {
  if (champion.gpus == 0 && challenger.gpus == 0) return challenger.work_s < champion.work_s;
  const bool challenger_is_shorter = length(challenger) < length(champion);
  const AfsJob& shorter = challenger_is_shorter ? challenger : champion;
  const AfsJob& longer = challenger_is_shorter ? champion : challenger;
  const double longer_then = at(longer, longer.gpus + longer.step());
  const double longer_gain = (longer_then - at(longer, longer.gpus)) / longer_then;
  const double shorter_now = at(shorter, shorter.gpus);
  const double shorter_gain = (at(shorter, shorter.gpus + shorter.step()) - shorter_now) / shorter_now;
  return (longer_gain > shorter_gain) != challenger_is_shorter;
}

constexpr std::size_t nobody = SIZE_MAX;

// A job with GPUs that may get more, and the shortest job without any between it and the previous such job: against a
// job with GPUs all of those do equally well, so the shortest stands for them. The last place has no job.
struct Place {
  std::size_t job;
  std::size_t newcomer = 0;  // in shortest_first_
};

class Tournament {
 public:
  Tournament(std::vector<AfsJob>& jobs, int gpus)
      : jobs_(jobs), shortest_first_(jobs.size()), places_({{jobs.size()}}), gpus_(gpus) {
    std::iota(shortest_first_.begin(), shortest_first_.end(), std::size_t{0});
    std::ranges::stable_sort(shortest_first_, {}, [&](std::size_t i) { return jobs[i].work_s; });
  }

  void run() {
    while (gpus_ > 0) {
      const auto [job, place] = winner();
      if (job == nobody) return;
      AfsJob& best = jobs_[job];
      const bool is_new = best.gpus == 0;
      gpus_ -= best.step();
      best.gpus += best.step();
      const bool has_all = best.gpus >= best.most();
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
      if (champion.job == nobody || wins(jobs_[challenger], jobs_[champion.job])) champion = {challenger, place};
    };
    for (Position place = 0; place < std::ssize(places_); ++place) {
      look_on(place);
      if (at(place).newcomer < jobs_.size()) meet(shortest_first_[at(place).newcomer], place);
      if (at(place).job < jobs_.size()) meet(at(place).job, place);
    }
    return champion;
  }

  void enter(std::size_t job, Position place) { places_.insert(places_.begin() + place, {job, at(place).newcomer}); }
  void leave(Position place) {
    at(place + 1).newcomer = std::min(at(place).newcomer, at(place + 1).newcomer);
    places_.erase(places_.begin() + place);
  }

  // Moves to the shortest job of the place that may take part. One that may not never can again: fewer GPUs are left
  // than its minimum.
  void look_on(Position place) {
    const std::size_t from = place == 0 ? 0 : at(place - 1).job + 1, to = at(place).job;
    const auto takes_part = [&](std::size_t job) {
      return job >= from && job < to && jobs_[job].gpus == 0 && jobs_[job].least <= gpus_;
    };
    std::size_t& newcomer = at(place).newcomer;
    while (newcomer < jobs_.size() && !takes_part(shortest_first_[newcomer])) ++newcomer;
  }
  Place& at(Position place) { return places_[static_cast<std::size_t>(place)]; }

  std::vector<AfsJob>& jobs_;
  std::vector<std::size_t> shortest_first_;
  std::vector<Place> places_;  // in order
  int gpus_;
};

}  // namespace

void divide_by_tournament(std::vector<AfsJob>& jobs, int gpus) {
  if (!jobs.empty()) Tournament(jobs, gpus).run();
}

namespace {

class AfsL : public ElasticPolicy {
 public:
  using ElasticPolicy::ElasticPolicy;

 protected:
  // So the jobs of each shape that may win are the first of its line.
  Rank rank_of(const Snapshot& snapshot, const Job& job) override {
    return {.minor = run_times_.remaining(snapshot, job, 1).us};
  }
  // If no job may get more than its minimum, each GPU goes to the shortest that has none.
  bool serves_in_order(const std::vector<Share>& shares) const override {
    return std::ranges::all_of(shares, [](const Share& share) { return share.most <= share.least; });
  }
  void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) override {
    if (serves_in_order(shares)) return void(serve_in_order(snapshot, shares, gpus));
    std::ranges::sort(shares, {}, [](const Share& share) { return std::tie(share.key.submitted, share.key.id); });
    std::vector<AfsJob> jobs(shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const Share& share = shares[i];
      jobs[i].work_s = run_times_.remaining(snapshot, snapshot.job(share.job), 1).to_seconds();
      jobs[i].least = share.least;
      for (int g = 0; g <= share.most; ++g) jobs[i].speedup.push_back(g == 0 ? 0 : speedup_of(snapshot, share.job, g));
    }
    divide_by_tournament(jobs, gpus);
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i].gpus = jobs[i].gpus;
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
