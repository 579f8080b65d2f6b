#include "reproduce/live_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/csv.h"
#include "reproduce/charts.h"

namespace sl::reproduce {
namespace {

constexpr std::size_t panels_side_by_side_max = 2;

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string in_small(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::vector<const LiveRow*> rows_of(const LiveResult& result, const std::string& metric) {
  std::vector<const LiveRow*> rows;
  for (const LiveRow& row : result.rows) {
    if (row.metric.name == metric) rows.push_back(&row);
  }
  return rows;
}

// The number of a series among those of the rows: its colour.
int style_of(const std::vector<const LiveRow*>& rows, const std::string& series) {
  std::vector<std::string> names;
  for (const LiveRow* row : rows) {
    if (std::find(names.begin(), names.end(), row->series) == names.end()) names.push_back(row->series);
  }
  return static_cast<int>(std::find(names.begin(), names.end(), series) - names.begin());
}

plot::Panel bars_of(const std::vector<const LiveRow*>& rows) {
  std::vector<Sample> bars;
  for (const LiveRow* row : rows) {
    const std::string name = row->series + (row->x.empty() ? "" : ", " + row->x);
    const int style = style_of(rows, row->series);
    bars.push_back({name + ", simulated", {row->simulated}, style, plot::Tone::pale});
    bars.push_back({name + ", real", {row->real}, style, plot::Tone::full});
  }
  return bar_panel({rows.front()->metric.title, rows.front()->metric.unit}, bars);
}

plot::Panel lines_of(const std::vector<const LiveRow*>& rows, const std::string& x_name) {
  std::vector<Line> lines;
  const auto line = [&](const LiveRow& row, const char* which, plot::Tone tone) -> Line& {
    const std::string name = row.series + which;
    const auto at = std::find_if(lines.begin(), lines.end(), [&](const Line& known) { return known.name == name; });
    return at == lines.end() ? lines.emplace_back(Line{name, {}, style_of(rows, row.series), tone}) : *at;
  };
  for (const LiveRow* row : rows) {
    line(*row, ", simulated", plot::Tone::pale).points.push_back({std::stod(row->x), {row->simulated}});
    line(*row, ", real", plot::Tone::full).points.push_back({std::stod(row->x), {row->real}});
  }
  return line_panel({x_name, plot::Unit::none, true}, {rows.front()->metric.title, rows.front()->metric.unit}, lines);
}

std::vector<plot::Panel> row_panels(const LiveResult& result) {
  std::vector<std::string> seen;
  std::vector<plot::Panel> panels;
  for (const LiveRow& row : result.rows) {
    if (std::find(seen.begin(), seen.end(), row.metric.name) != seen.end()) continue;
    seen.emplace_back(row.metric.name);
    const std::vector<const LiveRow*> rows = rows_of(result, seen.back());
    panels.push_back(result.x_is_number ? lines_of(rows, result.x_name) : bars_of(rows));
  }
  return panels;
}

std::string gap_text(const LiveRow& row) {
  return fmt::format("{:+.1f} {}", row.gap_pct(), row.metric.unit == plot::Unit::percent ? "points" : "%");
}

}  // namespace

double LiveRow::gap_pct() const {
  if (metric.unit == plot::Unit::percent) return real - simulated;
  return 100 * (real - simulated) / simulated;
}

std::string live_table(const LiveResult& result) {
  std::size_t series_width = result.series_name.size(), x_width = result.x_name.size();
  for (const LiveRow& row : result.rows) {
    series_width = std::max(series_width, row.series.size());
    x_width = std::max(x_width, row.x.size());
  }
  const auto line = [&](const std::string& series, const std::string& x, const std::string& figure,
                        const std::string& simulated, const std::string& real, const std::string& gap) {
    const std::string place = result.x_name.empty() ? "" : fmt::format("{:>{}}  ", x, x_width);
    return fmt::format("  {:<{}}  {}{:<12}  {:>9}  {:>9}  {:>13}\n", series, series_width, place, figure, simulated,
                       real, gap);
  };
  std::string text =
      line(in_capitals(result.series_name), in_capitals(result.x_name), "FIGURE", "SIMULATED", "REAL", "GAP");
  for (const LiveRow& row : result.rows)
    text += line(row.series, row.x, row.metric.name, fmt::format("{:.2f}", row.simulated),
                 fmt::format("{:.2f}", row.real), gap_text(row));
  return text;
}

std::string live_csv(const LiveResult& result) {
  const auto x_of = [&](const std::string& x) { return result.x_name.empty() ? "" : csv_field(x) + ","; };
  std::string text =
      in_small(result.series_name) + "," + x_of(in_small(result.x_name)) + "figure,simulated,real,gap_pct\n";
  for (const LiveRow& row : result.rows)
    text += fmt::format("{},{}{},{:.6g},{:.6g},{:.6g}\n", csv_field(row.series), x_of(row.x), row.metric.name,
                        row.simulated, row.real, row.gap_pct());
  return text;
}

boost::json::value live_json(const LiveResult& result) {
  boost::json::array rows;
  for (const LiveRow& row : result.rows) {
    boost::json::object object = {{in_small(result.series_name), row.series}};
    if (!result.x_name.empty())
      object[in_small(result.x_name)] =
          result.x_is_number ? boost::json::value(std::stoi(row.x)) : boost::json::value(row.x);
    object["figure"] = row.metric.name;
    object["simulated"] = row.simulated;
    object["real"] = row.real;
    object["gap_pct"] = row.gap_pct();
    rows.push_back(std::move(object));
  }
  return {{"caption", result.caption}, {"rows", std::move(rows)}};
}

plot::Figure live_figure(const LiveResult& result) {
  std::vector<plot::Panel> panels = result.panels.empty() ? row_panels(result) : result.panels;
  const bool stacked = panels.size() > panels_side_by_side_max;
  return figure_of("Simulated and real", result.caption, std::move(panels), stacked);
}

}  // namespace sl::reproduce
