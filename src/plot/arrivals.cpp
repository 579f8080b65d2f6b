#include "plot/arrivals.h"

#include <fmt/format.h>

#include <algorithm>

#include "plot/text.h"

namespace sl::plot {
namespace {

// Steps: the number stays until the next job comes.
Series steps_of(const Arrivals& trace, int style) {
  Series series{trace.name, style, {{0, 0}}};
  const double origin = trace.submitted_s.front();
  for (std::size_t i = 0; i < trace.submitted_s.size(); ++i) {
    const double at = trace.submitted_s[i] - origin;
    if (at > series.points.back().x) series.points.push_back({at, series.points.back().y});
    series.points.push_back({at, static_cast<double>(i + 1)});
  }
  series.marks_points = false;
  return series;
}

}  // namespace

Result<Figure> arrivals_figure(const std::vector<Arrivals>& traces) {
  if (const Status fit = lines_fit(traces.size(), line_styles, "draw fewer traces at a time"); !fit.ok())
    return fit.error();
  Figure figure;
  Panel panel;
  double last = 0, most = 0;
  std::vector<std::string> said;
  for (const Arrivals& trace : traces) {
    if (trace.submitted_s.empty()) return invalid("empty-data", trace.name + " holds no jobs");
    panel.series.push_back(steps_of(trace, static_cast<int>(panel.series.size())));
    const Point end = panel.series.back().points.back();
    last = std::max(last, end.x), most = std::max(most, end.y);
    said.push_back(fmt::format("{} jobs of {} within {}", trace.submitted_s.size(), trace.name, duration_text(end.x)));
  }
  panel.x = {"Time since the first submission", Unit::seconds, {0, std::max(last, 1.0)}};
  panel.y = {"Jobs submitted", Unit::none, {0, most}};
  panel.y.whole = panel.y.rounds = true;
  figure.kind = "arrivals";
  figure.title = "Submissions over time";
  figure.summary = joined(said, "; ") + ".";
  figure.caption = "A step up is a job that was submitted.";
  figure.panels = {std::move(panel)};
  return figure;
}

}  // namespace sl::plot
