#include "policies/queue/srjf.h"

#include "policy/estimate_policy.h"

namespace sl {
namespace {

class Srjf : public EstimatePolicy {
 public:
  using EstimatePolicy::EstimatePolicy;

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    return {.minor = run_times_.remaining(snapshot, job, 1).us};
  }
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }
};

}  // namespace

PolicyEntry srjf_entry() {
  PolicyInfo info;
  info.name = "srjf";
  info.title = "Shortest Remaining Job First";
  info.summary = "The jobs with the least work left run, each on its minimum of GPUs; others are preempted for them.";
  info.good_for = "a low mean completion time with as many jobs running as possible";
  info.weak_for = "jobs that gain much from more GPUs; long jobs";
  return shortest_remaining_entry<Srjf>(std::move(info),
                                        /*ages_evenly=*/false);  // jobs on several GPUs lose work faster
}

}  // namespace sl
