#include "policies/queue/sgf.h"

#include "policy/preemptive_policy.h"

namespace sl {
namespace {

class Sgf : public PreemptivePolicy {
 public:
  using PreemptivePolicy::PreemptivePolicy;

 protected:
  Rank waiting_rank(const Snapshot&, const Job& job) override { return {.minor = job.request.gpus}; }
  Rank running_rank(const Snapshot& snapshot, const Job& job) override { return waiting_rank(snapshot, job); }
};

}  // namespace

PolicyEntry sgf_entry() {
  PolicyInfo info;
  info.name = "sgf";
  info.title = "Smallest GPU Count First";
  info.summary = "The waiting job that asks for the fewest GPUs goes first; running jobs are left alone.";
  info.good_for = "many small jobs, without knowing how long they run";
  info.weak_for = "wide jobs, which may wait for ever";
  info.needs = {nothing_needed()};
  info.work_conserving = true;
  info.parameters = {PreemptivePolicy::head_parameter()};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Sgf>(PreemptivePolicy::queue_settings(given));
          }};
}

}  // namespace sl
