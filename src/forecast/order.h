// In which order a policy would serve those that wait if some had other priorities.
#pragma once

#include <memory>
#include <vector>

#include "forecast/present.h"
#include "policy/policy.h"

namespace sl::forecast {

// The edits change priorities only.
std::vector<JobId> order_after(const Present& present, std::unique_ptr<Policy> policy,
                               const std::vector<JobEdited>& edits);

}  // namespace sl::forecast
