#include "plot/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv.h"
#include "plot/layout.h"
#include "plot/marks.h"
#include "plot/text.h"

namespace sl::plot {
namespace {

constexpr double points_per_mm = 72 / 25.4, margin = 4, caption_line = 8.8, title_line = 10.5;

double draw_lines_of_text(Svg& svg, std::string_view look, const std::string& text, double size, double line_step,
                          double width, double top) {
  for (const std::string& line : wrapped(text, size, width - 2 * margin))
    svg.text(look, margin, (top += line_step) - 0.25 * line_step, Anchor::start, line);
  return top;
}

std::size_t columns_of(const Figure& figure, const Rendering& rendering) {
  if (figure.is_stacked) return 1;
  const auto fitting = static_cast<std::size_t>(rendering.width_mm / 70);
  return std::clamp<std::size_t>(fitting, 1, std::max<std::size_t>(1, figure.panels.size()));
}

struct Placed {
  std::vector<PanelLayout> panels;
  double bottom = 0;
};

Placed place_panels(const Figure& figure, const Rendering& rendering, double top) {
  const std::size_t columns = columns_of(figure, rendering);
  const double gutter = 2 * margin;
  const double width = (rendering.width_mm * points_per_mm - 2 * margin + gutter) / static_cast<double>(columns);
  Placed placed{{}, top};
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const double left = margin + width * static_cast<double>(i % columns);
    if (i % columns == 0) top = placed.bottom;
    placed.panels.push_back(lay_out(figure.panels[i], left, left + width - gutter, top));
    placed.bottom = std::max(placed.bottom, placed.panels.back().bottom);
  }
  return placed;
}

std::string metadata(const Figure& figure) {
  std::string text =
      fmt::format("<metadata><figure xmlns=\"urn:schedulearn:figure:1\" program=\"{}\">\n<command>{}</command>\n",
                  escaped(figure.version), escaped(figure.command));
  for (const Source& source : figure.sources) {
    text += fmt::format("<source folder=\"{}\" program=\"{}\" seeds=\"{}\"><command>{}</command></source>\n",
                        escaped(source.folder), escaped(source.program), escaped(joined(source.seeds, ",")),
                        escaped(source.command));
  }
  return text + "</figure></metadata>\n";
}

std::string document(const Figure& figure, const Rendering& rendering, double width, double height,
                     const std::string& body) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {} {}\" "
             "role=\"img\" "
             "aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n",
             coordinate(rendering.width_mm), coordinate(height / points_per_mm), coordinate(width), coordinate(height),
             escaped(figure.title), escaped(figure.summary)) +
         metadata(figure) + "<style>\n" + style_sheet(rendering.theme) + "</style>\n" +
         fmt::format("<rect class=\"bg\" width=\"{}\" height=\"{}\"/>\n", coordinate(width), coordinate(height)) +
         body + "</svg>\n";
}

void append_number(std::string& row, std::optional<double> value) {
  row += ',';
  if (value) row += fmt::format("{:.9g}", *value);
}

struct CsvText {
  std::string text = "panel,series,x,y,low,high\n";
  std::string panel;
  void add(const std::string& name, double x, double y, std::optional<double> low = {},
           std::optional<double> high = {}) {
    text += csv_field(panel) + "," + csv_field(name);
    for (const std::optional<double> value : {std::optional(x), std::optional(y), low, high})
      append_number(text, value);
    text += '\n';
  }
};

// What is left of a line after reduction, in its own units again: the scales are monotone, so points are found by
// position.
void add_series(CsvText& rows, const Series& series, const PanelLayout& layout) {
  const std::vector<Point> kept = on_paper(series, layout);
  std::size_t next = 0;
  for (std::size_t i = 0; i < series.points.size() && next < kept.size(); ++i) {
    const Point& point = series.points[i];
    if (Point{layout.x(point.x), layout.y(point.y)} != kept[next]) continue;
    ++next;
    const auto spread =
        std::find_if(series.spread.begin(), series.spread.end(), [&](const Spread& s) { return s.x == point.x; });
    spread == series.spread.end() ? rows.add(series.name, point.x, point.y)
                                  : rows.add(series.name, point.x, point.y, spread->low, spread->high);
  }
}

}  // namespace

std::string render(const Figure& figure, const Rendering& rendering) {
  const double width = rendering.width_mm * points_per_mm;
  Svg svg;
  double top = draw_lines_of_text(svg, "head", figure.title, size_title, title_line, width, margin);
  top = draw_legend(svg, figure, margin, width - margin, top);
  const Placed placed = place_panels(figure, rendering, top);
  for (std::size_t i = 0; i < figure.panels.size(); ++i) draw_panel(svg, figure.panels[i], placed.panels[i]);
  const double bottom =
      draw_lines_of_text(svg, "note", figure.caption, size_small, caption_line, width, placed.bottom + 2);
  return document(figure, rendering, width, bottom + margin, svg.markup());
}

std::string figure_csv(const Figure& figure, const Rendering& rendering) {
  if (!figure.csv.empty()) return figure.csv;
  const Placed placed = place_panels(figure, rendering, 0);
  CsvText rows;
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const Panel& panel = figure.panels[i];
    rows.panel = panel.y.name.empty() ? panel.x.name : panel.y.name;
    for (const Series& series : panel.series) add_series(rows, series, placed.panels[i]);
  }
  return rows.text;
}

}  // namespace sl::plot
