#include "policies/elastic/elastic_tiresias.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "policies/preemptive/tiresias.h"
#include "policy/elastic_policy.h"

namespace sl {
namespace {

// What a job gains from its next GPUs, from each of them. The first in order gets them.
struct GainKey {
  double gain = 0;
  std::int64_t queue = 0;
  Instant submitted;
  JobId id;
  friend bool operator<(const GainKey& a, const GainKey& b) {
    return std::tie(b.gain, a.queue, a.submitted, a.id) < std::tie(a.gain, b.queue, b.submitted, b.id);
  }
};

class ElasticTiresias : public ElasticPolicy {
 public:
  ElasticTiresias(const ElasticSettings& settings, const TiresiasSettings& queues, int compaction_threshold)
      : ElasticPolicy(settings), queues_(queues), compaction_threshold_(compaction_threshold) {}

  void attach(const Snapshot& snapshot) override {
    ElasticPolicy::attach(snapshot);
    offers_.clear();
    for (const JobIndex job : snapshot.waiting) enter(snapshot, job);
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    ElasticPolicy::notice(snapshot, kind, job);
    if (kind == NoticeKind::waiting) enter(snapshot, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) offers_.erase(job);
  }

  std::string standing(const View& view, JobIndex job) const override {
    return queues_.standing(view.job(job), view.now);
  }

 protected:
  Rank rank_of(const Snapshot& snapshot, const Job& job) override {
    const bool promoted = std::find(promoted_.begin(), promoted_.end(), job.request.id) != promoted_.end();
    return {.major = promoted ? 0 : queues_.queue(job, snapshot.now),
            .minor = job.first_start.happened() ? job.first_start.us : Rank::last};
  }
  Instant rank_lasts_until(const Snapshot& snapshot, const Job& job) override {
    return queues_.falls_at(job, snapshot.now, job.allocation.count());
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
    for (const JobIndex job : snapshot.waiting) offers_.rekey(job, first_gain(snapshot, job));
  }

  Instant wake_besides(const Snapshot& snapshot) override {
    Instant next = queues_.promotes() ? next_promotion(snapshot) : Instant::never();
    for (const JobIndex index : snapshot.active) {
      if (snapshot.job(index).state == JobState::running)
        next = std::min(next, rank_of_running_lasts_until(snapshot, index));
    }
    return next;
  }

  int gpus_in_order(const Snapshot& snapshot, const Share& share, int left) const override {
    const int asked = std::clamp(snapshot.job(share.job).request.gpus, share.least, share.most);
    return asked <= left ? asked : 0;
  }

  void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) override {
    serve_in_order(snapshot, shares, supply);
    if (without_gpus(shares) > compaction_threshold_) {
      for (Share& share : shares) {
        if (share.gpus == 0 || share.key.rank.major == 0) continue;
        supply.give(share, share.least - share.gpus);
      }
    }
    if (supply.total() > 0) hand_out(snapshot, shares, supply);
  }

 private:
  void enter(const Snapshot& snapshot, JobIndex job) {
    offers_.insert_into(lines_.shape_of(job), job, first_gain(snapshot, job));
  }
  GainKey first_gain(const Snapshot& snapshot, JobIndex index) {
    const Job& job = snapshot.job(index);
    const int least = job.request.gpus_min;
    return {speedup_of(snapshot, index, least) / least, rank_of(snapshot, job).major, job.request.submitted,
            job.request.id};
  }

  std::int64_t without_gpus(const std::vector<Share>& shares) const {
    auto jobs = static_cast<std::int64_t>(lines_.size());
    for (const Share& share : shares) {
      if (share.has == 0 && share.gpus > 0) --jobs;
      if (share.has > 0 && share.gpus == 0) ++jobs;
    }
    return jobs;
  }

  // Step by step where the speed grows most: one more for a job that has some, the whole minimum for one that has none.
  void hand_out(const Snapshot& snapshot, std::vector<Share>& shares, Supply& supply) {
    struct Step {
      GainKey offer;
      std::size_t share;
      bool operator<(const Step& other) const { return other.offer < offer; }
    };
    std::priority_queue<Step> steps;
    const auto offer = [&](std::size_t i) {
      const Share& share = shares[i];
      if (share.gpus >= share.most) return;
      const auto speedup = [&](int on) { return speedup_of(snapshot, share.job, on); };
      const double gain =
          share.gpus == 0 ? speedup(share.least) / share.least : speedup(share.gpus + 1) - speedup(share.gpus);
      if (gain > 0) steps.push({{gain, share.key.rank.major, share.key.submitted, share.key.id}, i});
    };
    std::vector<JobIndex> served;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      offer(i);
      if (shares[i].has == 0) served.push_back(shares[i].job);
    }
    std::ranges::sort(served);
    const std::ptrdiff_t in_order = std::ssize(shares);
    WaitingLines<GainKey>::Walk waiting(offers_);
    while (supply.total() > 0) {
      while (!waiting.done() && std::ranges::binary_search(served, waiting.job())) waiting.next();
      if (!waiting.done() && (steps.empty() || waiting.key() < steps.top().offer)) {
        const Job& job = snapshot.job(waiting.job());
        if (job.request.gpus_min > supply.left(kinds_of_line(waiting.shape()))) {
          waiting.close_line();
          continue;
        }
        Share& share = shares.emplace_back(new_share(snapshot, waiting.job(), key_of(snapshot, job)));
        supply.give(share, share.least);
        offer(shares.size() - 1);
        waiting.next();
      } else {
        if (steps.empty()) break;
        const std::size_t i = steps.top().share;
        steps.pop();
        const int step = shares[i].step();
        if (step > supply.left_for(shares[i])) continue;
        supply.give(shares[i], step);
        offer(i);
      }
    }
    std::ranges::sort(shares.begin() + in_order, shares.end(), {}, &Share::key);
    std::ranges::inplace_merge(shares, shares.begin() + in_order, {}, &Share::key);
  }

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
  std::vector<JobId> promoted_;   // in the plan being made
  WaitingLines<GainKey> offers_;  // of the waiting jobs, in lines as in lines_
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
