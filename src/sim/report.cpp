#include "sim/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/suggest.h"
#include "sim/statistics.h"

namespace sl::sim {
namespace {

constexpr const char* usual_metrics =
    "avg_wait_s,avg_jct_s,p50_jct_s,p95_jct_s,p99_jct_s,makespan_s,gpu_allocation_pct,preemptions";

// Rows that differ in nothing but the seed.
struct Group {
  std::vector<const ExperimentRow*> rows;
  const ExperimentRow& first() const { return *rows.front(); }
  std::vector<double> values(const MetricInfo& metric) const {
    std::vector<double> all;
    for (const ExperimentRow* row : rows) {
      if (const double value = row->metrics.*metric.value; !std::isnan(value)) all.push_back(value);
    }
    return all;
  }
};

std::vector<Group> group(const ExperimentResult& result) {
  std::vector<Group> groups;
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) continue;
    const bool same = !groups.empty() && groups.back().first().policy.name == row.policy.name &&
                      groups.back().first().policy.parameters == row.policy.parameters &&
                      groups.back().first().jobs_asked == row.jobs_asked;
    if (!same) groups.emplace_back();
    groups.back().rows.push_back(&row);
  }
  return groups;
}

std::string label(const Group& group, bool several_counts) {
  std::string text = group.first().policy.name;
  if (const std::string parameters = parameters_text(group.first().policy); !parameters.empty())
    text += " " + parameters;
  if (several_counts) text += fmt::format(" ({} jobs)", group.first().jobs_asked);
  return text;
}

std::string figure(double value, int digits) { return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits); }

// Counts have no digits, ratios three, times and percentages one.
int digits_of(const MetricInfo& metric) {
  if (metric.name.ends_with("_s") || metric.name.ends_with("_pct")) return 1;
  return metric.name.find("fairness") != std::string_view::npos ||
                 metric.name.find("slowdown") != std::string_view::npos
             ? 3
             : 0;
}

bool all_equal(const std::vector<double>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// A dash stands for no value; several seeds that differ give mean ± half the 95 % interval.
std::string cell(const Group& group, const MetricInfo& metric) {
  const std::vector<double> values = group.values(metric);
  if (values.empty()) return "-";
  if (all_equal(values)) return figure(values.front(), digits_of(metric));
  const Interval of = interval_of(values);
  return fmt::format("{} ±{}", figure(of.mean, digits_of(metric)), figure(of.half_width, digits_of(metric)));
}

using Cells = std::vector<std::string>;

// Width as people see it: ± is one.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void print_aligned(const std::vector<Cells>& rows, std::ostream& out) {
  std::vector<std::size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  for (const Cells& row : rows) {
    std::string line = " ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width(row[c]), ' ');
      line += c == 0 ? " " + row[c] + padding : "  " + padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

void print_left_out(const TraceReport& report, std::ostream& out) {
  const auto say = [&](std::int64_t count, const char* what, const char* why) {
    if (count > 0) fmt::print(out, "  {:<12} {} {}\n", what, count, why);
  };
  say(report.dropped_oversize, "left out", "jobs that are too wide for the cluster");
  say(report.dropped_without_gpus, "left out", "jobs without a GPU");
  say(report.clipped_gpus, "made narrow", "jobs");
  say(report.clipped_duration, "clipped", "durations");
  if (report.was_unsorted) fmt::print(out, "  sorted       the rows were not in order of submission\n");
}

std::string cluster_text(const Cluster& cluster) {
  std::string text;
  for (const ServerKind& kind : cluster.kinds) {
    text += text.empty() ? "" : " and ";
    text += fmt::format("{} server{} of {} {}GPU{}", kind.count, kind.count == 1 ? "" : "s", kind.gpus,
                        kind.gpu_type.empty() ? "" : kind.gpu_type + " ", kind.gpus == 1 ? "" : "s");
  }
  return text;
}

// The same for all, and there is a column for it.
bool has_bound(const ExperimentResult& result, const std::vector<const MetricInfo*>& metrics) {
  const bool shown = std::any_of(metrics.begin(), metrics.end(), [](const MetricInfo* metric) {
    return metric->name == "avg_jct_s" || metric->name == "makespan_s";
  });
  const ExperimentRow* first = nullptr;
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) continue;
    if (!first) first = &row;
    if (!(row.bounds == first->bounds)) return false;
  }
  return first && shown;
}

Cells bound_row(const Group& group, const std::vector<const MetricInfo*>& metrics) {
  Cells row = {"lower bound"};
  for (const MetricInfo* metric : metrics) {
    const double bound = metric->name == "avg_jct_s"    ? group.first().bounds.avg_jct_s
                         : metric->name == "makespan_s" ? group.first().bounds.makespan_s
                                                        : no_figure;
    row.push_back(std::isnan(bound) ? "" : figure(bound, 1));
  }
  return row;
}

// With several seeds: each against the first that has as many jobs, seed by seed.
void print_changes(const std::vector<Group>& groups, bool several_counts, std::ostream& out) {
  if (groups.empty() || groups.front().rows.size() < 2) return;
  const MetricInfo& jct = *find_metrics("avg_jct_s")->front();
  if (std::all_of(groups.begin(), groups.end(), [&](const Group& each) { return all_equal(each.values(jct)); })) {
    out << "\n  all seeds give the same: they decide a generated workload, faults and what a policy draws\n";
    return;
  }
  std::vector<Cells> rows;
  for (const Group& each : groups) {
    const auto as_many = [&](const Group& other) { return other.first().jobs_asked == each.first().jobs_asked; };
    const Group& base = *std::find_if(groups.begin(), groups.end(), as_many);
    if (&base == &each) continue;
    const Interval change = paired_change_pct(base.values(jct), each.values(jct));
    const double low = change.mean - change.half_width, high = change.mean + change.half_width;
    rows.push_back({"  " + label(each, several_counts), fmt::format("{:+.1f} %", change.mean),
                    fmt::format("{:+.1f} to {:+.1f}", low, high), low <= 0 && high >= 0 ? "no clear difference" : ""});
  }
  if (rows.empty()) return;
  fmt::print(out, "\n  mean JCT against {}{}, seed by seed, {} seeds, 95 % interval\n", label(groups.front(), false),
             several_counts ? " with as many jobs" : "", groups.front().rows.size());
  print_aligned(rows, out);
}

boost::json::value number(double value) { return std::isnan(value) ? boost::json::value() : boost::json::value(value); }

boost::json::object to_json(const ExperimentRow& row) {
  boost::json::object parameters;
  for (const auto& [name, value] : row.policy.parameters) parameters[name] = value;
  boost::json::object object = {{"policy", row.policy.name}, {"parameters", std::move(parameters)}, {"seed", row.seed}};
  for (const MetricInfo& metric : metric_infos()) {
    const double value = row.metrics.*metric.value;
    const bool is_count = digits_of(metric) == 0;
    object[metric.name] =
        is_count && !std::isnan(value) ? boost::json::value(static_cast<std::int64_t>(value)) : number(value);
  }
  object["avg_jct_bound_s"] = row.bounds.avg_jct_s;
  object["makespan_bound_s"] = row.bounds.makespan_s;
  object["jobs_file"] = row.jobs_file.empty() ? boost::json::value() : boost::json::value(row.jobs_file);
  object["events_file"] = row.events_file.empty() ? boost::json::value() : boost::json::value(row.events_file);
  return object;
}

}  // namespace

std::string parameters_text(const PolicyChoice& choice) {
  std::string text;
  for (const auto& [name, value] : choice.parameters) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

Result<std::vector<const MetricInfo*>> find_metrics(const std::string& names) {
  std::vector<const MetricInfo*> found;
  if (names == "all") {
    for (const MetricInfo& metric : metric_infos()) found.push_back(&metric);
    return found;
  }
  std::vector<std::string_view> known;
  for (const MetricInfo& metric : metric_infos()) known.push_back(metric.name);
  const std::string list = names.empty() ? usual_metrics : names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view name = std::string_view(list).substr(at, comma - at);
    const auto infos = metric_infos();
    const auto metric = std::find_if(infos.begin(), infos.end(), [&](const MetricInfo& m) { return m.name == name; });
    if (metric == infos.end()) {
      Error error = invalid("unknown-metric", "there is no metric " + std::string(name));
      if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
      error.hints.push_back("--metrics all shows every one");
      return error;
    }
    found.push_back(&*metric);
    at = comma + 1;
  }
  return found;
}

namespace {

// What each policy does about what the trace does not tell.
void print_assumptions(const ExperimentSettings& settings, const ExperimentResult& result, std::ostream& out) {
  if (!settings.semantics.empty()) return;
  std::vector<std::string> told;
  for (const PolicyChoice& choice : settings.policies) {
    if (std::find(told.begin(), told.end(), choice.name) != told.end()) continue;
    told.push_back(choice.name);
    for (const std::string& sentence : result.missing.sentences(entry_of(choice).info.needs, "submitted"))
      fmt::print(out, "  {}: {}\n", choice.name, sentence);
  }
}

}  // namespace

void print_table(const ExperimentSettings& settings, const ExperimentResult& result,
                 const std::vector<const MetricInfo*>& metrics, std::ostream& out) {
  std::string jobs = std::to_string(result.jobs);
  if (settings.job_counts.size() > 1) jobs = fmt::format("{}", fmt::join(settings.job_counts, ", "));
  fmt::print(out, "{} jobs on {}\n", jobs, cluster_text(settings.cluster));
  print_left_out(result.report, out);
  out << '\n';
  const std::vector<Group> groups = group(result);
  const bool several_counts = settings.job_counts.size() > 1;
  std::vector<Cells> rows(1, Cells{"policy"});
  for (const MetricInfo* metric : metrics) rows.front().emplace_back(metric->name);
  for (const Group& each : groups) {
    Cells row = {label(each, several_counts)};
    for (const MetricInfo* metric : metrics) row.push_back(cell(each, *metric));
    rows.push_back(std::move(row));
  }
  if (has_bound(result, metrics)) rows.push_back(bound_row(groups.front(), metrics));
  print_aligned(rows, out);
  for (const Group& each : groups) {
    const Metrics& m = each.first().metrics;
    if (m.unfinished > 0)
      fmt::print(out, "  {}: {} jobs never ran to their end\n", label(each, several_counts), m.unfinished);
    if (m.failed > 0)
      fmt::print(out, "  {}: {} jobs failed or were turned away\n", label(each, several_counts), m.failed);
  }
  print_changes(groups, several_counts, out);
  print_assumptions(settings, result, out);
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) fmt::print(out, "  {} (seed {}) was interrupted\n", row.policy.name, row.seed);
  }
}

void print_plain(const ExperimentResult& result, std::ostream& out) {
  out << "policy\tparameters\tseed";
  for (const MetricInfo& metric : metric_infos()) out << '\t' << metric.name;
  out << '\n';
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) continue;
    out << row.policy.name << '\t' << parameters_text(row.policy) << '\t' << row.seed;
    for (const MetricInfo& metric : metric_infos()) {
      const double value = row.metrics.*metric.value;
      out << '\t' << (std::isnan(value) ? "" : fmt::format("{}", value));
    }
    out << '\n';
  }
}

boost::json::object to_document(const ExperimentSettings& settings, const ExperimentResult& result,
                                const std::string& servers, const std::string& command) {
  boost::json::array rows;
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) continue;
    rows.push_back(to_json(row));
  }
  return {{"version", 1},
          {"program", std::string("schedulearn ") + SCHEDULEARN_VERSION},
          {"command", command},
          {"trace", settings.trace},
          {"servers", servers},
          {"gpus", settings.cluster.gpus()},
          {"jobs", result.jobs},
          {"left_out",
           {{"oversize", result.report.dropped_oversize}, {"without_gpus", result.report.dropped_without_gpus}}},
          {"interrupted", result.interrupted},
          {"results", std::move(rows)}};
}

}  // namespace sl::sim
