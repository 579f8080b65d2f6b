// Charts of samples: how values are distributed, how they change over x, how they compare. Means have the 95 % interval
// of Student's t.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/figure.h"
#include "reproduce/simulations.h"

namespace sl::reproduce {

struct Sample {
  std::string name;
  std::vector<double> values;
  int style = 0;  // its colour
  plot::Tone tone = plot::Tone::full;
};
// A published figure: outlined, where ours are filled.
Sample published(const std::string& name, double value);

// The share of the values that are at most x.
plot::Panel cumulative_panel(const std::string& x_name, plot::Unit unit, const std::vector<Sample>& samples,
                             plot::Spacing spacing = plot::Spacing::linear);

struct LinePoint {
  double x = 0;
  std::vector<double> values;  // not empty; their mean is drawn
};
struct Line {
  std::string name;
  std::vector<LinePoint> points;
  std::optional<int> style = {};  // its colour; nothing: one of its own
  plot::Tone tone = plot::Tone::full;
  bool is_joined = true;  // false: x are names, or nothing is known between them
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

// Four digits, as published numbers have: "0.907", "574.5", "62,830".
std::string number_text(double value);

// One bar per sample, with an interval if it has several values.
plot::Panel bar_panel(const AxisName& x, const std::vector<Sample>& samples);

// The panels as one figure with its numbers. All times are in seconds, as the published ones are. `stacked`: below each other at any width.
plot::Figure figure_of(const std::string& title, const std::string& caption, std::vector<plot::Panel> panels,
                       bool stacked = false);

}  // namespace sl::reproduce
