#include "policies/queue/random_gpu.h"

#include <algorithm>
#include <sstream>

#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/satisfiable.h"

namespace sl {
namespace {

constexpr const char* seed_version = "random_gpu-1";

class RandomGpu : public ArrivalPolicy {
 public:
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (lines_.empty()) return;
    const std::uint64_t seed = recall(snapshot, plan);
    Trial trial(snapshot.free);
    for (Walk walk(lines_); !walk.done(); walk.next()) {
      const JobRequest& request = snapshot.job(walk.job()).request;
      auto gpus = place(trial.free(), snapshot.servers, snapshot.job(walk.job()), draw(snapshot, request, seed));
      if (!gpus) return;
      trial.take(*gpus, request);
      plan.start(walk.job(), std::move(*gpus));
    }
  }

 protected:
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }

 private:
  static std::uint64_t recall(const Snapshot& snapshot, Plan& plan) {
    std::istringstream words(snapshot.memory.blob);
    std::string name;
    std::uint64_t seed = 0;
    if (words >> name >> seed && name == seed_version) return seed;
    seed = snapshot.random();
    plan.remember(std::string(seed_version) + ' ' + std::to_string(seed));
    return seed;
  }

  static int draw(const Snapshot& snapshot, const JobRequest& request, std::uint64_t seed) {
    int most = request.gpus_max;
    if (request.single_server()) most = std::clamp(snapshot.free.gpus_per_server_max(), request.gpus_min, most);
    while (most > request.gpus_min && !could_run_now(snapshot.servers, request, most).possible()) --most;
    const auto drawn = Random(seed ^ static_cast<std::uint64_t>(request.id.value)).integer(request.gpus_min, most);
    return allowed_gpus(request, static_cast<int>(drawn));
  }
};

}  // namespace

PolicyEntry random_gpu_entry() {
  PolicyInfo info;
  info.name = "random_gpu";
  info.title = "Random Number of GPUs";
  info.summary = "First come, first served, every job on a random number of GPUs within what it accepts.";
  info.good_for = "a baseline";
  info.weak_for = "everything else";
  info.needs = {{Fact::choice_of_gpus, "they start on the number they ask for"}};
  return {std::move(info), [](const Parameters&) -> std::unique_ptr<Policy> { return std::make_unique<RandomGpu>(); }};
}

}  // namespace sl
