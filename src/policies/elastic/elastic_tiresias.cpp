#include "policies/elastic/elastic_tiresias.h"

#include <algorithm>

#include "policies/preemptive/tiresias.h"
#include "policy/elastic_policy.h"

namespace sl {
namespace {

class ElasticTiresias : public ElasticPolicy {
 public:
  ElasticTiresias(const ElasticSettings& settings, const TiresiasSettings& queues, int compaction_threshold)
      : ElasticPolicy(settings), queues_(queues), compaction_threshold_(compaction_threshold) {}

  std::string standing(const View& view, JobIndex job) const override {
    return queues_.standing(view.job(job), view.now);
  }

 protected:
  Rank rank_of(const Snapshot& snapshot, const Job& job) override {
    const bool promoted = std::find(promoted_.begin(), promoted_.end(), job.request.id) != promoted_.end();
    return {.major = promoted ? 0 : queues_.queue(job, snapshot.now),
            .minor = job.first_start.happened() ? job.first_start.us : Rank::last};
  }
  // A job that waits attains no service.
  bool ranks_change(const Snapshot&) const override { return queues_.promotes(); }

  void prepare(const Snapshot& snapshot, Plan& plan) override {
    promoted_.clear();
    if (!queues_.promotes()) return;
    for (const JobIndex job : snapshot.waiting) {
      if (queues_.promotion_at(snapshot.job(job), snapshot.now) > snapshot.now) continue;
      plan.promote(job);
      promoted_.push_back(snapshot.job(job).request.id);
    }
  }

  Instant wake_besides(const Snapshot& snapshot) override {
    Instant next = queues_.promotes() ? next_promotion(snapshot) : Instant::never();
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      if (job.state == JobState::running)
        next = std::min(next, queues_.falls_at(job, snapshot.now, job.allocation.count()));
    }
    return next;
  }

  void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) override {
    int pending = 0;
    for (Share& share : shares) {
      const int asked = std::clamp(snapshot.job(share.job).request.gpus, share.least, share.most);
      share.gpus = asked <= gpus ? asked : 0;
      gpus -= share.gpus;
      pending += share.gpus == 0 ? 1 : 0;
    }
    if (pending > compaction_threshold_) {
      for (Share& share : shares) {
        if (share.gpus == 0 || share.key.rank.major == 0) continue;
        gpus += share.gpus - share.least;
        share.gpus = share.least;
      }
    }
    hand_out_by_gain(snapshot, shares, gpus);
  }

 private:
  Instant next_promotion(const Snapshot& snapshot) const {
    Instant next = Instant::never();
    for (const JobIndex job : snapshot.waiting) {
      const Instant at = queues_.promotion_at(snapshot.job(job), snapshot.now);
      if (at > snapshot.now) next = std::min(next, at);
    }
    return next;
  }

  TiresiasQueues queues_;
  int compaction_threshold_;
  std::vector<JobId> promoted_;  // in the plan being made
};

}  // namespace

PolicyEntry elastic_tiresias_entry() {
  PolicyInfo info;
  info.name = "elastic_tiresias";
  info.title = "Elastic Tiresias";
  info.summary = "Serves jobs in tiresias's order and gives the remaining GPUs to the jobs that gain most from them.";
  info.good_for = "a low mean completion time without run time estimates, with jobs that can change size";
  info.weak_for = "jobs that are costly to restart";
  info.needs = {speedup_or_linear(), resizable_or_rigid()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = TiresiasQueues::parameters();
  for (ParameterInfo& parameter : ElasticPolicy::parameters()) info.parameters.push_back(std::move(parameter));
  info.parameters.push_back({"compaction_threshold",
                             ParameterType::integer,
                             "jobs",
                             "10",
                             0,
                             1e9,
                             {},
                             "with more jobs than this left without GPUs, jobs beyond the first queue shrink"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<ElasticTiresias>(ElasticPolicy::settings(given), TiresiasQueues::settings(given),
                                                     given.integer("compaction_threshold"));
          }};
}

}  // namespace sl
