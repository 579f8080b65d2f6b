#include "plot/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "plot/text.h"

namespace sl::plot {
namespace {

constexpr double text_drop = 2.5;  // from the middle of a line of small text to its baseline

void draw_grid(Svg& svg, const Panel& panel, const PanelLayout& layout) {
  const Frame& plot = layout.plot;
  for (const Tick& tick : layout.x_ticks)
    svg.line("grid", layout.x(tick.value), plot.top, layout.x(tick.value), plot.bottom);
  for (const Tick& tick : layout.y_ticks)
    svg.line("grid", plot.left, layout.y(tick.value), plot.right, layout.y(tick.value));
  if (!panel.bars.empty()) return;  // bars already show their rows
  for (const Row& row : panel.y.rows) {
    const double height = layout.y(row.rows.high) - layout.y(row.rows.low);
    if (height >= 3) svg.line("grid", plot.left, layout.y(row.rows.high), plot.right, layout.y(row.rows.high));
  }
}

void draw_row_names(Svg& svg, const Panel& panel, const PanelLayout& layout) {
  double free_from = 0;
  const double room = layout.plot.left;
  for (const Row& row : panel.y.rows) {
    const double middle = (layout.y(row.rows.low) + layout.y(row.rows.high)) / 2;
    if (middle - 4 < free_from) continue;
    svg.text("tick", layout.plot.left - 3, middle + text_drop, Anchor::end,
             shortened_name(row.label, size_small, room - 4));
    free_from = middle + 4;
  }
}

void draw_axes(Svg& svg, const Panel& panel, const PanelLayout& layout) {
  const Frame& plot = layout.plot;
  svg.path("axis", fmt::format("M{} {}V{}H{}", coordinate(plot.left), coordinate(plot.top), coordinate(plot.bottom),
                               coordinate(plot.right)));
  for (const Tick& tick : layout.x_ticks)
    svg.text("tick", layout.x(tick.value), plot.bottom + 8.5, Anchor::middle, tick.label);
  for (const Tick& tick : layout.y_ticks)
    svg.text("tick", plot.left - 3, layout.y(tick.value) + text_drop, Anchor::end, tick.label);
  draw_row_names(svg, panel, layout);
  if (!layout.y_name.empty()) {
    const double start = std::max(4.0, plot.left - 3 - std::min(plot.left - 7, text_width("100", size_small)));
    svg.text("label", start, plot.top - 5, Anchor::start, layout.y_name);
  }
  if (!layout.x_name.empty())
    svg.text("label", (plot.left + plot.right) / 2, plot.bottom + 18, Anchor::middle, layout.x_name);
}

std::string polyline(const std::vector<Point>& points) {
  std::string commands;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string x = coordinate(points[i].x), y = coordinate(points[i].y);
    if (i > 0 && points[i].y == points[i - 1].y) {
      commands += "H" + x;
    } else if (i > 0 && points[i].x == points[i - 1].x) {
      commands += "V" + y;
    } else {
      commands += (i == 0 ? "M" : "L") + x + " " + y;
    }
  }
  return commands;
}

void draw_band(Svg& svg, const Series& series, const PanelLayout& layout) {
  std::string commands;
  for (const Spread& s : series.spread)
    commands += (commands.empty() ? "M" : "L") + coordinate(layout.x(s.x)) + " " + coordinate(layout.y(s.high));
  for (auto s = series.spread.rbegin(); s != series.spread.rend(); ++s)
    commands += "L" + coordinate(layout.x(s->x)) + " " + coordinate(layout.y(s->low));
  svg.path("band " + fill_look(series.style), commands + "z");
}

// `beside`: so that those of several lines do not lie on each other.
void draw_whiskers(Svg& svg, const Series& series, const PanelLayout& layout, double beside) {
  std::string commands;
  for (const Spread& s : series.spread) {
    const double x = layout.x(s.x) + beside, low = layout.y(s.low), high = layout.y(s.high);
    commands += fmt::format("M{0} {2}H{1}M{0} {3}H{1}M{4} {2}V{3}", coordinate(x - 1.2), coordinate(x + 1.2),
                            coordinate(low), coordinate(high), coordinate(x));
  }
  svg.path(fmt::format("w c{}", series.style % 8), commands);
}

double height_at(const std::vector<Point>& points, double x) {
  const auto right =
      std::lower_bound(points.begin(), points.end(), x, [](const Point& p, double at) { return p.x < at; });
  if (right == points.begin() || right == points.end()) return right == points.end() ? points.back().y : right->y;
  const Point &a = *(right - 1), &b = *right;
  return b.x > a.x ? a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x) : b.y;
}

// A few markers along the line, at different places for each line.
void draw_markers(Svg& svg, const Series& series, const std::vector<Point>& points, const PanelLayout& layout,
                  double phase) {
  std::string commands;
  if (series.marks_points) {
    for (const Point& point : points) commands += marker_path(series.style, point.x, point.y);
  } else {
    constexpr int along = 4;
    for (int i = 0; i < along; ++i) {
      const double x = layout.plot.left + (i + phase) / along * (layout.x.to - layout.plot.left);
      if (x >= points.front().x && x <= points.back().x) commands += marker_path(series.style, x, height_at(points, x));
    }
  }
  svg.path(marker_look(series.style, series.tone), commands);
}

void draw_spreads(Svg& svg, const Panel& panel, const PanelLayout& layout) {
  constexpr double apart = 2.4;
  const auto middle = static_cast<double>(panel.series.size() - 1) / 2;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    if (series.spread.empty()) continue;
    series.marks_points ? draw_whiskers(svg, series, layout, (static_cast<double>(i) - middle) * apart)
                        : draw_band(svg, series, layout);
  }
}

void draw_series(Svg& svg, const Panel& panel, const PanelLayout& layout) {
  draw_spreads(svg, panel, layout);
  std::vector<std::vector<Point>> lines;
  for (const Series& series : panel.series) {
    lines.push_back(on_paper(series, layout));
    if (series.is_joined) svg.path(line_look(series.style, series.tone), polyline(lines.back()));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double phase = (static_cast<double>(i) + 0.5) / static_cast<double>(lines.size());
    const bool tells_apart = !panel.series[i].name.empty() || panel.series[i].marks_points;
    if (!lines[i].empty() && tells_apart) draw_markers(svg, panel.series[i], lines[i], layout, phase);
  }
}

// What happened at the end of a box, `width` wide.
void draw_end(Svg& svg, BoxEnd end, double right, double middle, double width, double half) {
  if (end == BoxEnd::interrupted) {
    svg.path("wedge", fmt::format("M{} {}L{} {}V{}z", coordinate(right - width), coordinate(middle), coordinate(right),
                                  coordinate(middle - half), coordinate(middle + half)));
  } else {
    svg.path("cross", fmt::format("M{0} {1}L{2} {3}M{0} {3}L{2} {1}", coordinate(right - width),
                                  coordinate(middle - half), coordinate(right), coordinate(middle + half)));
  }
}

void draw_box(Svg& svg, const Box& box, const PanelLayout& layout) {
  const double left = layout.x(box.x.low), right = layout.x(box.x.high), top = layout.y(box.y.low),
               bottom = layout.y(box.y.high), middle = (top + bottom) / 2;
  svg.rect(fmt::format("cut b{}", box.color % box_colors), left, top, std::max(right - left, 0.3), bottom - top,
           box.tooltip);
  const bool has_mark = box.end != BoxEnd::plain && right - left >= 1.5;
  const double mark = has_mark ? std::min(3.5, (right - left) / 2) : 0, free_to = right - mark;
  if (has_mark) draw_end(svg, box.end, right, middle, mark, std::min(3.0, (bottom - top) / 2));
  const bool has_room = bottom - top >= size_small && free_to - left >= text_width(box.label, size_small) + 2;
  if (has_room) svg.text("boxtext", (left + free_to) / 2, middle + text_drop, Anchor::middle, box.label);
}

// One path per level keeps a map of ten thousand cells small.
void draw_shades(Svg& svg, const Panel& panel, const PanelLayout& layout) {
  std::string commands[shades];
  for (const Shade& shade : panel.shaded) {
    const double left = layout.x(shade.x.low), top = layout.y(shade.y.low);
    commands[shade.level] +=
        fmt::format("M{} {}H{}V{}H{}z", coordinate(left), coordinate(top), coordinate(layout.x(shade.x.high)),
                    coordinate(layout.y(shade.y.high)), coordinate(left));
  }
  for (int level = 0; level < shades; ++level) svg.path(fmt::format("h{}", level), commands[level]);
}

void draw_bar(Svg& svg, const Bar& bar, const PanelLayout& layout) {
  const double top = layout.y(bar.row + 0.18), bottom = layout.y(bar.row + 0.82), middle = (top + bottom) / 2;
  const double zero = layout.x(std::max(0.0, layout.x.range.low)), end = layout.x(bar.value);
  svg.rect(bar_look(bar.style, bar.tone), std::min(zero, end), top, std::abs(end - zero), bottom - top);
  double free_from = std::max(zero, end);
  if (bar.whisker) {
    const double low = layout.x(bar.whisker->low), high = layout.x(bar.whisker->high);
    svg.path("whisker", fmt::format("M{0} {1}V{2}M{0} {3}H{4}M{4} {1}V{2}", coordinate(low), coordinate(middle - 2),
                                    coordinate(middle + 2), coordinate(middle), coordinate(high)));
    free_from = std::max(free_from, high);
  }
  svg.text("tick", free_from + 3, middle + text_drop, Anchor::start, bar.label);
}

void draw_guide(Svg& svg, const Guide& guide, const PanelLayout& layout) {
  const double x = layout.x(guide.at), half = text_width(guide.label, size_small) / 2;
  svg.line("bound", x, layout.plot.top - 2, x, layout.plot.bottom);
  const double middle =
      std::clamp(x, layout.plot.left + half, std::max(layout.plot.left + half, layout.plot.right - half));
  svg.text("boundtext", middle, layout.plot.top - 4.5, Anchor::middle, guide.label);
}

struct LegendEntry {
  std::string name;
  int style = 0;
  bool is_shade = false;
  bool has_line = false;
  Tone tone = Tone::full;
};

std::vector<LegendEntry> legend_of(const Figure& figure) {
  std::vector<LegendEntry> entries;
  std::set<std::string> seen;
  for (const Panel& panel : figure.panels) {
    for (const Series& series : panel.series) {
      if (!series.name.empty() && seen.insert(series.name).second)
        entries.push_back({series.name, series.style, false, series.is_joined, series.tone});
    }
  }
  for (std::size_t level = 0; level < figure.shade_names.size(); ++level)
    entries.push_back({figure.shade_names[level], static_cast<int>(level), true, false, Tone::full});
  return entries;
}

}  // namespace

void draw_panel(Svg& svg, const Panel& panel, const PanelLayout& layout) {
  draw_grid(svg, panel, layout);
  draw_shades(svg, panel, layout);
  for (const Box& lost : panel.lost)
    svg.rect("lost", layout.x(lost.x.low), layout.y(lost.y.low), layout.x(lost.x.high) - layout.x(lost.x.low),
             layout.y(lost.y.high) - layout.y(lost.y.low), lost.tooltip);
  for (const Box& box : panel.boxes) draw_box(svg, box, layout);
  for (const Bar& bar : panel.bars) draw_bar(svg, bar, layout);
  draw_series(svg, panel, layout);
  draw_axes(svg, panel, layout);
  for (const Guide& guide : panel.guides) draw_guide(svg, guide, layout);
}

double draw_legend(Svg& svg, const Figure& figure, double left, double right, double top) {
  constexpr double line_height = 10, sample = 18, swatch = 8, between = 8;
  const std::vector<LegendEntry> entries = legend_of(figure);
  if (entries.empty()) return top;
  double x = left, y = top + line_height / 2 + 1;
  for (const LegendEntry& entry : entries) {
    const double mark = entry.is_shade ? swatch : sample;
    const std::string name = shortened_name(entry.name, size_small, right - left - mark - 3);
    const double width = mark + 3 + text_width(name, size_small);
    if (x > left && x + width > right) x = left, y += line_height;
    if (entry.is_shade) {
      svg.rect(fmt::format("h{}", entry.style), x, y - swatch / 2, swatch, swatch);
    } else {
      if (entry.has_line)
        svg.path(line_look(entry.style, entry.tone), fmt::format("M{} {}h{}", coordinate(x), coordinate(y), sample));
      svg.path(marker_look(entry.style, entry.tone), marker_path(entry.style, x + sample / 2, y));
    }
    svg.text("tick", x + mark + 3, y + text_drop, Anchor::start, name);
    x += width + between;
  }
  return y + line_height / 2 + 2;
}

}  // namespace sl::plot
