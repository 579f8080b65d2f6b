#include "policies/preemptive/srsf.h"

#include "policy/estimate_policy.h"

namespace sl {
namespace {

class Srsf : public EstimatePolicy {
 public:
  using EstimatePolicy::EstimatePolicy;

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    constexpr std::int64_t most = std::int64_t{1} << 61;
    const std::int64_t left = run_times_.remaining(snapshot, job, job.request.gpus).us;
    return {.minor = left > most / job.request.gpus ? most : left * job.request.gpus};
  }
};

}  // namespace

PolicyEntry srsf_entry() {
  PolicyInfo info;
  info.name = "srsf";
  info.title = "Shortest Remaining Service First";
  info.summary = "The jobs with the least GPU time left (time x GPUs) run, others are preempted for them.";
  info.good_for = "a low mean completion time when jobs differ in width";
  info.weak_for = "long and wide jobs; bad estimates";
  return shortest_remaining_entry<Srsf>(std::move(info), /*ages_evenly=*/false);  // wide jobs lose service faster
}

}  // namespace sl
