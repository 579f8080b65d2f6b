#include "policies/queue/sjf.h"

#include "policy/estimate_policy.h"

namespace sl {
namespace {

class Sjf : public EstimatePolicy {
 public:
  using EstimatePolicy::EstimatePolicy;

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    return {.minor = run_times_.total(snapshot, job, job.request.gpus).us};
  }
};

}  // namespace

PolicyEntry sjf_entry() {
  PolicyInfo info;
  info.name = "sjf";
  info.title = "Shortest Job First";
  info.summary = "The waiting job with the shortest estimated run time goes first; running jobs are left alone.";
  info.good_for = "a low mean completion time where estimates are good and jobs cannot be interrupted";
  info.weak_for = "long jobs, which may wait for ever; bad estimates";
  info.needs = {run_time_or_history()};
  info.work_conserving = true;
  info.parameters = {PreemptivePolicy::head_parameter(), EstimatePolicy::default_estimate_parameter()};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Sjf>(PreemptivePolicy::queue_settings(given),
                                         EstimatePolicy::default_estimate(given));
          }};
}

}  // namespace sl
