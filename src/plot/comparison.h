// `plot lines` and `plot bars`: figures of results side by side. Results that differ in nothing but their seed are one
// sample: their mean is drawn, with its 95 % interval.
#pragma once

#include <string>
#include <vector>

#include "plot/quantities.h"
#include "plot/results.h"

namespace sl::plot {

inline constexpr std::size_t bars_max = 60;

// A panel for each metric, a line for each policy (and what else tells results apart), over `x`: jobs, seed, a
// parameter or any figure. Errors "unknown-metric", "unknown-x", "nothing-varies" (one value of x), "too-many-lines",
// "empty-data".
Result<Figure> lines_figure(const RunSet& runs, const std::string& x, const std::vector<std::string>& metrics);

// A panel for each metric, a bar for each policy, a dashed line where no schedule can be better.
// Errors "unknown-metric", "too-many-bars", "empty-data".
Result<Figure> bars_figure(const RunSet& runs, const std::vector<std::string>& metrics);

}  // namespace sl::plot
