#include "plot/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/suggest.h"
#include "plot/csv.h"
#include "plot/statistics.h"
#include "plot/text.h"

namespace sl::plot {
namespace {

// Results that differ in x and seed alone.
struct Group {
  std::string name;
  std::vector<const SimulatedResult*> results;
};

std::vector<Group> groups_of(const RunSet& runs, const std::string& x) {
  RunSet blurred = runs;  // what does not tell groups apart is taken away before they are named
  const bool is_one_setting = !origin_text(runs).empty();
  for (SimulatedResult& result : blurred.results) {
    result.seed = 0;
    result.parameters.erase(x);
    if (x == "jobs" || x == "seed") result.figures.erase("jobs");
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

// Which of jobs, seed and parameters could be an x axis.
std::vector<std::string> varying(const RunSet& runs) {
  std::vector<std::string> keys;
  for (const std::string& key : keys_of(runs)) {
    const bool is_input = key == "jobs" || key == "seed" ||
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
  return invalid("nothing-varies", values.empty() ? x + " is not a number in these results"
                                                  : x + " is the same in all results: " + figure_text(*values.begin()))
      .hint(advice);
}

std::string lower_case_first(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
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

void widen(Range& range, double value) {
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

Panel line_panel(const std::vector<Group>& groups, const std::string& x, const Quantity& quantity) {
  Panel panel;
  const Quantity across = describe(x);
  Range x_range{INFINITY, -INFINITY}, y_range{INFINITY, -INFINITY};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Series series = line_of(groups[i], static_cast<int>(i), x, quantity.key);
    for (const Point& point : series.points) widen(x_range, point.x), widen(y_range, point.y);
    for (const Spread& s : series.spread) widen(y_range, s.low), widen(y_range, s.high);
    if (!series.points.empty()) panel.series.push_back(std::move(series));
  }
  if (y_range.low >= 0) y_range.low = 0;
  panel.x = {across.name, across.unit, x_range};
  panel.x.whole = x == "jobs" || x == "seed";
  panel.y = {quantity.name, quantity.unit, y_range};
  panel.y.rounds = true;
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

std::string value_text(const Quantity& quantity, double value) {
  if (quantity.unit == Unit::seconds) return duration_text(value);
  return figure_text(value) + (quantity.unit == Unit::percent ? " %" : "");
}

std::string names_text(const std::vector<Quantity>& quantities) {
  std::vector<std::string> names;
  for (const Quantity& quantity : quantities)
    names.push_back(names.empty() ? quantity.name : lower_case_first(quantity.name));
  return joined(names, ", ");
}

// "round_robin: makespan 2.1 h at 10 to 3 h at 20".
std::string line_summary(const std::vector<Panel>& panels, const std::vector<Quantity>& quantities) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    for (const Series& series : panels[i].series) {
      const Point &first = series.points.front(), &last = series.points.back();
      parts.push_back(fmt::format("{} of {} {} at {} and {} at {}", lower_case_first(quantities[i].name), series.name,
                                  value_text(quantities[i], first.y), figure_text(first.x),
                                  value_text(quantities[i], last.y), figure_text(last.x)));
    }
  }
  std::string text = joined(parts, "; ") + ".";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::optional<Bar> bar_of(const Group& group, const Quantity& quantity) {
  std::vector<double> values;
  for (const SimulatedResult* result : group.results) {
    if (const auto found = result->figures.find(quantity.key); found != result->figures.end())
      values.push_back(found->second);
  }
  if (values.empty()) return {};
  const Estimate e = estimate(values);
  Bar bar{group.name, 0, e.mean};
  if (e.count > 1) bar.whisker = Range{e.low, e.high};
  bar.label = value_text(quantity, e.mean);
  return bar;
}

// The mean of the results' own bounds, `avg_jct_bound_s` beside `avg_jct_s`; nothing when they are not about equally
// many jobs.
std::optional<double> lower_bound_of(const RunSet& runs, const std::string& key) {
  if (!key.ends_with("_s")) return {};
  const std::string bound_key = key.substr(0, key.size() - 2) + "_bound_s";
  std::set<std::string> jobs;
  double sum = 0;
  for (const SimulatedResult& result : runs.results) {
    const auto bound = result.figures.find(bound_key);
    if (bound == result.figures.end()) return {};
    sum += bound->second;
    jobs.insert(value_text_of(result, "jobs").value_or(""));
  }
  return jobs.size() == 1 ? std::optional(sum / static_cast<double>(runs.results.size())) : std::nullopt;
}

Panel bar_panel(const RunSet& runs, const std::vector<Group>& groups, const Quantity& quantity) {
  Panel panel;
  Range range{0, 0};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    panel.y.rows.push_back({{static_cast<double>(i), static_cast<double>(i + 1)}, groups[i].name});
    std::optional<Bar> bar = bar_of(groups[i], quantity);
    if (!bar) continue;
    bar->row = static_cast<int>(i);
    widen(range, bar->value);
    if (bar->whisker) widen(range, bar->whisker->low), widen(range, bar->whisker->high);
    panel.bars.push_back(std::move(*bar));
  }
  if (const auto bound = lower_bound_of(runs, quantity.key)) {
    widen(range, *bound);
    panel.guides.push_back({*bound, "lower bound " + value_text(quantity, *bound)});
  }
  panel.x = {quantity.name, quantity.unit, range};
  panel.x.rounds = true;
  panel.y.range = {0, static_cast<double>(groups.size())};
  panel.height = 13 * static_cast<double>(groups.size());
  return panel;
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

Status no_values(const Quantity& quantity) {
  return invalid("empty-data", "none of these results has a value of " + quantity.key);
}

}  // namespace

Result<Figure> lines_figure(const RunSet& runs, const std::string& x, const std::vector<std::string>& metrics) {
  const Result<std::vector<Quantity>> quantities = quantities_of(runs, metrics);
  if (!quantities.ok()) return quantities.error();
  if (const Status fine = check_x(runs, x); !fine.ok()) return fine.error();
  const std::vector<Group> groups = groups_of(runs, x);
  if (groups.size() > line_styles)
    return invalid("too-many-lines", fmt::format("{} lines cannot be told apart", groups.size()))
        .note(fmt::format("at most {}", line_styles))
        .hint("choose some: --policy a,b or --where key=value");
  Figure figure;
  for (const Quantity& quantity : *quantities) {
    figure.panels.push_back(line_panel(groups, x, quantity));
    if (figure.panels.back().series.empty()) return no_values(quantity).error();
  }
  figure.kind = "lines";
  figure.title = names_text(*quantities) + " by " + lower_case_first(describe(x).name);
  figure.summary = line_summary(figure.panels, *quantities);
  figure.caption = joined({definitions_of(*quantities), sample_text(runs, groups, x)}, " ");
  return figure;
}

Result<Figure> bars_figure(const RunSet& runs, const std::vector<std::string>& metrics) {
  const Result<std::vector<Quantity>> quantities = quantities_of(runs, metrics);
  if (!quantities.ok()) return quantities.error();
  const std::vector<Group> groups = groups_of(runs, "");
  if (groups.size() > bars_max)
    return invalid("too-many-bars", fmt::format("{} bars are too many for one picture", groups.size()))
        .hint("choose some: --policy a,b or --where key=value");
  Figure figure;
  for (const Quantity& quantity : *quantities) {
    figure.panels.push_back(bar_panel(runs, groups, quantity));
    if (figure.panels.back().bars.empty()) return no_values(quantity).error();
  }
  figure.kind = "bars";
  figure.title = names_text(*quantities);
  figure.summary = bar_summary(figure.panels, *quantities);
  figure.caption = joined({definitions_of(*quantities), sample_text(runs, groups, "")}, " ");
  const bool has_bound =
      std::any_of(figure.panels.begin(), figure.panels.end(), [](const Panel& p) { return !p.guides.empty(); });
  if (has_bound) figure.caption += " Lower bound: no schedule of these jobs can be better.";
  figure.csv = bar_csv(figure, *quantities);
  return figure;
}

}  // namespace sl::plot
