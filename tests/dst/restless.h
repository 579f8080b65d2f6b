// A policy that moves what runs: first come, first served, and every few seconds each running job may be resized or moved
// to GPUs that are free or about to be, on any server. What it wants may be impossible. In peace it moves nothing, so that
// every job ends.
#pragma once

#include "policy/placer.h"
#include "policy/policy.h"

namespace sl::dst {

class Restless : public Policy {
 public:
  explicit Restless(const bool& calm) : calm_(calm) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  int gpus_least(const Job& job) const override { return job.request.gpus_min; }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    Random& random = snapshot.random;
    for (const JobIndex job : snapshot.active) {
      if (calm_ || random.chance(0.6)) continue;
      if (random.chance(0.2)) {
        plan.suspend(job);
        continue;
      }
      const JobRequest& request = snapshot.job(job).request;
      const auto gpus = static_cast<int>(random.integer(request.gpus_min, request.gpus_max));
      const auto server = ServerIndex(
          static_cast<std::uint32_t>(random.integer(0, static_cast<std::int64_t>(snapshot.servers.size()) - 1)));
      const GpuSet somewhere = GpuSet::first(gpus + 1) - GpuSet::only(static_cast<int>(random.integer(0, gpus)));
      const bool resizes = gpus != snapshot.job(job).allocation.count();
      resizes ? plan.resize(job, Allocation(server, somewhere)) : plan.migrate(job, Allocation(server, somewhere));
    }
    Trial trial(snapshot.free);
    for (const JobIndex job : snapshot.waiting) {
      const JobRequest& request = snapshot.job(job).request;
      const auto gpus = static_cast<int>(random.integer(request.gpus_min, request.gpus_max));
      auto place_for_it = place(trial.free(), snapshot.servers, snapshot.job(job), gpus);
      if (!place_for_it) continue;
      trial.take(*place_for_it, request);
      plan.start(job, std::move(*place_for_it));
    }
    plan.wake_at(snapshot.now + Duration::whole_seconds(random.integer(2, 20)));
  }

 private:
  const bool& calm_;
};

}  // namespace sl::dst
