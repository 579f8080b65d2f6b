// Figures of samples: how values are spread, how they change over something, how they compare. Means come with the 95 %
// interval of Student's t.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"
#include "reproduce/simulations.h"

namespace sl::reproduce {

struct Sample {
  std::string name;
  std::vector<double> values;
};

// Which share of the values is at most so large.
plot::Panel cumulative_panel(const std::string& x_name, plot::Unit unit, const std::vector<Sample>& samples,
                             plot::Spacing spacing = plot::Spacing::linear);

struct LinePoint {
  double x = 0;
  std::vector<double> values;  // at least one: their mean is drawn
};
struct Line {
  std::string name;
  std::vector<LinePoint> points;
};
// How many jobs have been submitted and have not finished, over time.
Line in_system(const std::string& name, const std::vector<JobTimes>& jobs);
double highest(const Line& line);
struct AxisName {
  std::string name;
  plot::Unit unit = plot::Unit::none;
  bool whole = false;
  plot::Spacing spacing = plot::Spacing::linear;
};
plot::Panel line_panel(const AxisName& x, const AxisName& y, const std::vector<Line>& lines);

// A bar for each sample, with an interval where it has several values.
plot::Panel bar_panel(const AxisName& x, const std::vector<Sample>& samples);

// The panels as one figure with the numbers behind it. `stacked`: below each other whatever the width.
plot::Figure figure_of(const std::string& title, const std::string& caption, std::vector<plot::Panel> panels,
                       bool stacked = false);

}  // namespace sl::reproduce
