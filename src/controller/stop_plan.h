// What happens to the jobs of servers that are about to end (stopping.h).
#pragma once

#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "wire/agent_protocol.h"

namespace sl::controller {

struct StopPlan {
  std::vector<JobId> requeued, cancelled;
  Duration grace;                         // how long the most patient of them may take before it is killed
  std::vector<wire::StopAttempt> orders;  // which agents get once the plan is durable
};

}  // namespace sl::controller
