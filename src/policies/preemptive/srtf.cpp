#include "policies/preemptive/srtf.h"

#include "policy/estimate_policy.h"

namespace sl {
namespace {

class Srtf : public EstimatePolicy {
 public:
  using EstimatePolicy::EstimatePolicy;

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    return {.minor = run_times_.remaining(snapshot, job, job.request.gpus).us};
  }
};

}  // namespace

PolicyEntry srtf_entry() {
  PolicyInfo info;
  info.name = "srtf";
  info.title = "Shortest Remaining Time First";
  info.summary = "The jobs with the least time left run, others are preempted for them.";
  info.good_for = "the lowest mean completion time where estimates are good";
  info.weak_for = "long jobs; jobs that are costly to interrupt; bad estimates";
  return shortest_remaining_entry<Srtf>(std::move(info), /*ages_evenly=*/true);
}

}  // namespace sl
