#include "policies/fifo_strict.h"

#include "policy/placer.h"
#include "policy/queue_policy.h"

namespace sl {
namespace {

class FifoStrict : public ArrivalPolicy {
 public:
  void decide(const Snapshot& snapshot, Plan& plan) override {
    Trial trial(snapshot.free);
    for (Walk walk(lines_); !walk.done(); walk.next()) {
      const JobRequest& request = snapshot.job(walk.job()).request;
      auto gpus = place(trial.free(), snapshot.servers, request, request.gpus);
      if (!gpus) return;
      trial.take(*gpus, request.demand);
      plan.start(walk.job(), std::move(*gpus));
    }
  }
};

}  // namespace

PolicyEntry fifo_strict_entry() {
  PolicyInfo info;
  info.name = "fifo_strict";
  info.title = "Strict FIFO";
  info.summary =
      "First come, first served, whole GPUs only: the first job that does not fit holds everybody behind it.";
  info.good_for = "a baseline; fairness everybody understands";
  info.weak_for = "a wide job at the head leaves GPUs idle behind it";
  info.needs = {nothing_needed()};
  return {std::move(info), [](const Parameters&) -> std::unique_ptr<Policy> { return std::make_unique<FifoStrict>(); }};
}

}  // namespace sl
