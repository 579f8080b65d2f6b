// Colours for the boxes of a Gantt chart.
#pragma once

#include <vector>

#include "plot/figure.h"

namespace sl::plot {

// Gives boxes that touch, or look as if they did because less than a hair of the picture is between them, different
// colours unless they are of one job. A job's boxes have one colour wherever that is possible.
void color_boxes(std::vector<Box>& boxes);

}  // namespace sl::plot
