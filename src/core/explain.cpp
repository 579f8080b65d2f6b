// Why a job waits, worked out from the ledger when the policy has not said it.
#include <algorithm>

#include "core/core.h"
#include "policy/placer.h"

namespace sl {

Reason Core::explain(JobIndex index, Instant now) const {
  const Job& job = jobs_[index];
  if (job.state == JobState::held) return {ReasonCode::held};
  if (!job.is_waiting()) return {};
  if (job.reason.code != ReasonCode::none) return job.reason;
  if (policy_) {
    const_cast<Core&>(*this).now_ = now;  // as far as the policy sees
    if (const Reason reason = policy_->explain(snapshot_, index); reason.code != ReasonCode::none) return reason;
  }
  return explain_by_ledger(index);
}

Reason Core::explain_by_ledger(JobIndex index) const {
  const JobRequest& request = jobs_[index].request;
  const int count = request.gpus_min;
  bool any_up = false, any_eligible = false, draining = false, outside = false;
  int most = 0, total = 0;
  for (std::size_t i = 0; i < servers().size(); ++i) {
    const ServerIndex at(static_cast<std::uint32_t>(i));
    const Server& server = servers()[at];
    draining = draining || server.state == ServerState::draining;
    if (server.state != ServerState::up) continue;
    any_up = true;
    if (!is_eligible(server, request)) continue;
    any_eligible = true;
    outside = outside || !server.outside.empty();
    most = std::max(most, ledger_.free().count(at));
    total += ledger_.free().count(at);
  }
  if (!any_up) return {draining ? ReasonCode::draining : ReasonCode::server_down};
  if (!any_eligible) return {request.gpu_types.empty() ? ReasonCode::gpu_memory : ReasonCode::gpu_type};
  if (place(ledger_.free(), servers(), request, count)) return {ReasonCode::behind_others};
  if (most >= count) return {ReasonCode::cpu_or_memory};
  if (total >= count && request.single_server) return {ReasonCode::fragmented};
  return {outside && total == 0 ? ReasonCode::used_outside : ReasonCode::no_free_gpus};
}

}  // namespace sl
