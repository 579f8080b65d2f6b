// From the options of `schedulearn plot` to a figure that can be drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plot/figure.h"
#include "plot/theme.h"

namespace sl::plot {

struct PlotOptions {
  std::string chart;                  // cdf, gantt, util, queue, lines, bars
  std::vector<std::string> runs;      // result folders
  std::vector<std::string> jobs;      // cdf: bare jobs files
  std::vector<std::string> metrics;   // empty: the chart's usual ones
  std::vector<std::string> policies;  // which results; empty: all
  std::vector<std::string> where;     // key=value
  std::optional<std::int64_t> seed;
  std::string from, to;  // durations since the first submission
  std::vector<std::string> servers;
  std::string by = "cluster";  // util: cluster or server
  std::string x = "jobs";      // lines
  std::string scale = "auto";  // cdf, bars: auto, linear or log
  std::string out;             // .svg or .png, - for standard output; empty: KIND.svg here
  std::string csv;             // empty: next to `out`
  double width_mm = 80;
  std::string theme = "auto";  // auto, light or dark
  bool json = false;
  std::string command, version;  // written into the picture
};

// The requested figure, not yet drawn. Errors: those of the readers and charts, "bad-flag", "no-events" and
// "several-results".
Result<Figure> make_figure(const PlotOptions& options);

// "auto", "light" or "dark". Error "bad-flag".
Result<Theme> parse_theme(const std::string& text);

}  // namespace sl::plot
