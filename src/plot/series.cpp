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

using Values = std::vector<std::optional<double>>;

struct Lines {
  double step_s = 0;
  std::string shadow;
  Values mean, low, high, total;
};

Values values_in(const json::value& line) {
  Values values;
  for (const json::value& value : line.at("values").as_array())
    values.push_back(value.is_null() ? std::nullopt : std::optional(value.to_number<double>()));
  return values;
}

Values values_of(const json::array& lines, const char* name) {
  for (const json::value& line : lines) {
    if (line.at("name").as_string() == name) return values_in(line);
  }
  return {};
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

// At the beginning of each step, from now on, or from when it began.
std::vector<Point> points_of(const Values& values, double step_s) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) points.push_back({static_cast<double>(i) * step_s, *values[i]});
  }
  return points;
}

std::vector<Spread> spread_of(const Values& low, const Values& high, double step_s) {
  std::vector<Spread> spread;
  for (std::size_t i = 0; i < std::min(low.size(), high.size()); ++i) {
    if (low[i] && high[i]) spread.push_back({static_cast<double>(i) * step_s, *low[i], *high[i]});
  }
  return spread;
}

// The part that is known; gaps are left to the line between their neighbours.
Panel panel_of(const std::string& name, const Values& values, double step_s) {
  Panel panel;
  Series line{name, 0, points_of(values, step_s)};
  double low = 0, high = 0;
  for (const Point& point : line.points) low = std::min(low, point.y), high = std::max(high, point.y);
  panel.x = {"Time since it began to follow", Unit::seconds, {0, static_cast<double>(values.size()) * step_s}};
  panel.y = {name, Unit::seconds, {low, high > low ? high : low + 1}};
  panel.y.rounds = true;
  line.marks_points = line.points.size() < 2;
  panel.series.push_back(std::move(line));
  return panel;
}

struct Held {
  double step_s = 0, gpus = 0;
  Values low, median, high;  // on all servers
  std::vector<std::pair<std::string, Values>> servers;
};

Result<Held> read_held(const json::value& document) {
  try {
    Held held{document.at("step_s").to_number<double>(), 0, {}, {}, {}, {}};
    for (const json::value& line : document.at("series").as_array()) {
      const json::object& labels = line.at("labels").as_object();
      if (const json::value* server = labels.if_contains("server")) {
        held.servers.emplace_back(server->as_string().c_str(), values_in(line));
        held.gpus += std::stod(labels.at("gpus").as_string().c_str());
      } else {
        const std::string quantile = labels.at("quantile").as_string().c_str();
        (quantile == "0.1" ? held.low : quantile == "0.9" ? held.high : held.median) = values_in(line);
      }
    }
    return held;
  } catch (const std::exception& thrown) {
    return invalid("bad-series", std::string("this is no forecast of a cluster: ") + thrown.what());
  }
}

}  // namespace

Result<Figure> regret_figure(const json::value& document) {
  const Result<Lines> lines = read(document);
  if (!lines.ok()) return lines.error();
  Panel mean = panel_of("Regret per job", lines->mean, lines->step_s);
  const std::vector<Point>& points = mean.series.front().points;
  if (points.empty())
    return invalid("empty-data", "no regret is known yet").hint("schedulearn policy shadow NAME has a policy follow");
  mean.series.front().spread = spread_of(lines->low, lines->high, lines->step_s);
  for (const Spread& spread : mean.series.front().spread) {
    mean.y.range.low = std::min(mean.y.range.low, spread.low);
    mean.y.range.high = std::max(mean.y.range.high, spread.high);
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

Result<Figure> ahead_figure(const json::value& document) {
  constexpr std::size_t servers_most = 8;  // that can be told apart
  const Result<Held> held = read_held(document);
  if (!held.ok()) return held.error();
  Series all{"all servers", 0, points_of(held->median, held->step_s), spread_of(held->low, held->high, held->step_s)};
  if (all.points.empty()) return invalid("empty-data", "no forecast is known yet");
  const Point now = all.points.front(), last = all.points.back();
  Panel whole, servers;
  whole.x = servers.x = {"Time from now", Unit::seconds, {0, last.x}};
  whole.y = {"GPUs held", Unit::none, {0, std::max(held->gpus, 1.0)}};
  whole.series.push_back(std::move(all));
  double most = 1;
  for (std::size_t i = 0; i < std::min(held->servers.size(), servers_most); ++i) {
    const auto& [name, values] = held->servers[i];
    servers.series.push_back({name, static_cast<int>(i), points_of(values, held->step_s)});
    for (const Point& point : servers.series.back().points) most = std::max(most, point.y);
  }
  servers.y = {"GPUs held on a server", Unit::none, {0, most}};
  whole.y.rounds = servers.y.rounds = true;
  Figure figure;
  figure.kind = "ahead";
  figure.title = "GPUs that jobs will hold";
  figure.summary =
      fmt::format("Of {} GPUs, jobs hold {} now and {} after {} h, by the median of the futures.",
                  figure_text(held->gpus), figure_text(now.y), figure_text(last.y), figure_text(last.x / 3600));
  figure.caption =
      "Above: all servers, the median of the possible futures and a band that holds 8 of 10. Below: the mean of "
      "the futures on each server";
  if (held->servers.size() > servers_most)
    figure.caption += fmt::format(", the first {} of {}", servers_most, held->servers.size());
  figure.caption += ". Jobs that are yet to be submitted are not in it.";
  figure.panels = {std::move(whole), std::move(servers)};
  figure.is_stacked = true;
  return figure;
}

}  // namespace sl::plot
