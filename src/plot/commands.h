// `schedulearn plot cdf|gantt|util|lines|bars`: result folders in, SVG, PNG and CSV out.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plot/figure.h"

namespace sl::plot {

struct PlotOptions {
  std::string chart;                  // cdf, gantt, util, lines, bars
  std::vector<std::string> runs;      // result folders
  std::vector<std::string> jobs;      // cdf: bare jobs files
  std::vector<std::string> metrics;   // empty: what the chart is most used for
  std::vector<std::string> policies;  // which results; empty: all
  std::vector<std::string> where;     // key=value
  std::optional<std::int64_t> seed;
  std::string from, to;  // durations since the first submission
  std::vector<std::string> servers;
  std::string by = "cluster";  // util: cluster or server
  std::string x = "jobs";      // lines
  std::string scale = "auto";  // cdf: auto, linear or log
  std::string out;             // .svg or .png, - for standard output; empty: KIND.svg here
  std::string csv;             // empty: beside `out`
  double width_mm = 80;
  std::string theme = "auto";  // auto, light or dark
  bool json = false;
  std::string command, version;  // go into the picture
};

// The figure that is asked for, not yet drawn. Errors are those of the readers and charts, "bad-flag", "no-events" and
// "several-results".
Result<Figure> make_figure(const PlotOptions& options);

// Draws and writes the files, then says on `out` what the picture shows. Nothing is written where anything is wrong
// with the input.
Status plot(const PlotOptions& options, std::ostream& out);

}  // namespace sl::plot
