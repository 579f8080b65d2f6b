#include "plot/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plot/text.h"

namespace sl::plot {

Result<Figure> speedup_figure(const std::vector<SpeedupCurve>& curves) {
  constexpr std::size_t curves_max = line_styles - 1;  // the ideal has one too
  if (const Status fit = lines_fit(curves.size(), curves_max, "draw fewer profiles at a time"); !fit.ok())
    return fit.error();
  Figure figure;
  Panel panel;
  std::set<double> counts = {1};
  std::vector<std::string> said;
  double most = 1;
  for (const SpeedupCurve& curve : curves) {
    if (curve.points.empty()) return invalid("empty-data", "nothing is measured of " + curve.name);
    for (const Point& point : curve.points) counts.insert(point.x), most = std::max(most, point.y);
    Series line{curve.name, static_cast<int>(panel.series.size()), curve.points};
    line.marks_points = true;
    said.push_back(fmt::format("{} is {} times as fast on {} GPUs", curve.name, figure_text(curve.points.back().y),
                               figure_text(curve.points.back().x)));
    panel.series.push_back(std::move(line));
  }
  const double widest = *counts.rbegin();
  Series ideal{"ideal", static_cast<int>(panel.series.size()), {{1, 1}, {widest, widest}}};
  ideal.tone = Tone::pale;
  panel.series.push_back(std::move(ideal));
  panel.x = {"GPUs", Unit::none, {1, std::max(widest, 2.0)}};
  panel.x.whole = true;
  if (counts.size() <= 12) panel.x.values.assign(counts.begin(), counts.end());
  panel.y = {"Speed-up", Unit::none, {0, std::max(most, widest)}};
  panel.y.rounds = true;
  figure.kind = "speedup";
  figure.title = "Speed-up by number of GPUs";
  figure.summary = joined(said, "; ") + ".";
  figure.caption = "Speed-up: run time on one GPU divided by that on n. Ideal: n.";
  figure.panels = {std::move(panel)};
  return figure;
}

}  // namespace sl::plot
