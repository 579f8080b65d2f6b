#include "policies/queue/priority.h"

#include "policy/preemptive_policy.h"

namespace sl {
namespace {

class Priority : public PreemptivePolicy {
 public:
  using PreemptivePolicy::PreemptivePolicy;

 protected:
  // The last of its class: it never displaces running jobs of the same class.
  Rank waiting_rank(const Snapshot&, const Job& job) override {
    return {.major = -std::int64_t{job.request.priority}, .minor = Rank::last};
  }
  Rank running_rank(const Snapshot&, const Job& job) override {
    return {.major = -std::int64_t{job.request.priority}, .minor = job.last_start.us};
  }
};

}  // namespace

PolicyEntry priority_entry() {
  PolicyInfo info;
  info.name = "priority";
  info.title = "Priority with Preemption";
  info.summary = "Jobs of higher priority go first and take the place of running jobs of lower priority.";
  info.good_for = "urgent work alongside background work";
  info.weak_for = "low priorities, which may wait for ever";
  info.needs = {{Fact::priority, "they count as priority 0, in order of submission"}, checkpoint_or_left_alone()};
  info.preemptive = true;
  info.work_conserving = true;
  info.parameters = PreemptivePolicy::parameters(false);
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Priority>(PreemptivePolicy::settings(given));
          }};
}

}  // namespace sl
