#include "policies/queue/priority.h"

#include "base/text.h"
#include "policy/preemptive_policy.h"

namespace sl {
namespace {

class Priority : public PreemptivePolicy {
 public:
  explicit Priority(const PreemptionSettings& settings)
      : PreemptivePolicy(settings), quantum_s_(settings.min_quantum.to_seconds()) {}

  std::string standing(const View& view, JobIndex index) const override {
    const Job& job = view.job(index);
    const std::string after = quantum_s_ > 0 ? " after running for " + duration_text(quantum_s_) : "";
    const std::string priority = "priority " + std::to_string(job.request.priority);
    if (job.is_waiting())
      return priority + "; lower ones make room for it if they have a checkpoint folder" +
             (after.empty() ? "" : "," + after);
    const bool may_stop = job.request.preemptible && job.request.capability == Capability::checkpoint;
    return priority + (may_stop                  ? "; makes room for higher ones" + after
                       : job.request.preemptible ? "; keeps its GPUs: without a checkpoint folder it is never preempted"
                                                 : "; keeps its GPUs: it is not to be preempted");
  }

 protected:
  // The last of its class: it never displaces running jobs of the same class.
  Rank waiting_rank(const Snapshot&, const Job& job) override {
    return {.major = -std::int64_t{job.request.priority}, .minor = Rank::last};
  }
  // Within a class those go first whose interruption costs the least work, then those that started last.
  Rank running_rank(const Snapshot&, const Job& job) override {
    return {
        .major = -std::int64_t{job.request.priority}, .middle = -interruption_loss_us(job), .minor = job.last_start.us};
  }

 private:
  double quantum_s_;
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
