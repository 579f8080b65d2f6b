// How much faster trainings are on more GPUs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plot/figure.h"

namespace sl::plot {

struct SpeedupCurve {
  std::string name;           // of the profile
  std::vector<Point> points;  // GPUs and the speed on them relative to one GPU, ascending
};

// `plot speedup`: a line for each curve, and what would be ideal: n times as fast on n GPUs. Errors "empty-data", for a
// curve without a point; "too-many-lines".
Result<Figure> speedup_figure(const std::vector<SpeedupCurve>& curves);

}  // namespace sl::plot
