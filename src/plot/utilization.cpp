#include "plot/utilization.h"

#include <fmt/format.h>

#include <algorithm>

#include "plot/text.h"

namespace sl::plot {
namespace {

constexpr double height_of_small_panel = 46;
constexpr std::size_t lines_together_max = 2;  // more would hide each other

// The part of the cluster that a line describes.
struct Part {
  std::string name;
  std::vector<int> servers;
};

struct Prepared {
  const NamedHistory* of = nullptr;
  std::vector<std::vector<Range>> busy;
};

std::vector<std::vector<Range>> gpus_of(const Prepared& prepared, const Part& part) {
  std::vector<std::vector<Range>> gpus;
  for (const int s : part.servers) {
    const HistoryServer& server = prepared.of->history.servers[static_cast<std::size_t>(s)];
    for (int g = server.gpu_first; g < server.gpu_first + server.gpus; ++g)
      gpus.push_back(prepared.busy[static_cast<std::size_t>(g)]);
  }
  return gpus;
}

std::vector<Point> as_steps(const std::vector<Point>& changes, int count, Range time) {
  std::vector<Point> points;
  double now = 0;
  for (const Point& change : changes) {
    const double share = 100 * change.y / count;
    if (change.x <= time.low) {
      now = share;
      continue;
    }
    if (change.x >= time.high) break;
    if (points.empty()) points.push_back({time.low, now});
    points.push_back({change.x, now});
    points.push_back({change.x, now = share});
  }
  if (points.empty()) points.push_back({time.low, now});
  points.push_back({time.high, now});
  return points;
}

std::vector<Point> as_means(const std::vector<std::vector<Range>>& busy, int gpu_first, int count, Range time) {
  std::vector<Point> points;
  const double width = (time.high - time.low) / mean_columns;
  for (int c = 0; c < mean_columns; ++c) {
    const Range part = {time.low + c * width, c + 1 == mean_columns ? time.high : time.low + (c + 1) * width};
    const double share = 100 * allocated_share(busy, gpu_first, count, part);
    points.push_back({part.low, share});
    points.push_back({part.high, share});
  }
  return points;
}

Series line_of(const Prepared& prepared, const Part& part, Range time, int style, bool& is_mean) {
  const std::vector<std::vector<Range>> gpus = gpus_of(prepared, part);
  Allocation allocation = allocation_of(gpus, 0, static_cast<int>(gpus.size()), time);
  is_mean = is_mean || allocation.is_mean;
  return {prepared.of->name, style, std::move(allocation.points)};
}

void add_outages(Panel& panel, const History& history, const Part& part, Range time) {
  for (const Outage& outage : history.outages) {
    const bool is_here = std::find(part.servers.begin(), part.servers.end(), outage.server) != part.servers.end();
    if (is_here && outage.to > time.low && outage.from < time.high)
      panel.lost.push_back(
          {{std::max(outage.from, time.low), std::min(outage.to, time.high)}, {0, 100}, 0, "", "server lost"});
  }
}

std::string summary_of(const std::vector<Prepared>& all, const Part& cluster, Range time) {
  std::vector<std::string> parts;
  for (const Prepared& prepared : all) {
    const std::vector<std::vector<Range>> gpus = gpus_of(prepared, cluster);
    const double share = allocated_share(gpus, 0, static_cast<int>(gpus.size()), time);
    parts.push_back(fmt::format("{} {} %", prepared.of->name, figure_text(100 * share)));
  }
  return "Mean share of GPUs held by jobs from " + text_in(time_unit(time.high), time.low) + " to " +
         text_in(time_unit(time.high), time.high) + " after the first submission: " + joined(parts, ", ") + ".";
}

Panel panel_of(const std::string& name, Range time) {
  Panel panel;
  panel.x = {"Time since first submission", Unit::seconds, time};
  panel.y = {name.empty() ? "GPUs held" : name + ": GPUs held", Unit::percent, {0, 100}};
  return panel;
}

std::vector<Part> parts_of(const History& history, const std::vector<int>& servers, By by) {
  if (by == By::cluster) return {{"", servers}};
  std::vector<Part> parts;
  for (const int s : servers) parts.push_back({history.servers[static_cast<std::size_t>(s)].name, {s}});
  return parts;
}

// One panel per part of the cluster; per history instead, if those are many.
std::vector<Panel> panels_of(const std::vector<Prepared>& all, const std::vector<Part>& parts, Range time,
                             bool& is_mean) {
  std::vector<Panel> panels;
  if (parts.size() == 1 && all.size() > lines_together_max) {
    for (const Prepared& prepared : all) {
      panels.push_back(panel_of(prepared.of->name, time));
      panels.back().series.push_back(line_of(prepared, parts.front(), time, 0, is_mean));
      panels.back().series.back().name = "";  // the panel has it
    }
    return panels;
  }
  for (const Part& part : parts) {
    panels.push_back(panel_of(part.name, time));
    for (const Prepared& prepared : all)
      panels.back().series.push_back(
          line_of(prepared, part, time, static_cast<int>(panels.back().series.size()), is_mean));
    if (all.size() == 1 && parts.size() > 1) add_outages(panels.back(), all.front().of->history, part, time);
  }
  return panels;
}

Figure line_figure(const std::vector<Prepared>& all, const std::vector<Part>& parts, Range time) {
  Figure figure;
  figure.is_stacked = true;
  bool is_mean = false;
  figure.panels = panels_of(all, parts, time, is_mean);
  for (Panel& panel : figure.panels) {
    if (figure.panels.size() > 1) panel.height = height_of_small_panel;
    if (&panel != &figure.panels.back()) panel.x.name = "";
  }
  figure.caption = "GPUs that one or more jobs held, of all GPUs of the " +
                   std::string(parts.size() > 1 ? "server." : "chosen servers.");
  if (is_mean)
    figure.caption += " Each step is the mean over " + duration_text((time.high - time.low) / mean_columns) + ".";
  const bool has_lost =
      std::any_of(figure.panels.begin(), figure.panels.end(), [](const Panel& p) { return !p.lost.empty(); });
  if (has_lost) figure.caption += " Grey: the server was lost.";
  return figure;
}

bool same_servers(const History& a, const History& b) {
  return std::equal(
      a.servers.begin(), a.servers.end(), b.servers.begin(), b.servers.end(),
      [](const HistoryServer& x, const HistoryServer& y) { return x.name == y.name && x.gpus == y.gpus; });
}

const NamedHistory& longest(const std::vector<NamedHistory>& histories) {
  return *std::max_element(histories.begin(), histories.end(),
                           [](const NamedHistory& a, const NamedHistory& b) { return a.history.end < b.history.end; });
}

Status comparable(const std::vector<NamedHistory>& histories, By by, std::size_t servers) {
  for (const NamedHistory& other : histories) {
    if (!same_servers(histories.front().history, other.history))
      return invalid("different-servers", histories.front().name + " and " + other.name + " ran on different servers")
          .hint("draw one of them: --policy, --seed, --where key=value");
  }
  if (by == By::server && servers > server_panels_max && histories.size() > 1)
    return invalid("too-many-servers",
                   fmt::format("{} servers of {} results are too much for one picture", servers, histories.size()))
        .note("many servers are drawn as a map, which shows one result")
        .hint("choose one: --policy " + histories.front().name)
        .hint("or some servers: --servers a,b");
  return {};
}

}  // namespace

Allocation allocation_of(const std::vector<std::vector<Range>>& busy, int gpu_first, int count, Range time) {
  const std::vector<Point> changes = allocated(busy, gpu_first, count, time.high);
  const auto inside =
      std::count_if(changes.begin(), changes.end(), [&](const Point& p) { return p.x > time.low && p.x < time.high; });
  if (static_cast<std::size_t>(inside) > exact_changes_max) return {as_means(busy, gpu_first, count, time), true};
  return {as_steps(changes, count, time), false};
}

Result<Figure> utilization_figure(const std::vector<NamedHistory>& histories, By by, const Window& window) {
  const NamedHistory& reference = longest(histories);
  const Result<std::vector<int>> servers = chosen_servers(reference.history, window.servers);
  if (!servers.ok()) return servers.error();
  const Result<Range> time = chosen_time(reference.history, window);
  if (!time.ok()) return time.error();
  if (const Status fine = comparable(histories, by, servers->size()); !fine.ok()) return fine.error();
  std::vector<Prepared> all;
  for (const NamedHistory& named : histories) all.push_back({&named, busy_times(named.history)});
  const bool is_map = by == By::server && servers->size() > server_panels_max;
  Figure figure = is_map ? allocation_map(reference.history, *servers, *time)
                         : line_figure(all, parts_of(reference.history, *servers, by), *time);
  figure.kind = "util";
  figure.title = (by == By::server ? "GPU allocation by server" : "GPU allocation") +
                 (histories.size() == 1 ? ", " + reference.name : std::string());
  const Part cluster = {"", *servers};
  figure.summary = summary_of(all, cluster, *time);
  const std::size_t gpus = gpus_of(all.front(), cluster).size();
  figure.caption += fmt::format(" n = {} on {}.", counted(reference.history.jobs, "job"), counted(gpus, "GPU"));
  return figure;
}

}  // namespace sl::plot
