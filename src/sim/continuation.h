// Continues the present of a live cluster (forecast/present.h) in virtual time, with the production core and policy:
// the implementation of forecast::Continue.
//
// A job runs at the speed that its speed curve states for the GPUs it has. Stopping and starting takes the time that its
// model states. Servers that are away stay away, unless the present says when they return.
#pragma once

#include "forecast/future.h"

namespace sl::sim {

forecast::Future continue_present(const forecast::Present& present, std::unique_ptr<Policy> policy,
                                  const forecast::FutureSettings& settings);

}  // namespace sl::sim
