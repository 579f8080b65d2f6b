// When a job would start and end if it were submitted now: the present with one more job, continued as in any forecast.
#pragma once

#include <functional>
#include <optional>

#include "controller/answers.h"
#include "controller/forecasts.h"

namespace sl::controller {

// `spec` has a name and has passed its check. `done` is called on the core's thread, as this must be: at the latest a second later, then
// with nothing. Also with nothing: of an array, whose members start one by one, and if this controller makes no forecasts, or
// has too many to make.
void forecast_submission(Forecasts& forecasts, const Logic& logic, const wire::JobSpec& spec, Instant now,
                         std::function<void(const std::optional<answers::Estimate>&)> done);

}  // namespace sl::controller
