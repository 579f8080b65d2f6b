// When jobs were submitted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plot/figure.h"

namespace sl::plot {

struct Arrivals {
  std::string name;                 // of the trace
  std::vector<double> submitted_s;  // ascending
};

// `plot arrivals`: how many jobs had been submitted at each time since the first. Errors "empty-data", "too-many-lines".
Result<Figure> arrivals_figure(const std::vector<Arrivals>& traces);

}  // namespace sl::plot
