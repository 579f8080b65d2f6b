#include "plot/layout.h"

#include <algorithm>
#include <cmath>

#include "plot/text.h"

namespace sl::plot {
namespace {

constexpr double gap = 3, line_height = 9.5, tick_distance = 24;

TimeUnit unit_of(const Axis& axis, Range shown) {
  if (axis.unit != Unit::seconds) return {1, ""};
  return axis.time_unit.value_or(time_unit(std::max(std::abs(shown.low), std::abs(shown.high))));
}

std::string name_with_unit(const Axis& axis, Range shown) {
  if (axis.name.empty()) return "";
  std::vector<std::string> parts;
  const bool has_units_at_ticks = axis.spacing == Spacing::logarithmic && axis.unit == Unit::seconds && !axis.time_unit;
  if (axis.unit == Unit::percent) parts.emplace_back("%");
  if (axis.unit == Unit::seconds && !has_units_at_ticks) parts.push_back(unit_of(axis, shown).name);
  if (axis.spacing == Spacing::logarithmic) parts.emplace_back(has_units_at_ticks ? "log scale of time" : "log scale");
  return parts.empty() ? axis.name : axis.name + " (" + joined(parts, ", ") + ")";
}

// Where the data is, if that is only at a few places.
std::vector<Tick> ticks_at_values(const Axis& axis, double unit_size) {
  std::vector<Tick> ticks;
  for (const double value : axis.values) ticks.push_back({value, figure_text(value / unit_size)});
  return ticks;
}

std::vector<Tick> ticks_of(const Axis& axis, Range range, int count) {
  const double unit_size = unit_of(axis, range).seconds;
  if (axis.spacing == Spacing::linear) return linear_ticks(range, unit_size, count, axis.whole);
  return axis.unit == Unit::seconds && !axis.time_unit ? log_time_ticks(range, count)
                                                       : log_ticks(range, unit_size, count);
}

bool labels_fit(const std::vector<Tick>& ticks, const Scale& scale) {
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const double room = std::abs(scale(ticks[i].value) - scale(ticks[i - 1].value));
    if ((text_width(ticks[i].label, size_small) + text_width(ticks[i - 1].label, size_small)) / 2 + 5 > room)
      return false;
  }
  return true;
}

std::vector<Tick> fitting_ticks(const Axis& axis, const Scale& scale) {
  std::vector<Tick> ticks = ticks_at_values(axis, unit_of(axis, scale.range).seconds);
  if (!ticks.empty() && labels_fit(ticks, scale)) return ticks;
  for (int count = 12; count >= 2; --count) {
    ticks = ticks_of(axis, scale.range, count);
    if (labels_fit(ticks, scale)) break;
  }
  return ticks;
}

Range shown_range(const Axis& axis, int ticks) {
  if (!axis.values.empty() && axis.spacing == Spacing::linear) {  // room for whiskers at the first and last of them
    const double room = 0.03 * (axis.range.high - axis.range.low);
    return {axis.range.low - room, axis.range.high + room};
  }
  if (!axis.rounds) return axis.range;
  const double unit_size = unit_of(axis, axis.range).seconds;
  return axis.spacing == Spacing::linear ? round_range(axis.range, unit_size, ticks)
                                         : round_log_range(axis.range, unit_size);
}

double widest(const Panel& panel, const std::vector<Tick>& ticks, double most) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.label, size_small));
  for (const Row& row : panel.y.rows) width = std::max(width, text_width(row.label, size_small));
  return std::min(width, most);
}

// Room for the value next to a bar's end.
double room_for_bar_labels(const Panel& panel) {
  double width = 0;
  for (const Bar& bar : panel.bars) width = std::max(width, text_width(bar.label, size_small) + 2 * gap);
  return width;
}

double height_of(const Panel& panel, double width) {
  return panel.height > 0 ? panel.height : std::clamp(0.6 * width, 90.0, 240.0);
}

}  // namespace

PanelLayout lay_out(const Panel& panel, double left, double right, double top) {
  PanelLayout layout;
  const double height = height_of(panel, right - left);
  const int y_count = std::max(2, static_cast<int>(height / tick_distance) + 1);
  const bool has_rows = !panel.y.rows.empty();
  const Range y_range = shown_range(panel.y, y_count);
  if (!has_rows) layout.y_ticks = ticks_of(panel.y, y_range, y_count);
  layout.y_name = name_with_unit(panel.y, y_range);
  layout.plot.top = top + (layout.y_name.empty() ? gap : line_height + gap) + (panel.guides.empty() ? 0 : line_height);
  layout.plot.bottom = layout.plot.top + height;
  layout.plot.left = left + widest(panel, layout.y_ticks, 0.4 * (right - left)) + gap;
  layout.plot.right = right - 6;
  layout.y = has_rows ? Scale{y_range, panel.y.spacing, layout.plot.top, layout.plot.bottom}
                      : Scale{y_range, panel.y.spacing, layout.plot.bottom, layout.plot.top};
  const Range x_range = shown_range(panel.x, std::max(2, static_cast<int>(layout.plot.width() / 40)));
  layout.x = {x_range, panel.x.spacing, layout.plot.left, layout.plot.right - room_for_bar_labels(panel)};
  layout.x_ticks = fitting_ticks(panel.x, layout.x);
  for (const Tick& tick : layout.x_ticks) {  // the last label must not be cut off
    const double beyond = layout.x(tick.value) + text_width(tick.label, size_small) / 2 - right;
    if (beyond > 0) layout.x.to -= beyond, layout.plot.right = std::max(layout.x.to, layout.plot.right - beyond);
  }
  layout.x_name = name_with_unit(panel.x, x_range);
  layout.bottom = layout.plot.bottom + line_height + (layout.x_name.empty() ? 0 : line_height) + gap;
  return layout;
}

std::vector<Point> on_paper(const Series& series, const PanelLayout& layout) {
  std::vector<Point> points;
  points.reserve(series.points.size());
  for (const Point& point : series.points) points.push_back({layout.x(point.x), layout.y(point.y)});
  return reduced(points);
}

}  // namespace sl::plot
