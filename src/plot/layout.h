// Where the parts of a panel lie on paper: the step between a Figure and its marks.
#pragma once

#include <vector>

#include "plot/figure.h"

namespace sl::plot {

struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

struct PanelLayout {
  Frame plot;  // the plotting area
  Scale x, y;
  std::vector<Tick> x_ticks, y_ticks;
  std::string x_name, y_name;  // with units
  double bottom = 0;           // the whole panel, axis names included
};

// Places the panel below `top` between `left` and `right`.
PanelLayout lay_out(const Panel& panel, double left, double right, double top);

// The points of a line on paper, reduced to as few as the picture needs.
std::vector<Point> on_paper(const Series& series, const PanelLayout& layout);

}  // namespace sl::plot
