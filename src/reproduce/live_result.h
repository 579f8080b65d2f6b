// The result of a live experiment: rows of simulated and real figures, as a table, CSV, JSON and a picture.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "plot/figure.h"
#include "reproduce/live.h"

namespace sl::reproduce {

struct LiveMetric {
  const char* name;   // in tables and files, unit last
  const char* title;  // in pictures
  plot::Unit unit;
};
inline constexpr LiveMetric duration_metric = {"duration_s", "Duration", plot::Unit::seconds};
inline constexpr LiveMetric speedup_metric = {"speedup", "Speedup", plot::Unit::none};
inline constexpr LiveMetric most_metric = {"most_at_once", "Most jobs in the system", plot::Unit::none};
inline constexpr LiveMetric last_end_metric = {"last_end_s", "Last end", plot::Unit::seconds};
inline constexpr LiveMetric makespan_metric = {"makespan_s", "Makespan", plot::Unit::seconds};
inline constexpr LiveMetric turnaround_metric = {"turnaround_s", "Turnaround", plot::Unit::seconds};
inline constexpr LiveMetric held_metric = {"held_pct", "GPUs held", plot::Unit::percent};

struct LiveRow {
  std::string series;
  std::string x;
  LiveMetric metric;
  double simulated = 0, real = 0;
  // Real compared with simulated, in percent; for percentages the difference in points.
  double gap_pct() const;
};

struct LiveResult {
  std::string series_name = "Policy", x_name;  // no name: rows have no x
  bool x_is_number = false;                    // rows are points of lines over x; else bars
  std::vector<LiveRow> rows = {};
  std::vector<plot::Panel> panels = {};  // of the picture; empty: made from the rows
  std::string caption = {};              // what was run
};

std::string live_table(const LiveResult& result);
std::string live_csv(const LiveResult& result);
boost::json::value live_json(const LiveResult& result);
plot::Figure live_figure(const LiveResult& result);

}  // namespace sl::reproduce
