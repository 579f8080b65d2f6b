// A figure as SVG at its real size. Fonts are never below 7 pt, whatever the width. The legend is above the panels,
// never on data; panels are placed side by side if each gets at least 70 mm.
#pragma once

#include <string>

#include "plot/figure.h"

namespace sl::plot {

struct Rendering {
  double width_mm = 80;
  Theme theme = Theme::automatic;
};

inline constexpr double width_mm_min = 60, width_mm_max = 1000;

std::string render(const Figure& figure, const Rendering& rendering);

// The numbers of the picture. Lines: "panel,series,x,y,low,high" in seconds and percent, with as few points as `render`
// draws. The headers of other charts describe what they write.
std::string figure_csv(const Figure& figure, const Rendering& rendering);

}  // namespace sl::plot
