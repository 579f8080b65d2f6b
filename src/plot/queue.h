// `plot queue`: how many jobs wait for GPUs over time.
#pragma once

#include <vector>

#include "plot/utilization.h"

namespace sl::plot {

// The line of waiting jobs in that time: exact, or as means over `mean_columns` equal parts if it changes too often.
Allocation waiting_of(const History& history, Range time);

// One line per history. Error "bad-window".
Result<Figure> queue_figure(const std::vector<NamedHistory>& histories, const Window& window);

}  // namespace sl::plot
