// A picture before it has a size: panels with axes and what is drawn in them, in the units of the data. The charts
// (cdf.h, gantt.h, utilization.h, comparison.h) fill it in; `render` (render.h) draws it, `figure_csv` writes its
// numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/reduce.h"
#include "plot/scale.h"
#include "plot/theme.h"

namespace sl::plot {

struct Spread {
  double x = 0, low = 0, high = 0;
};

// A line. Its style is its colour, dash and marker.
struct Series {
  std::string name;
  int style = 0;
  std::vector<Point> points;
  std::vector<Spread> spread = {};  // whiskers if it marks its points, else a band; empty: none
  bool marks_points = false;        // a marker on every point instead of a few along the line
  bool is_joined = true;            // false: markers only, where nothing lies between two points
  Tone tone = Tone::full;
};

// A horizontal bar in row `row` (from 0, downwards).
struct Bar {
  std::string name;
  int row = 0;
  double value = 0;
  std::optional<Range> whisker = {};
  std::string label;  // next to its end
  int style = 0;      // its colour
  Tone tone = Tone::full;
};

enum class BoxEnd { plain, interrupted, failed };

// A rectangle with a tooltip, and a text if there is room for it.
struct Box {
  Range x, y;
  int color = 0;
  std::string label, tooltip;
  BoxEnd end = BoxEnd::plain;
};

// A rectangle that gets darker with its level: 0 to `shades` - 1.
struct Shade {
  Range x, y;
  int level = 0;
};

// A value to compare with: a dashed line across the panel.
struct Guide {
  double at = 0;
  std::string label;
};

// A group of rows of a panel, counted from 0 downwards.
struct Row {
  Range rows;
  std::string label;
};

struct Axis {
  std::string name;  // without unit
  Unit unit = Unit::none;
  Range range;
  Spacing spacing = Spacing::linear;
  bool whole = false;                      // only whole numbers make sense
  bool rounds = false;                     // widen the range to round values
  std::vector<Row> rows = {};              // y only: named rows instead of numbers
  std::vector<double> values = {};         // where there is data, if it is at few places: ticks stand there
  std::optional<TimeUnit> time_unit = {};  // seconds are written in it; nothing: in what fits this axis
};

struct Panel {
  Axis x, y;
  double height = 0;  // of the plotting area in points; 0: chosen automatically
  std::vector<Series> series = {};
  std::vector<Bar> bars = {};
  std::vector<Box> boxes = {};
  std::vector<Shade> shaded = {};
  std::vector<Box> lost = {};      // greyed out: not available at that time
  std::vector<Guide> guides = {};  // on the x axis
};

// Where the numbers come from; written into the picture.
struct Source {
  std::string folder, program, command;
  std::vector<std::string> seeds;
};

struct Figure {
  std::string kind;  // "cdf"
  std::string title;
  std::string summary;  // one sentence for readers who cannot see the picture
  std::string caption;  // definitions, sample size, what was left out
  std::vector<Panel> panels;
  bool is_stacked = false;                    // panels below each other at any width
  std::vector<std::string> shade_names = {};  // of levels 0 …; empty: no legend for them
  std::string csv = {};                       // the numbers; empty: the points of the lines
  std::vector<std::string> hints = {};        // for who makes it, not part of it
  std::vector<Source> sources = {};
  std::string version, command;
};

}  // namespace sl::plot
