#include "reproduce/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/csv.h"
#include "base/statistics.h"
#include "plot/cdf.h"
#include "plot/text.h"

namespace sl::reproduce {
namespace {

constexpr std::size_t marked_points_max = 12;

void widen(plot::Range& range, double value) {
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

const TimeUnit in_seconds = {1, "s"};  // of all published figures, and so of all charts

std::string value_text(plot::Unit unit, double value) {
  if (unit == plot::Unit::seconds) return number_text(value) + " " + in_seconds.name;
  return number_text(value) + (unit == plot::Unit::percent ? " %" : "");
}

plot::Series series_of(const Line& line, int style) {
  plot::Series series{line.name, line.style.value_or(style), {}};
  series.marks_points = line.points.size() <= marked_points_max;
  series.is_joined = line.is_joined;
  series.tone = line.tone;
  bool has_interval = false;
  for (const LinePoint& point : line.points) {
    const Estimate e = estimate(point.values);
    series.points.push_back({point.x, e.mean});
    series.spread.push_back({point.x, e.low, e.high});
    has_interval = has_interval || e.count > 1;
  }
  if (!has_interval) series.spread.clear();
  return series;
}

// Bars have no points that figure_csv could write.
std::string bars_csv(const std::vector<plot::Panel>& panels) {
  std::string text = "panel,name,mean,low,high\n";
  for (const plot::Panel& panel : panels) {
    for (const plot::Bar& bar : panel.bars)
      text += fmt::format("{},{},{:.9g},{},{}\n", csv_field(panel.x.name), csv_field(bar.name), bar.value,
                          bar.whisker ? fmt::format("{:.9g}", bar.whisker->low) : "",
                          bar.whisker ? fmt::format("{:.9g}", bar.whisker->high) : "");
  }
  return text;
}

std::string summary_of(const std::vector<plot::Panel>& panels) {
  std::vector<std::string> parts;
  for (const plot::Panel& panel : panels) {
    for (const plot::Bar& bar : panel.bars) parts.push_back(panel.x.name + " of " + bar.name + " " + bar.label);
    for (const plot::Series& series : panel.series)
      parts.push_back(fmt::format("{} of {} ends at {}", panel.y.name, series.name,
                                  value_text(panel.y.unit, series.points.back().y)));
  }
  return plot::joined(parts, "; ") + ".";
}

}  // namespace

std::string number_text(double value) {
  if (std::abs(value) < 1e-9) return "0";
  return std::abs(value) >= 1000 ? with_commas(value, 0) : fmt::format("{:.4g}", value);
}

Sample published(const std::string& name, double value) {
  return {name + ", published", {value}, 0, plot::Tone::outlined};
}

plot::Panel cumulative_panel(const std::string& x_name, plot::Unit unit, const std::vector<Sample>& samples,
                             plot::Spacing spacing) {
  plot::Panel panel;
  plot::Range range{INFINITY, 0};
  for (const Sample& sample : samples) {
    for (const double value : sample.values) widen(range, std::max(value, 1.0));
  }
  if (spacing == plot::Spacing::linear) range.low = 0;
  panel.x = {x_name, unit, range, spacing};
  panel.x.time_unit = in_seconds;
  panel.y = {"Share of jobs", plot::Unit::percent, {0, 100}};
  for (const Sample& sample : samples) {
    plot::JobSample sorted{sample.name, sample.values, sample.values.size()};
    std::sort(sorted.values.begin(), sorted.values.end());
    plot::Series series{sample.name, static_cast<int>(panel.series.size()), plot::cumulative(sorted)};
    if (series.points.empty()) continue;
    series.points.push_back({range.high, series.points.back().y});
    panel.series.push_back(std::move(series));
  }
  return panel;
}

Line in_system(const std::string& name, const std::vector<JobTimes>& jobs) {
  std::vector<std::pair<double, int>> changes;
  for (const JobTimes& job : jobs) changes.insert(changes.end(), {{job.submitted_s, 1}, {job.finished_s, -1}});
  std::sort(changes.begin(), changes.end());
  Line line{name, {}};
  double now = 0;
  for (const auto& [at, by] : changes) {
    line.points.push_back({at, {now}});
    line.points.push_back({at, {now += by}});
  }
  return line;
}

double highest(const Line& line) {
  double most = 0;
  for (const LinePoint& point : line.points) most = std::max(most, point.values.front());
  return most;
}

plot::Panel line_panel(const AxisName& x, const AxisName& y, const std::vector<Line>& lines) {
  plot::Panel panel;
  plot::Range x_range{INFINITY, -INFINITY}, y_range{0, -INFINITY};
  std::set<double> places;
  for (const Line& line : lines) {
    if (line.points.empty()) continue;
    plot::Series series = series_of(line, static_cast<int>(panel.series.size()));
    for (const plot::Point& point : series.points)
      widen(x_range, point.x), widen(y_range, point.y), places.insert(point.x);
    panel.series.push_back(std::move(series));
  }
  const bool is_share = y.unit == plot::Unit::percent && y_range.low >= 0 && y_range.high <= 100;
  if (is_share) y_range = {0, 100};
  for (plot::Series& series : panel.series) {
    for (plot::Spread& s : series.spread) {
      if (is_share) s = {s.x, std::max(s.low, 0.0), std::min(s.high, 100.0)};
      widen(y_range, s.low), widen(y_range, s.high);
    }
  }
  panel.x = {x.name, x.unit, x_range, x.spacing};
  panel.x.whole = x.whole;
  if (places.size() <= marked_points_max) panel.x.values.assign(places.begin(), places.end());
  panel.y = {y.name, y.unit, y_range};
  panel.y.rounds = !is_share;
  panel.x.time_unit = panel.y.time_unit = in_seconds;
  return panel;
}

plot::Panel bar_panel(const AxisName& x, const std::vector<Sample>& samples) {
  plot::Panel panel;
  plot::Range range{0, 0};
  for (const Sample& sample : samples) {
    const int row = static_cast<int>(panel.bars.size());
    const Estimate e = estimate(sample.values);
    plot::Bar bar{sample.name, row, e.mean};
    if (e.count > 1) bar.whisker = plot::Range{e.low, e.high};
    bar.label = value_text(x.unit, e.mean);
    bar.style = sample.style;
    bar.tone = sample.tone;
    widen(range, e.low), widen(range, e.high);
    panel.y.rows.push_back({{static_cast<double>(row), row + 1.0}, sample.name});
    panel.bars.push_back(std::move(bar));
  }
  panel.x = {x.name, x.unit, range};
  panel.x.rounds = true;
  panel.x.time_unit = in_seconds;
  panel.y.range = {0, static_cast<double>(samples.size())};
  panel.height = 13 * static_cast<double>(samples.size());
  return panel;
}

plot::Figure figure_of(const std::string& title, const std::string& caption, std::vector<plot::Panel> panels,
                       bool stacked) {
  plot::Figure figure;
  figure.kind = "reproduce";
  figure.title = title;
  figure.caption = caption;
  figure.is_stacked = stacked;
  figure.summary = summary_of(panels);
  if (!panels.front().bars.empty()) figure.csv = bars_csv(panels);
  figure.panels = std::move(panels);
  return figure;
}

}  // namespace sl::reproduce
