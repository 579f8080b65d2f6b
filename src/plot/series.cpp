#include "plot/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "plot/text.h"

namespace sl::plot {
namespace {

namespace json = boost::json;

struct Lines {
  double step_s = 0;
  std::string shadow;
  std::vector<std::optional<double>> mean, low, high, total;
};

std::vector<std::optional<double>> values_of(const json::array& lines, const char* name) {
  std::vector<std::optional<double>> values;
  for (const json::value& line : lines) {
    if (line.at("name").as_string() != name) continue;
    for (const json::value& value : line.at("values").as_array())
      values.push_back(value.is_null() ? std::nullopt : std::optional(value.to_number<double>()));
  }
  return values;
}

Result<Lines> read(const json::value& document) {
  try {
    const json::array& lines = document.at("series").as_array();
    Lines read{document.at("step_s").to_number<double>(),
               "",
               values_of(lines, "regret_s"),
               values_of(lines, "regret_p10_s"),
               values_of(lines, "regret_p90_s"),
               values_of(lines, "total_s")};
    if (const json::value* shadow = lines.at(0).at("labels").as_object().if_contains("shadow"))
      read.shadow = shadow->as_string().c_str();
    return read;
  } catch (const std::exception& thrown) {
    return invalid("bad-series", std::string("this is no series of a regret: ") + thrown.what());
  }
}

// The part that is known; gaps are left to the line between their neighbours.
Panel panel_of(const std::string& name, const std::vector<std::optional<double>>& values, double step_s) {
  Panel panel;
  Series line{name, 0, {}};
  double low = 0, high = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    line.points.push_back({static_cast<double>(i) * step_s, *values[i]});
    low = std::min(low, *values[i]), high = std::max(high, *values[i]);
  }
  panel.x = {"Time since it began to follow", Unit::seconds, {0, static_cast<double>(values.size()) * step_s}};
  panel.y = {name, Unit::seconds, {low, high > low ? high : low + 1}};
  panel.y.rounds = true;
  line.marks_points = line.points.size() < 2;
  panel.series.push_back(std::move(line));
  return panel;
}

}  // namespace

Result<Figure> regret_figure(const json::value& document) {
  const Result<Lines> lines = read(document);
  if (!lines.ok()) return lines.error();
  Panel mean = panel_of("Regret per job", lines->mean, lines->step_s);
  const std::vector<Point>& points = mean.series.front().points;
  if (points.empty())
    return invalid("empty-data", "no regret is known yet").hint("schedulearn policy shadow NAME has a policy follow");
  for (std::size_t i = 0; i < std::min(lines->low.size(), lines->high.size()); ++i) {
    if (!lines->low[i] || !lines->high[i]) continue;
    mean.series.front().spread.push_back({static_cast<double>(i) * lines->step_s, *lines->low[i], *lines->high[i]});
    mean.y.range.low = std::min(mean.y.range.low, *lines->low[i]);
    mean.y.range.high = std::max(mean.y.range.high, *lines->high[i]);
  }
  Figure figure;
  figure.kind = "regret";
  figure.title = "What " + lines->shadow + " would have changed";
  figure.summary = fmt::format("Mean time that a job would have saved under {}: {} s at the end.", lines->shadow,
                               figure_text(points.back().y));
  figure.caption =
      "Above 0: the policy that follows would have done better. A window begins anew when the policy in force or the "
      "servers change; the band holds 8 of 10 possible futures. The total is the mean times the jobs, over all "
      "windows.";
  Panel total = panel_of("Total", lines->total, lines->step_s);
  figure.panels = {std::move(mean), std::move(total)};
  figure.is_stacked = true;
  return figure;
}

}  // namespace sl::plot
