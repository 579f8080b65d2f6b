// `plot lines` and `plot bars`: figures of results side by side. Results that differ only in their seed form one
// sample: its mean is drawn, with its 95 % interval.
#pragma once

#include <string>
#include <vector>

#include "plot/quantities.h"
#include "plot/results.h"

namespace sl::plot {

inline constexpr std::size_t bars_max = 60;

// A panel per metric, a line per policy (and whatever else distinguishes results), over `x`: jobs, seed, a
// parameter or any figure. Errors "unknown-metric", "unknown-x", "nothing-varies" (one value of x), "too-many-lines",
// "empty-data".
Result<Figure> lines_figure(const RunSet& runs, const std::string& x, const std::vector<std::string>& metrics);

// A panel per metric, a bar per policy, and a dashed line at the bound that no schedule can beat, if it is the same for
// all bars. Errors "unknown-metric", "too-many-bars", "empty-data".
Result<Figure> bars_figure(const RunSet& runs, const std::vector<std::string>& metrics, Spacing spacing);

}  // namespace sl::plot
