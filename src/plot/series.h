// Pictures of series of the live cluster.
#pragma once

#include <boost/json.hpp>

#include "base/result.h"
#include "plot/figure.h"

namespace sl::plot {

// `plot regret`, from GET /api/v1/policy/shadow/series: what a policy that follows would have changed, over time.
// Two panels: the mean regret per job with the range of 8 of 10 futures, and the total. Errors "empty-data", "bad-series".
Result<Figure> regret_figure(const boost::json::value& series);

// `plot ahead`, from GET /api/v1/cluster/forecast: how many GPUs jobs will hold, of all with the range of 8 of 10 futures,
// and on each of the first servers. Errors "empty-data", "bad-series".
Result<Figure> ahead_figure(const boost::json::value& series);

}  // namespace sl::plot
