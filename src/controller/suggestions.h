// What would make a waiting job start sooner, or a group end sooner, tried on the present (forecast/remedies.h) before it is
// suggested.
#pragma once

#include <functional>
#include <vector>

#include "controller/answers.h"
#include "controller/forecasts.h"
#include "forecast/remedies.h"

namespace sl::controller {

struct Suggestions {
  std::vector<answers::Suggestion> items;
  std::string note;  // why nothing was tried; empty: it was
};

// Calls `done` on the core's thread, at the latest at `until`. Call on the core's thread.
void suggest(Forecasts& forecasts, const Logic& logic, JobId job, Instant now, Instant until,
             std::function<void(Suggestions)> done);

}  // namespace sl::controller
