#include "policies/queue/fifo_easy.h"

#include "policy/easy_policy.h"
#include "policy/placer.h"

namespace sl {
namespace {

class FifoEasy : public EasyPolicy {
 public:
  using EasyPolicy::EasyPolicy;

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (lines_.empty() || snapshot.free.total() == 0) return;
    Trial trial(snapshot.free);
    serve(snapshot, trial, plan);
    for (Starting& job : starting()) plan.start(job.job, std::move(job.gpus));
  }

 protected:
  std::optional<Allocation> find(const Snapshot& snapshot, const FreeGpus& free, const Job& job) const override {
    return place(free, snapshot.servers, job, job.request.gpus);
  }
};

}  // namespace

PolicyEntry fifo_easy_entry() {
  PolicyInfo info;
  info.name = "fifo_easy";
  info.title = "EASY Backfill";
  info.summary =
      "First come, first served, but later jobs may fill GPUs that are idle until the first one in line can start, as "
      "long as they do not delay it.";
  info.good_for = "busy GPUs without starving wide jobs";
  info.weak_for = "unknown run times: the default of a day lets hardly any job pass";
  info.needs = {run_time_or_default()};
  info.aliases = {"easy", "backfill"};
  info.parameters = EasySettings::parameters();
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<FifoEasy>(EasySettings::of(given));
          }};
}

}  // namespace sl
