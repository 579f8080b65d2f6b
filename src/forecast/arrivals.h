// Jobs that are yet to come, drawn from those that came last: what was submitted in the time before the present is submitted
// again in as long a time after it, by the same users at the same distances, with lengths drawn anew. They become jobs of the
// present that may not start before they come.
#pragma once

#include <vector>

#include "forecast/lengths.h"
#include "forecast/present.h"

namespace sl::forecast {

// A job that was submitted lately, whatever has become of it.
struct RecentJob {
  JobRequest request;
  JobFacts facts;
};

// Jobs of `recent` that were submitted up to `window` before the present come again that much later. Groups and jobs that
// wait for others are left out. Their numbers follow the highest that is known. Returns how many came.
std::size_t add_arrivals(Present& present, std::vector<Lengths::Prospect>& prospects,
                         const std::vector<RecentJob>& recent, Duration window, const Lengths& lengths);

}  // namespace sl::forecast
