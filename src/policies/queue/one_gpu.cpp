#include "policies/queue/one_gpu.h"

#include "policy/placer.h"
#include "policy/queue_policy.h"

namespace sl {
namespace {

class OneGpu : public ArrivalPolicy {
 public:
  void decide(const Snapshot& snapshot, Plan& plan) override {
    Trial trial(snapshot.free);
    for (Walk walk(lines_); !walk.done(); walk.next()) {
      const Job& job = snapshot.job(walk.job());
      auto gpus = place(trial.free(), snapshot.servers, job, gpus_of(job));
      if (!gpus) return;
      trial.take(*gpus, job.request);
      plan.start(walk.job(), std::move(*gpus));
    }
  }

 protected:
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }
};

}  // namespace

PolicyEntry one_gpu_entry() {
  PolicyInfo info;
  info.name = "one_gpu";
  info.title = "One GPU Each";
  info.summary = "First come, first served, every job on as few GPUs as it accepts.";
  info.good_for = "a baseline; many small jobs";
  info.weak_for = "few long jobs: GPUs idle while they crawl";
  info.needs = {{Fact::choice_of_gpus, "they start on the number they ask for"}};
  return {std::move(info), [](const Parameters&) -> std::unique_ptr<Policy> { return std::make_unique<OneGpu>(); }};
}

}  // namespace sl
