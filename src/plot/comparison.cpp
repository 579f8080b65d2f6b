#include "plot/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/csv.h"
#include "base/statistics.h"
#include "base/suggest.h"
#include "plot/text.h"

namespace sl::plot {
namespace {

constexpr std::size_t ticks_at_values_max = 12;
constexpr double hidden_below = 0.05;  // of the longest bar

// Results that differ only in x and seed.
struct Group {
  std::string name;
  std::vector<const SimulatedResult*> results;
};

// Whether the folders are of the same jobs on the same cluster, as when each holds other seeds or policies.
bool have_one_setting(const std::vector<RunFolder>& folders) {
  const auto trace = [](const RunFolder& folder) { return std::filesystem::path(folder.trace).lexically_normal(); };
  return std::ranges::all_of(folders, [&](const RunFolder& folder) {
    return trace(folder) == trace(folders.front()) && folder.servers == folders.front().servers;
  });
}

std::vector<Group> groups_of(const RunSet& runs, const std::string& x) {
  RunSet blurred = runs;  // everything that does not distinguish groups is removed before they are named
  const bool is_one_setting = have_one_setting(runs.folders);
  for (SimulatedResult& result : blurred.results) {
    result.seed = 0;
    result.parameters.erase(x);
    if (x == "jobs" || x == "seed") result.figures.erase("jobs");
    if (x == "load") result.figures.erase("load");
    if (is_one_setting) result.folder = 0;
  }
  const std::vector<std::string> names = names_of(blurred, Naming::alike_share);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == names[i]; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{names[i], {}});
    group->results.push_back(&runs.results[i]);
  }
  return groups;
}

std::optional<double> number_of(const std::optional<std::string>& text) {
  double value = 0;
  if (!text) return {};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(value)) return {};
  return value;
}

std::set<std::string> keys_of(const RunSet& runs) {
  std::set<std::string> keys;
  for (const SimulatedResult& result : runs.results) {
    for (const auto& [key, _] : result.parameters) keys.insert(key);
    for (const auto& [key, _] : result.figures) keys.insert(key);
  }
  return keys;
}

// Which of jobs, load, seed and parameters could be the x axis.
std::vector<std::string> varying(const RunSet& runs) {
  std::vector<std::string> keys;
  for (const std::string& key : keys_of(runs)) {
    const bool is_input = key == "jobs" || key == "load" || key == "seed" ||
                          std::any_of(runs.results.begin(), runs.results.end(),
                                      [&](const auto& r) { return r.parameters.contains(key); });
    std::set<double> values;
    for (const SimulatedResult& result : runs.results) {
      if (const auto value = number_of(value_text_of(result, key))) values.insert(*value);
    }
    if (is_input && values.size() > 1) keys.push_back(key);
  }
  return keys;
}

Result<std::vector<Quantity>> quantities_of(const RunSet& runs, const std::vector<std::string>& metrics) {
  std::vector<Quantity> quantities;
  for (const std::string& metric : metrics) {
    const Result<Quantity> found = find_quantity(metric, runs);
    if (!found.ok()) return found.error();
    quantities.push_back(*found);
  }
  return quantities;
}

Status check_x(const RunSet& runs, const std::string& x) {
  const std::set<std::string> keys = keys_of(runs);
  const std::vector<std::string> able = varying(runs);
  const std::string advice =
      able.empty() ? "schedulearn plot bars compares policies" : "--x " + joined(able, " or --x ");
  if (!keys.contains(x)) {
    Error error = not_found("unknown-x", "these results have no parameter or number " + x).hint(advice);
    if (const auto near = did_you_mean(x, {keys.begin(), keys.end()}))
      error.hints.insert(error.hints.begin(), "did you mean " + *near + "?");
    return error;
  }
  std::set<double> values;
  for (const SimulatedResult& result : runs.results) {
    if (const auto value = number_of(value_text_of(result, x))) values.insert(*value);
  }
  if (values.size() > 1) return {};
  const bool is_partly_text = std::ranges::any_of(
      runs.results, [&](const SimulatedResult& result) { return !number_of(value_text_of(result, x)); });
  return invalid("nothing-varies", values.empty() || is_partly_text
                                       ? x + " is not a number in these results"
                                       : x + " is the same in all results: " + figure_text(*values.begin()))
      .hint(advice);
}

std::string lower_case_first(std::string text) {
  const auto is_capital = [&](std::size_t i) { return i < text.size() && text[i] >= 'A' && text[i] <= 'Z'; };
  if (is_capital(0) && !is_capital(1)) text[0] = static_cast<char>(text[0] - 'A' + 'a');  // not "gPU"
  return text;
}

Series line_of(const Group& group, int style, const std::string& x, const std::string& key) {
  std::map<double, std::vector<double>> samples;
  for (const SimulatedResult* result : group.results) {
    const auto at = number_of(value_text_of(*result, x));
    const auto found = result->figures.find(key);
    if (at && found != result->figures.end()) samples[*at].push_back(found->second);
  }
  Series series{group.name, style, {}};
  series.marks_points = true;
  bool has_interval = false;
  for (const auto& [at, values] : samples) {
    const Estimate e = estimate(values);
    series.points.push_back({at, e.mean});
    series.spread.push_back({at, e.low, e.high});
    has_interval = has_interval || values.size() > 1;
  }
  if (!has_interval) series.spread.clear();
  return series;
}

// A picture writes all its times in one unit.
TimeUnit unit_of_times(const RunSet& runs, const std::vector<Quantity>& quantities) {
  double most = 0;
  for (const SimulatedResult& result : runs.results) {
    for (const Quantity& quantity : quantities) {
      const auto found = result.figures.find(quantity.key);
      if (quantity.unit == Unit::seconds && found != result.figures.end()) most = std::max(most, found->second);
    }
  }
  return time_unit(most);
}

std::string value_text(const Quantity& quantity, const TimeUnit& unit, double value) {
  if (quantity.unit == Unit::seconds) return text_in(unit, value);
  return figure_text(value) + (quantity.unit == Unit::percent ? " %" : "");
}

// Shares end at 100 %, where intervals that reach beyond are cut.
Axis value_axis(const Quantity& quantity, const TimeUnit& unit, Range range) {
  Axis axis = {quantity.name, quantity.unit, range};
  const bool is_share = quantity.unit == Unit::percent && range.low >= 0 && range.high <= 100;
  if (is_share) axis.range = {0, 100};
  axis.rounds = !is_share;
  if (quantity.unit == Unit::seconds) axis.time_unit = unit;
  return axis;
}

void widen(Range& range, double value) {
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

// Where no value is negative, intervals that reach below zero are cut.
void cut_at_zero(Range& range, double least) {
  if (least >= 0) range.low = 0;
}

// Of the means, and of the intervals unless they are of shares, which end at 100 %.
Range range_of(const std::vector<Series>& lines, const Quantity& quantity) {
  Range range{INFINITY, -INFINITY};
  double least = INFINITY;
  for (const Series& series : lines) {
    for (const Point& point : series.points) widen(range, point.y), least = std::min(least, point.y);
    if (quantity.unit == Unit::percent && range.high <= 100) continue;
    for (const Spread& s : series.spread) widen(range, s.low), widen(range, s.high);
  }
  cut_at_zero(range, least);
  return range;
}

Panel line_panel(const std::vector<Group>& groups, const std::string& x, const Quantity& quantity,
                 const TimeUnit& unit) {
  Panel panel;
  std::set<double> values;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Series series = line_of(groups[i], static_cast<int>(i), x, quantity.key);
    for (const Point& point : series.points) values.insert(point.x);
    if (!series.points.empty()) panel.series.push_back(std::move(series));
  }
  if (values.empty()) return panel;
  const Quantity across = describe(x);
  panel.x = {across.name, across.unit, {*values.begin(), *values.rbegin()}};
  panel.x.whole = x == "jobs" || x == "seed";
  if (values.size() <= ticks_at_values_max) panel.x.values.assign(values.begin(), values.end());
  panel.y = value_axis(quantity, unit, range_of(panel.series, quantity));
  return panel;
}

std::string definitions_of(const std::vector<Quantity>& quantities) {
  std::vector<std::string> parts;
  for (const Quantity& quantity : quantities) {
    const bool is_new = std::find(parts.begin(), parts.end(), quantity.definition) == parts.end();
    if (!quantity.definition.empty() && is_new) parts.push_back(quantity.definition);
  }
  return joined(parts, " ");
}

std::string range_text(std::size_t low, std::size_t high) {
  const std::string least = with_commas(static_cast<double>(low), 0);
  return low == high ? least : least + " to " + with_commas(static_cast<double>(high), 0);
}

// "n = 1,000 jobs; means over 3 seeds …".
std::string sample_text(const RunSet& runs, const std::vector<Group>& groups, const std::string& x) {
  std::size_t jobs_least = SIZE_MAX, jobs_most = 0, seeds_least = SIZE_MAX, seeds_most = 0;
  for (const Group& group : groups) {
    std::map<std::optional<std::string>, std::size_t> at_x;
    for (const SimulatedResult* result : group.results) ++at_x[value_text_of(*result, x)];
    for (const auto& [_, count] : at_x) {
      seeds_least = std::min(seeds_least, count);
      seeds_most = std::max(seeds_most, count);
    }
  }
  for (const SimulatedResult& result : runs.results) {
    const auto jobs = result.figures.find("jobs");
    const auto count = jobs == result.figures.end() ? 0 : static_cast<std::size_t>(std::max(0.0, jobs->second));
    jobs_least = std::min(jobs_least, count);
    jobs_most = std::max(jobs_most, count);
  }
  std::string text = jobs_most > 0 ? "n = " + range_text(jobs_least, jobs_most) + " jobs." : "";
  if (seeds_most > 1)
    text +=
        (text.empty() ? "" : " ") + fmt::format("Means of {} seeds; whiskers: 95 % interval of the mean (Student's t).",
                                                range_text(seeds_least, seeds_most));
  return text;
}

std::string names_text(const std::vector<Quantity>& quantities) {
  std::vector<std::string> names;
  for (const Quantity& quantity : quantities)
    names.push_back(names.empty() ? quantity.name : lower_case_first(quantity.name));
  return joined(names, ", ");
}

// "round_robin: makespan 2.1 h at 10 to 3 h at 20".
std::string line_summary(const std::vector<Panel>& panels, const std::vector<Quantity>& quantities,
                         const TimeUnit& unit) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    for (const Series& series : panels[i].series) {
      const Point &first = series.points.front(), &last = series.points.back();
      parts.push_back(fmt::format("{} of {} {} at {} and {} at {}", lower_case_first(quantities[i].name), series.name,
                                  value_text(quantities[i], unit, first.y), figure_text(first.x),
                                  value_text(quantities[i], unit, last.y), figure_text(last.x)));
    }
  }
  std::string text = joined(parts, "; ") + ".";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::optional<Bar> bar_of(const Group& group, const Quantity& quantity, const TimeUnit& unit) {
  std::vector<double> values;
  for (const SimulatedResult* result : group.results) {
    if (const auto found = result->figures.find(quantity.key); found != result->figures.end())
      values.push_back(found->second);
  }
  if (values.empty()) return {};
  const Estimate e = estimate(values);
  Bar bar{group.name, 0, e.mean};
  if (e.count > 1) bar.whisker = Range{e.low, e.high};
  bar.label = value_text(quantity, unit, e.mean);
  return bar;
}

// The mean of the results' own bounds, `avg_jct_bound_s` next to `avg_jct_s`; nothing if those of two groups differ:
// they are of other jobs, another load or other seeds.
std::optional<double> lower_bound_of(const std::vector<Group>& groups, const std::string& key) {
  if (!key.ends_with("_s")) return {};
  const std::string bound_key = key.substr(0, key.size() - 2) + "_bound_s";
  std::vector<double> common;
  for (const Group& group : groups) {
    std::vector<double> bounds;
    for (const SimulatedResult* result : group.results) {
      const auto bound = result->figures.find(bound_key);
      if (bound == result->figures.end()) return {};
      bounds.push_back(bound->second);
    }
    std::ranges::sort(bounds);
    if (!common.empty() && common != bounds) return {};
    common = std::move(bounds);
  }
  return estimate(common).mean;
}

// Logarithms have no zero: the axis begins at the power of ten below the smallest value.
Range log_range(const Panel& panel) {
  Range range{INFINITY, 0};
  const auto add = [&](double value) {
    if (value > 0) widen(range, value);
  };
  for (const Bar& bar : panel.bars) {
    add(bar.value);
    if (bar.whisker) add(bar.whisker->low), add(bar.whisker->high);
  }
  for (const Guide& guide : panel.guides) add(guide.at);
  return range.high > range.low ? range : Range{0.5 * range.high, range.high > 0 ? 2 * range.high : 1};
}

Range linear_range(const Panel& panel, const Quantity& quantity) {
  Range range{0, 0};
  double least = 0;
  for (const Bar& bar : panel.bars) {
    widen(range, bar.value);
    least = std::min(least, bar.value);
    if (bar.whisker && quantity.unit != Unit::percent) widen(range, bar.whisker->low), widen(range, bar.whisker->high);
  }
  cut_at_zero(range, least);
  for (const Guide& guide : panel.guides) widen(range, guide.at);
  return range;
}

Panel bar_panel(const std::vector<Group>& groups, const Quantity& quantity, const TimeUnit& unit, Spacing spacing) {
  Panel panel;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    panel.y.rows.push_back({{static_cast<double>(i), static_cast<double>(i + 1)}, groups[i].name});
    std::optional<Bar> bar = bar_of(groups[i], quantity, unit);
    if (!bar) continue;
    bar->row = static_cast<int>(i);
    panel.bars.push_back(std::move(*bar));
  }
  if (const auto bound = lower_bound_of(groups, quantity.key))
    panel.guides.push_back({*bound, "lower bound " + value_text(quantity, unit, *bound)});
  const bool is_log = spacing == Spacing::logarithmic;
  panel.x = value_axis(quantity, unit, is_log ? log_range(panel) : linear_range(panel, quantity));
  panel.x.spacing = spacing;
  if (is_log) panel.x.range = log_range(panel), panel.x.rounds = true;
  panel.y.range = {0, static_cast<double>(groups.size())};
  panel.height = 13 * static_cast<double>(groups.size());
  return panel;
}

// Whether some bars are too short to be seen beside the longest.
bool hides_bars(const Panel& panel) {
  double most = 0;
  for (const Bar& bar : panel.bars) most = std::max(most, bar.value);
  return std::any_of(panel.bars.begin(), panel.bars.end(),
                     [&](const Bar& bar) { return bar.value > 0 && bar.value < hidden_below * most; });
}

bool crosses_bound(const Panel& panel) {
  return std::any_of(panel.guides.begin(), panel.guides.end(), [&](const Guide& guide) {
    return std::any_of(panel.bars.begin(), panel.bars.end(),
                       [&](const Bar& bar) { return bar.whisker && bar.whisker->low < guide.at; });
  });
}

std::string bar_csv(const Figure& figure, const std::vector<Quantity>& quantities) {
  std::string text = "metric,name,mean,low,high\n";
  const auto number = [](std::optional<double> value) { return value ? fmt::format("{:.9g}", *value) : ""; };
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    for (const Bar& bar : figure.panels[i].bars) {
      const auto low = bar.whisker ? std::optional(bar.whisker->low) : std::nullopt;
      const auto high = bar.whisker ? std::optional(bar.whisker->high) : std::nullopt;
      text += fmt::format("{},{},{},{},{}\n", csv_field(quantities[i].key), csv_field(bar.name), number(bar.value),
                          number(low), number(high));
    }
    for (const Guide& guide : figure.panels[i].guides)
      text += fmt::format("{},lower bound,{},,\n", csv_field(quantities[i].key), number(guide.at));
  }
  return text;
}

std::string bar_summary(const std::vector<Panel>& panels, const std::vector<Quantity>& quantities) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    std::vector<std::string> values;
    for (const Bar& bar : panels[i].bars) values.push_back(bar.name + " " + bar.label);
    for (const Guide& guide : panels[i].guides) values.push_back(guide.label);
    parts.push_back(quantities[i].name + ": " + joined(values, ", "));
  }
  return joined(parts, "; ") + ".";
}

std::string bar_caption(const std::vector<Panel>& panels, std::string text) {
  const auto any = [&](auto is) { return std::any_of(panels.begin(), panels.end(), is); };
  if (any([](const Panel& panel) { return !panel.guides.empty(); }))
    text += " Lower bound: no schedule of these jobs can be better.";
  if (any(crosses_bound))
    text += " An interval that crosses it is one of means over seeds, each of which has a bound of its own.";
  if (any([](const Panel& panel) { return panel.x.spacing == Spacing::logarithmic; }))
    text += " Logarithmic: compare where bars end, not their lengths.";
  return text;
}

Status no_values(const Quantity& quantity) {
  return invalid("empty-data", "none of these results has a value for " + quantity.key);
}

}  // namespace

Result<Figure> lines_figure(const RunSet& runs, const std::string& x, const std::vector<std::string>& metrics) {
  const Result<std::vector<Quantity>> quantities = quantities_of(runs, metrics);
  if (!quantities.ok()) return quantities.error();
  if (const Status fine = check_x(runs, x); !fine.ok()) return fine.error();
  const std::vector<Group> groups = groups_of(runs, x);
  if (const Status fit = lines_fit(groups.size(), line_styles, "choose some: --policy a,b or --where key=value");
      !fit.ok())
    return fit.error();
  Figure figure;
  const TimeUnit unit = unit_of_times(runs, *quantities);
  for (const Quantity& quantity : *quantities) {
    figure.panels.push_back(line_panel(groups, x, quantity, unit));
    if (figure.panels.back().series.empty()) return no_values(quantity).error();
  }
  figure.kind = "lines";
  figure.title = names_text(*quantities) + " by " + lower_case_first(describe(x).name);
  figure.summary = line_summary(figure.panels, *quantities, unit);
  std::vector<Quantity> defined = *quantities;
  defined.push_back(describe(x));
  figure.caption = joined({definitions_of(defined), sample_text(runs, groups, x)}, " ");
  return figure;
}

Result<Figure> bars_figure(const RunSet& runs, const std::vector<std::string>& metrics, Spacing spacing) {
  const Result<std::vector<Quantity>> quantities = quantities_of(runs, metrics);
  if (!quantities.ok()) return quantities.error();
  const std::vector<Group> groups = groups_of(runs, "");
  if (groups.size() > bars_max)
    return invalid("too-many-bars", fmt::format("{} bars are too many for one picture", groups.size()))
        .hint("choose some: --policy a,b or --where key=value");
  Figure figure;
  const TimeUnit unit = unit_of_times(runs, *quantities);
  for (const Quantity& quantity : *quantities) {
    figure.panels.push_back(bar_panel(groups, quantity, unit, spacing));
    if (figure.panels.back().bars.empty()) return no_values(quantity).error();
  }
  figure.kind = "bars";
  figure.title = names_text(*quantities);
  figure.summary = bar_summary(figure.panels, *quantities);
  figure.caption =
      bar_caption(figure.panels, joined({definitions_of(*quantities), sample_text(runs, groups, "")}, " "));
  const bool hides = std::any_of(figure.panels.begin(), figure.panels.end(), hides_bars);
  if (hides && spacing == Spacing::linear) figure.hints.emplace_back("one bar hides others: --scale log");
  figure.csv = bar_csv(figure, *quantities);
  return figure;
}

}  // namespace sl::plot
