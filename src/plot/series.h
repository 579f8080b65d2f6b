// `plot regret`: what a policy that follows would have changed, over time, from the series of the live cluster
// (`GET /api/v1/policy/shadow/series`).
#pragma once

#include <boost/json.hpp>

#include "base/result.h"
#include "plot/figure.h"

namespace sl::plot {

// Two panels: the mean regret per job with the range of 8 of 10 futures, and the total. Errors "empty-data", "bad-series".
Result<Figure> regret_figure(const boost::json::value& series);

}  // namespace sl::plot
