// Draws a panel that has been laid out, and the legend above all panels.
#pragma once

#include "plot/figure.h"
#include "plot/layout.h"
#include "plot/svg.h"

namespace sl::plot {

void draw_panel(Svg& svg, const Panel& panel, const PanelLayout& layout);

// The names of all lines and shades between `left` and `right`, below `top`; returns where it ends.
double draw_legend(Svg& svg, const Figure& figure, double left, double right, double top);

}  // namespace sl::plot
