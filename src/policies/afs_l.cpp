#include "policies/afs_l.h"

#include <algorithm>
#include <limits>

namespace sl {
namespace {

double at(const AfsJob& job, int gpus) { return job.speedup[static_cast<std::size_t>(gpus)]; }

double length(const AfsJob& job) {
  return job.gpus == 0 ? std::numeric_limits<double>::infinity() : job.work_s / at(job, job.gpus);
}

// Whether `challenger` takes the GPU from `champion`, who comes before it.
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

}  // namespace

void divide_by_tournament(std::vector<AfsJob>& jobs, int gpus) {
  // Jobs without GPUs by work left, the least at the end; the first of equals is the last.
  std::vector<std::size_t> without;
  for (std::size_t i = jobs.size(); i-- > 0;) without.push_back(i);
  std::stable_sort(without.begin(), without.end(),
                   [&](std::size_t a, std::size_t b) { return jobs[a].work_s > jobs[b].work_s; });
  std::vector<std::size_t> with;  // in order
  while (gpus > 0) {
    while (!without.empty() && jobs[without.back()].least > gpus) without.pop_back();
    const std::size_t newcomer = without.empty() ? jobs.size() : without.back();
    std::erase_if(with, [&](std::size_t i) { return jobs[i].gpus >= jobs[i].most(); });
    std::size_t champion = jobs.size();
    const auto meet = [&](std::size_t challenger) {
      if (champion == jobs.size() || wins(jobs[challenger], jobs[champion])) champion = challenger;
    };
    bool met_newcomer = newcomer == jobs.size();
    for (const std::size_t i : with) {
      if (!met_newcomer && newcomer < i) {
        meet(newcomer);
        met_newcomer = true;
      }
      meet(i);
    }
    if (!met_newcomer) meet(newcomer);
    if (champion == jobs.size()) return;
    if (champion == newcomer) {
      without.pop_back();
      with.insert(std::upper_bound(with.begin(), with.end(), champion), champion);
    }
    const int step = jobs[champion].step();
    jobs[champion].gpus += step;
    gpus -= step;
  }
}

namespace {

class AfsL : public ElasticPolicy {
 public:
  using ElasticPolicy::ElasticPolicy;

 protected:
  Rank rank_of(const Snapshot&, const Job&) override { return {}; }
  void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) override {
    std::vector<AfsJob> jobs(shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const Share& share = shares[i];
      jobs[i].work_s = run_times_.remaining_serial(snapshot, snapshot.job(share.job)).to_seconds();
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
  info.weak_for = "bad estimates of run time or speed-up";
  info.needs = {run_time_or_history(), speedup_or_linear(), resizable_or_rigid()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<AfsL>(ElasticPolicy::settings(given));
          }};
}

}  // namespace sl
