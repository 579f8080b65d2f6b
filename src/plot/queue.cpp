#include "plot/queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "plot/text.h"

namespace sl::plot {
namespace {

// What the step line through `changes` was just before or at x.
double waiting_at(const std::vector<Point>& changes, double x) {
  const auto after =
      std::upper_bound(changes.begin(), changes.end(), x, [](double at, const Point& p) { return at < p.x; });
  return after == changes.begin() ? 0 : std::prev(after)->y;
}

double mean_of(const std::vector<Point>& changes, Range time) {
  double sum = 0, from = time.low, now = waiting_at(changes, time.low);
  for (const Point& change : changes) {
    if (change.x <= time.low) continue;
    if (change.x >= time.high) break;
    sum += now * (change.x - from);
    from = change.x, now = change.y;
  }
  sum += now * (time.high - from);
  return time.high > time.low ? sum / (time.high - time.low) : now;
}

std::vector<Point> changes_as_steps(const std::vector<Point>& changes, Range time) {
  std::vector<Point> points = {{time.low, waiting_at(changes, time.low)}};
  for (const Point& change : changes) {
    if (change.x <= time.low || change.x >= time.high) continue;
    points.push_back({change.x, points.back().y});
    points.push_back(change);
  }
  points.push_back({time.high, points.back().y});
  return points;
}

std::vector<Point> changes_as_means(const std::vector<Point>& changes, Range time) {
  std::vector<Point> points;
  const double width = (time.high - time.low) / mean_columns;
  for (int c = 0; c < mean_columns; ++c) {
    const Range part = {time.low + c * width, c + 1 == mean_columns ? time.high : time.low + (c + 1) * width};
    const double mean = mean_of(changes, part);
    points.push_back({part.low, mean});
    points.push_back({part.high, mean});
  }
  return points;
}

const History& longest_of(const std::vector<NamedHistory>& histories) {
  return std::max_element(histories.begin(), histories.end(),
                          [](const NamedHistory& a, const NamedHistory& b) { return a.history.end < b.history.end; })
      ->history;
}

}  // namespace

Allocation waiting_of(const History& history, Range time) {
  const auto inside = std::count_if(history.waiting.begin(), history.waiting.end(),
                                    [&](const Point& p) { return p.x > time.low && p.x < time.high; });
  if (static_cast<std::size_t>(inside) > exact_changes_max) return {changes_as_means(history.waiting, time), true};
  return {changes_as_steps(history.waiting, time), false};
}

Result<Figure> queue_figure(const std::vector<NamedHistory>& histories, const Window& window) {
  const Result<Range> time = chosen_time(longest_of(histories), window);
  if (!time.ok()) return time.error();
  Figure figure;
  figure.kind = "queue";
  figure.title = "Waiting jobs" + (histories.size() == 1 ? ", " + histories.front().name : std::string());
  Panel panel;
  panel.x = {"Time since first submission", Unit::seconds, *time};
  panel.y = {"Jobs waiting", Unit::none, {0, 1}};
  panel.y.whole = panel.y.rounds = true;
  bool is_mean = false;
  std::vector<std::string> means;
  for (const NamedHistory& named : histories) {
    Allocation line = waiting_of(named.history, *time);
    is_mean = is_mean || line.is_mean;
    for (const Point& point : line.points) panel.y.range.high = std::max(panel.y.range.high, point.y);
    means.push_back(named.name + " " + figure_text(mean_of(named.history.waiting, *time)));
    panel.series.push_back({named.name, static_cast<int>(panel.series.size()), std::move(line.points)});
  }
  figure.panels.push_back(std::move(panel));
  figure.summary = "Mean number of waiting jobs from " + text_in(time_unit(time->high), time->low) + " to " +
                   text_in(time_unit(time->high), time->high) + " after the first submission: " + joined(means, ", ") +
                   ".";
  figure.caption = "Jobs that have been submitted, have not ended and do not run.";
  if (is_mean)
    figure.caption += " Each step is the mean over " + duration_text((time->high - time->low) / mean_columns) + ".";
  figure.caption += fmt::format(" n = {}.", counted(histories.front().history.jobs, "job"));
  return figure;
}

}  // namespace sl::plot
