// Profiles from published measurements that come with the simulator (policies.md 10, 12).
#pragma once

#include <vector>

#include "wire/profile.h"

namespace sl::trace {

std::vector<wire::TrainingProfile> gavel_profiles();
std::vector<wire::TrainingProfile> pollux_profiles();

}  // namespace sl::trace
