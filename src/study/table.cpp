#include "study/table.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>

#include "base/statistics.h"
#include "base/text.h"
#include "study/report.h"
#include "wire/visible.h"

namespace sl::study {
namespace {

constexpr std::size_t notes_unfolded_max = 3;

// Rows that differ only in the seed.
struct Group {
  std::size_t place = 0;  // in the order requested
  std::vector<const ExperimentRow*> rows;
  const ExperimentRow& first() const { return *rows.front(); }
  std::vector<double> values(const MetricInfo& metric) const {
    std::vector<double> all;
    for (const ExperimentRow* row : rows) {
      if (const double value = row->metrics.*metric.value; !std::isnan(value)) all.push_back(value);
    }
    return all;
  }
  double mean(const MetricInfo& metric) const {
    const std::vector<double> all = values(metric);
    return all.empty() ? no_figure : estimate(all).mean;
  }
  bool has_all_jobs() const {
    return std::all_of(rows.begin(), rows.end(), [](const ExperimentRow* row) { return row->metrics.has_all_jobs(); });
  }
};

std::vector<Group> group(const ExperimentResult& result) {
  std::vector<Group> groups;
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) continue;
    const bool same = !groups.empty() && groups.back().first().policy.name == row.policy.name &&
                      groups.back().first().policy.parameters == row.policy.parameters &&
                      groups.back().first().arrivals == row.arrivals;
    if (!same) groups.push_back({groups.size(), {}});
    groups.back().rows.push_back(&row);
  }
  return groups;
}

// Smaller is better; no figure and unfinished jobs come last.
std::pair<bool, double> rank(const Group& group, const MetricInfo& metric) {
  const double mean = group.mean(metric);
  if (std::isnan(mean)) return {true, INFINITY};
  return {!group.has_all_jobs(), metric.more_is_better ? -mean : mean};
}

// Arrivals in the order requested, the rest by rank: a policy where its best parameters are.
std::vector<Group> sorted(std::vector<Group> groups, const MetricInfo& metric, const std::vector<Arrivals>& arrivals) {
  const auto place = [&](const Group& each) {
    const auto part = std::find(arrivals.begin(), arrivals.end(), each.first().arrivals) - arrivals.begin();
    auto best = rank(each, metric);
    for (const Group& other : groups) {
      const bool is_sibling =
          other.first().policy.name == each.first().policy.name && other.first().arrivals == each.first().arrivals;
      if (is_sibling) best = std::min(best, rank(other, metric));
    }
    return std::tuple(part, best, each.first().policy.name, rank(each, metric));
  };
  std::vector<std::pair<decltype(place(groups.front())), std::size_t>> places;
  for (std::size_t i = 0; i < groups.size(); ++i) places.emplace_back(place(groups[i]), i);
  std::sort(places.begin(), places.end());
  std::vector<Group> ordered;
  for (const auto& [_, i] : places) ordered.push_back(std::move(groups[i]));
  return ordered;
}

// ---- Text ----

std::size_t width(const std::string& text) {  // on the screen: ± counts as one
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Broken between words; every line but the first is indented by two more. Names in it, which are those of the trace, have
// no power over the terminal.
void print_wrapped(const std::string& sentence, std::size_t indent, std::size_t columns, std::ostream& out) {
  const std::string text = wire::visible_name(sentence);
  std::string line(indent, ' ');
  bool is_empty = true;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!is_empty && columns > 0 && width(line) + 1 + width(word) > columns) {
      out << line << '\n';
      line.assign(indent + 2, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + word;
    is_empty = false;
    at = end + 1;
  }
  out << line << '\n';
}

template <typename Number>
std::string count_text(Number n) {
  return with_commas(static_cast<double>(n), 0);
}

// Which numbers of jobs, or which loads, are asked for, each once; one: there is nothing to tell apart.
template <typename T>
std::vector<T> values_of(const ExperimentSettings& settings, T Arrivals::*of) {
  std::vector<T> values;
  for (const Arrivals& each : settings.arrivals) {
    if (std::find(values.begin(), values.end(), each.*of) == values.end()) values.push_back(each.*of);
  }
  return values;
}

std::string label(const PolicyChoice& policy) {
  const std::string parameters = parameters_text(policy);
  return policy.name + (parameters.empty() ? "" : " ") + parameters;
}

std::string label(const ExperimentSettings& settings, const ExperimentRow& row, bool with_arrivals) {
  std::string text = label(row.policy);
  for (const PolicySwitchChoice& each : settings.switches)
    text += fmt::format(", {} after {}", label(each.policy), duration_text(each.after.to_seconds()));
  const Arrivals& arrivals = row.arrivals;
  if (with_arrivals && values_of(settings, &Arrivals::jobs).size() > 1)
    text += fmt::format(" ({} jobs)", count_text(arrivals.jobs));
  if (with_arrivals && values_of(settings, &Arrivals::load).size() > 1)
    text += fmt::format(" (load {})", arrivals.load);
  return text;
}

// ---- The table ----

// A metric in the unit of its largest value.
struct Column {
  const MetricInfo* metric = nullptr;
  std::string unit;
  double divisor = 1;
  int digits = 0;
  std::string text(double value) const { return std::isnan(value) ? "-" : with_commas(value / divisor, digits); }
};

// Of the means that are not 0; 0 to 0 if there are none.
std::pair<double, double> extremes(const std::vector<Group>& groups, const MetricInfo& metric) {
  double least = INFINITY, most = 0;
  for (const Group& each : groups) {
    const double size = std::abs(each.mean(metric));
    if (size > 0) least = std::min(least, size), most = std::max(most, size);
  }
  return {std::min(least, most), most};
}

// So many that the largest shows four figures and the smallest three, as far as three decimals go.
int digits_for(double least, double most) {
  if (!(least > 0)) return 0;
  const auto places = [](double value) { return static_cast<int>(std::floor(std::log10(value))); };
  return std::clamp(std::max(3 - places(most), 2 - places(least)), 0, 3);
}

// `bound`: of this metric, shown in the same column; no_figure: there is none.
Column column_of(const MetricInfo& metric, const std::vector<Group>& groups, double bound) {
  if (metric.name.ends_with("_pct")) return {&metric, "%", 1, 1};
  if (!metric.name.ends_with("_s")) return {&metric, "", 1, is_count(metric) ? 0 : 3};
  auto [least, most] = extremes(groups, metric);
  if (bound > 0) least = std::min(least, bound);
  const TimeUnit unit = time_unit(most);
  return {&metric, unit.name, unit.seconds, digits_for(least / unit.seconds, most / unit.seconds)};
}

bool all_equal(const std::vector<double>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// A dash stands for no value; several seeds with different values give mean ± half the 95 % interval.
std::string cell(const Group& group, const Column& column) {
  const std::vector<double> values = group.values(*column.metric);
  if (values.empty()) return "-";
  if (all_equal(values)) return column.text(values.front());
  const Estimate of = estimate(values);
  return column.text(of.mean) + " ±" + column.text(of.half_width);
}

using Cells = std::vector<std::string>;

void print_aligned(const std::vector<Cells>& rows, const std::vector<std::size_t>& widths, std::size_t from,
                   std::size_t to, std::ostream& out) {
  for (const Cells& row : rows) {
    const auto cell = [&](std::size_t c) { return c < row.size() ? row[c] : std::string(); };
    std::string line = "  " + cell(0) + std::string(widths[0] - width(cell(0)), ' ');
    bool is_empty = true;
    for (std::size_t c = from; c < to; ++c) {
      line += "  " + std::string(widths[c] - width(cell(c)), ' ') + cell(c);
      is_empty = is_empty && cell(c).empty();
    }
    if (is_empty) continue;
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

// The first column again in front of those that do not fit beside it.
void print_aligned(const std::vector<Cells>& rows, std::size_t columns, std::ostream& out) {
  std::vector<std::size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  for (std::size_t from = 1, to = 1; from < widths.size(); from = to) {
    std::size_t taken = 2 + widths[0];
    while (to < widths.size() && (columns == 0 || to == from || taken + 2 + widths[to] <= columns))
      taken += 2 + widths[to++];
    if (from > 1) out << '\n';
    print_aligned(rows, widths, from, to, out);
  }
}

// The bound that is the same for all rows; nothing if some policy left jobs out, or numbers of jobs or seeds differ.
std::optional<LowerBounds> common_bound(const std::vector<Group>& groups) {
  std::optional<LowerBounds> bound;
  for (const Group& each : groups) {
    for (const ExperimentRow* row : each.rows) {
      if (!row->bounds || (bound && !(*row->bounds == *bound))) return {};
      bound = row->bounds;
    }
  }
  return bound;
}

double bound_of(const LowerBounds& bounds, const MetricInfo& metric) {
  if (metric.name == "avg_jct_s") return bounds.avg_jct_s;
  return metric.name == "makespan_s" ? bounds.makespan_s : no_figure;
}

bool has_bounded(const std::vector<const MetricInfo*>& metrics) {
  return std::ranges::any_of(metrics, [](const MetricInfo* metric) { return !std::isnan(bound_of({}, *metric)); });
}

std::vector<Cells> table_of(const ExperimentSettings& settings, const std::vector<Group>& groups,
                            const std::vector<const MetricInfo*>& metrics) {
  std::vector<Column> columns;
  std::vector<Cells> rows = {{"policy"}, {""}};
  const auto bound = common_bound(groups);
  for (const MetricInfo* metric : metrics) {
    columns.push_back(column_of(*metric, groups, bound ? bound_of(*bound, *metric) : no_figure));
    rows[0].emplace_back(without_unit(*metric));
    rows[1].push_back(columns.back().unit);
  }
  for (const Group& each : groups) {
    rows.push_back({label(settings, each.first(), true)});
    for (const Column& column : columns) rows.back().push_back(cell(each, column));
  }
  if (!bound || !has_bounded(metrics)) return rows;
  rows.push_back({"lower bound"});
  for (const Column& column : columns) {
    const double value = bound_of(*bound, *column.metric);
    rows.back().push_back(std::isnan(value) ? "" : column.text(value));
  }
  return rows;
}

// ---- Above it ----

void print_left_out(const ExperimentResult& result, const TableStyle& style, std::ostream& out) {
  const trace::TraceReport& report = result.report;
  const auto say = [&](std::int64_t count, const char* what, const char* noun, const char* which = "") {
    if (count > 0) fmt::print(out, "  {:<12} {} {}{}{}\n", what, count_text(count), noun, count == 1 ? "" : "s", which);
  };
  say(report.dropped_oversize, "left out", "job", " wider than the cluster, or than --max-gpus");
  say(report.dropped_without_gpus, "left out", "job", " without a GPU: --keep-cpu-jobs");
  for (const auto& [lack, such] : result.impossible) {
    print_wrapped(
        fmt::format("left out     {} {} that no server can ever run ({}); the first is {}: {}", count_text(such.jobs),
                    such.jobs == 1 ? "job" : "jobs", lack_name(lack), such.first, lack_text(such.why)),
        2, style.columns, out);
  }
  say(report.clipped_gpus, "made narrow", "job");
  say(report.clipped_duration, "clipped", "duration");
  if (report.was_unsorted) fmt::print(out, "  sorted       the rows were not in order of submission\n");
}

std::string cluster_text(const sim::Cluster& cluster) {
  if (cluster.is_pool) return fmt::format("one pool of {} GPU{}", cluster.gpus(), cluster.gpus() == 1 ? "" : "s");
  std::vector<std::pair<std::string, int>> kinds;  // "4 V100 GPUs", how many servers
  for (const sim::ServerKind& kind : cluster.kinds) {
    const std::string gpus = fmt::format("{} {}GPU{}", kind.gpus, kind.gpu_type.empty() ? "" : kind.gpu_type + " ",
                                         kind.gpus == 1 ? "" : "s");
    const auto same = std::ranges::find(kinds, gpus, &std::pair<std::string, int>::first);
    same == kinds.end() ? void(kinds.emplace_back(gpus, kind.count)) : void(same->second += kind.count);
  }
  constexpr std::size_t kinds_named = 4;
  if (kinds.size() > kinds_named)
    return fmt::format("{} servers of {} kinds with {} GPUs", count_text(cluster.servers()), kinds.size(),
                       count_text(cluster.gpus()));
  std::string text;
  for (const auto& [gpus, servers] : kinds)
    text += fmt::format("{}{} server{} of {}", text.empty() ? "" : " and ", servers, servers == 1 ? "" : "s", gpus);
  return text;
}

struct Loads {
  double least = INFINITY, most = 0;
};

Loads loads_of(const std::vector<Group>& groups) {
  Loads loads;
  for (const Group& each : groups) {
    for (const ExperimentRow* row : each.rows)
      loads.least = std::min(loads.least, row->load), loads.most = std::max(loads.most, row->load);
  }
  return loads;
}

std::string load_text(const Loads& loads) {
  if (loads.most == 0) return loads.least == 0 ? ", all submitted at once" : "";
  const std::string least = fmt::format("{:.2f}", loads.least), most = fmt::format("{:.2f}", loads.most);
  return ", load " + (least == most ? most : least + " to " + most);
}

void print_head(const ExperimentSettings& settings, const ExperimentResult& result, const std::vector<Group>& groups,
                const TableStyle& style, std::ostream& out) {
  std::string jobs = count_text(result.jobs);
  if (const auto counts = values_of(settings, &Arrivals::jobs); counts.size() > 1) {
    jobs.clear();
    for (const std::int64_t count : counts) jobs += (jobs.empty() ? "" : ", ") + count_text(count);
  }
  const Loads loads = loads_of(groups);
  const char* thing = jobs == "1" ? "job" : "jobs";
  print_wrapped(fmt::format("{} {} on {}{}", jobs, thing, cluster_text(settings.cluster), load_text(loads)), 0,
                style.columns, out);
  print_left_out(result, style, out);
  if (loads.most <= 1) return;
  print_wrapped(fmt::format("warning: load above 1: more work arrives than {} can do, so the queue grows until the "
                            "last submission",
                            settings.cluster.gpus() == 1 ? "the GPU" : count_text(settings.cluster.gpus()) + " GPUs"),
                2, style.columns, out);
}

// ---- Below it ----

// The group requested first among those with the same arrivals.
const Group& base_of(const std::vector<Group>& groups, const Arrivals& arrivals) {
  const Group* base = nullptr;
  for (const Group& each : groups) {
    if (each.first().arrivals == arrivals && (!base || each.place < base->place)) base = &each;
  }
  return *base;
}

// How a figure changes from one policy to another, over the seeds in which it is of all jobs under both.
Estimate change_pct(const Group& from, const Group& to, const MetricInfo& metric) {
  std::vector<double> before, after;
  for (const ExperimentRow* row : to.rows) {
    const auto same = std::ranges::find(from.rows, row->seed, &ExperimentRow::seed);
    if (same == from.rows.end() || !(*same)->metrics.has_all_jobs() || !row->metrics.has_all_jobs()) continue;
    const double first = (*same)->metrics.*metric.value, second = row->metrics.*metric.value;
    if (!std::isnan(first) && !std::isnan(second)) before.push_back(first), after.push_back(second);
  }
  return paired_change_pct(before, after);
}

// With several seeds: each policy compared with the first one that has the same arrivals, seed by seed.
void print_changes(const ExperimentSettings& settings, const std::vector<Group>& groups, const TableStyle& style,
                   std::ostream& out) {
  if (groups.empty() || groups.front().rows.size() < 2) return;
  const MetricInfo& jct = *find_metrics("avg_jct_s")->front();
  if (std::all_of(groups.begin(), groups.end(), [&](const Group& each) { return all_equal(each.values(jct)); })) {
    out << '\n';
    return print_wrapped(
        "all seeds give the same: they affect only generated workloads, faults and random choices of policies", 2,
        style.columns, out);
  }
  std::vector<std::pair<const Group*, Estimate>> changes;
  std::size_t seeds = 0;
  for (const Group& each : groups) {
    const Group& base = base_of(groups, each.first().arrivals);
    seeds = std::max(seeds, each.rows.size());
    if (&base != &each) changes.emplace_back(&each, change_pct(base, each, jct));
  }
  std::vector<Cells> rows;
  for (const auto& [each, change] : changes) {
    std::string remark = change.count == 0                     ? "no seed has all jobs under both"
                         : change.low <= 0 && change.high >= 0 ? "no clear difference"
                                                               : "";
    if (change.count > 0 && change.count < seeds)
      remark +=
          fmt::format("{}{} of {} seeds have all jobs under both", remark.empty() ? "" : ", ", change.count, seeds);
    const bool has_any = change.count > 0;
    rows.push_back({"  " + label(settings, each->first(), true), has_any ? fmt::format("{:+.1f} %", change.mean) : "–",
                    change.count > 1 ? fmt::format("{:+.1f} to {:+.1f}", change.low, change.high) : "", remark});
  }
  if (rows.empty()) return;
  out << '\n';
  const Group& first = base_of(groups, groups.front().first().arrivals);
  const char* const with_what = values_of(settings, &Arrivals::jobs).size() > 1   ? " with as many jobs"
                                : values_of(settings, &Arrivals::load).size() > 1 ? " at the same load"
                                                                                  : "";
  print_wrapped(fmt::format("mean JCT against {}{}, seed by seed, {} seeds, 95 % interval",
                            label(settings, first.first(), false), with_what, seeds),
                2, style.columns, out);
  print_aligned(rows, 0, out);
}

std::string why_unfinished(const ExperimentRow& row) {
  if (!row.standstill.empty()) return "; given up because the policy gets nothing done: " + row.standstill;
  const double idle_s = row.metrics.idle_at_end_s;
  const std::string first = row.first_unfinished.empty() ? "" : "; the first is " + row.first_unfinished;
  return first +
         (idle_s == 0 ? "" : fmt::format("; given up after the cluster had been idle for {:.1f} hours", idle_s / 3600));
}

// The simulations with such jobs: which seeds, if there are several, and how many jobs each has.
struct Affected {
  std::vector<const ExperimentRow*> rows;
  std::string seeds, jobs;  // " (2 of 5 seeds, the first is 3)"; "10 to 20 jobs"
  bool is_one_job = false;
};

Affected affected(const Group& group, double Metrics::*jobs) {
  Affected found;
  double least = INFINITY, most = 0;
  for (const ExperimentRow* row : group.rows) {
    const double count = row->metrics.*jobs;
    if (!(count > 0)) continue;
    found.rows.push_back(row);
    least = std::min(least, count), most = std::max(most, count);
  }
  const std::size_t seeds = group.rows.size();
  if (found.rows.size() == 1 && seeds > 1) found.seeds = fmt::format(" (seed {})", found.rows.front()->seed);
  if (found.rows.size() > 1)
    found.seeds = fmt::format(" ({} of {} seeds, the first is {})", found.rows.size(), seeds, found.rows.front()->seed);
  found.is_one_job = most == 1;
  found.jobs = (least < most ? count_text(least) + " to " : "") + count_text(most) + (most == 1 ? " job" : " jobs");
  return found;
}

// What makes figures incomparable; never folded.
void print_warnings(const ExperimentSettings& settings, const ExperimentResult& result,
                    const std::vector<Group>& groups, const std::vector<const MetricInfo*>& metrics,
                    const TableStyle& style, std::ostream& out) {
  const auto say = [&](const std::string& text) { print_wrapped(text, 2, style.columns, out); };
  bool has_bounds = true, has_all_jobs = true;
  for (const Group& each : groups) {
    const std::string name = label(settings, each.first(), true);
    if (const Affected of = affected(each, &Metrics::unfinished); !of.rows.empty())
      say(fmt::format("{}{}: {} never ran to {} end{}", name, of.seeds, of.jobs, of.is_one_job ? "its" : "their",
                      why_unfinished(*of.rows.front())));
    if (const Affected of = affected(each, &Metrics::failed); !of.rows.empty())
      say(fmt::format("{}{}: {} failed or {} rejected", name, of.seeds, of.jobs, of.is_one_job ? "was" : "were"));
    has_all_jobs = has_all_jobs && each.has_all_jobs();
    has_bounds = has_bounds && std::ranges::all_of(each.rows, [](const auto* row) { return row->bounds.has_value(); });
  }
  if (!has_bounds && has_bounded(metrics))
    say(!has_all_jobs
            ? "no lower bound is shown: it is for all jobs, and the figures above are of those that finished"
            : "no lower bound is shown: trainings may run faster there than on the servers their lengths are of");
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) say(run_name(settings, row) + (row.failure.ok() ? " was interrupted" : " failed"));
  }
  for (const PolicySwitchChoice& each : settings.switches) {
    const bool is_over = std::ranges::all_of(result.rows, [&](const ExperimentRow& row) {
      return row.done && row.metrics.has_all_jobs() && row.metrics.makespan_s <= each.after.to_seconds();
    });
    if (is_over)
      say(fmt::format("the switch to {} after {} comes after the end of all jobs and changes nothing", each.policy.name,
                      duration_text(each.after.to_seconds())));
  }
}

// What policies assume where the trace states nothing: a sentence with the policies that it is about.
std::vector<std::pair<std::string, std::string>> assumptions(const ExperimentSettings& settings,
                                                             const ExperimentResult& result) {
  std::vector<std::pair<std::string, std::string>> notes;
  if (!settings.semantics.empty()) return notes;
  std::vector<std::string> seen;
  for (const PolicyChoice& choice : settings.policies) {
    if (std::find(seen.begin(), seen.end(), choice.name) != seen.end()) continue;
    seen.push_back(choice.name);
    for (const std::string& sentence : result.missing.sentences(entry_of(choice).info.needs, "submitted")) {
      const auto same = std::find_if(notes.begin(), notes.end(), [&](const auto& n) { return n.second == sentence; });
      if (same == notes.end()) {
        notes.emplace_back(choice.name, sentence);
      } else {
        same->first += ", " + choice.name;
      }
    }
  }
  return notes;
}

void print_notes(const ExperimentSettings& settings, const ExperimentResult& result, const TableStyle& style,
                 std::ostream& out) {
  const auto notes = assumptions(settings, result);
  if (!style.notes && notes.size() > notes_unfolded_max) {
    print_wrapped(fmt::format("{} notes on what policies assume where the trace states nothing: --notes", notes.size()),
                  2, style.columns, out);
    return;
  }
  for (const auto& [policies, sentence] : notes) print_wrapped(policies + ": " + sentence, 2, style.columns, out);
}

}  // namespace

std::string run_name(const ExperimentSettings& settings, const ExperimentRow& row) {
  return fmt::format("{} (seed {})", label(settings, row, true), row.seed);
}

void print_table(const ExperimentSettings& settings, const ExperimentResult& result,
                 const std::vector<const MetricInfo*>& metrics, const TableStyle& style, std::ostream& out) {
  const std::vector<Group> groups = sorted(group(result), *metrics.front(), settings.arrivals);
  print_head(settings, result, groups, style, out);
  out << '\n';
  print_aligned(table_of(settings, groups, metrics), style.columns, out);
  print_warnings(settings, result, groups, metrics, style, out);
  print_changes(settings, groups, style, out);
  print_notes(settings, result, style, out);
}

}  // namespace sl::study
