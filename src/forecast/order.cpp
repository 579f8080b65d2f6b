#include "forecast/order.h"

namespace sl::forecast {

std::vector<JobId> order_after(const Present& present, std::unique_ptr<Policy> policy,
                               const std::vector<JobEdited>& edits) {
  const RequestEstimates estimates;
  Core core(estimates, present.settings);
  Effects effects;
  restore(present, core, effects);
  core.set_policy(std::move(policy), present.now, effects);
  for (JobEdited edit : edits) core.apply(std::move(edit), present.now, effects);
  std::vector<JobId> order;
  for (const JobIndex job : core.queue_order(present.now)) order.push_back(core.job(job).request.id);
  return order;
}

}  // namespace sl::forecast
