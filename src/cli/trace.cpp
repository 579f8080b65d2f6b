#include "cli/trace.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/text.h"
#include "cli/context.h"
#include "cli/output_paths.h"
#include "sim/cluster.h"
#include "trace/import/importer.h"
#include "trace/summary.h"
#include "trace/text_file.h"
#include "trace/workloads.h"
#include "trace/writer.h"
#include "wire/json_text.h"

namespace sl::cli {
namespace {

trace::TraceOptions options_of(const TraceFilter& filter, bool everything) {
  trace::TraceOptions options;
  if (filter.gpus_max > 0) options.gpus_max = filter.gpus_max;
  options.keeps_without_gpus = filter.keep_cpu_jobs;
  options.oversize = filter.oversize == "fail"   ? trace::Oversize::fail
                     : filter.oversize == "clip" ? trace::Oversize::clip
                                                 : trace::Oversize::drop;
  options.duration_min = Duration::seconds(filter.duration_min_s);
  if (filter.duration_max_s > 0) options.duration_max = Duration::seconds(filter.duration_max_s);
  options.jobs_max = filter.jobs;
  if (filter.text_mib > 0)
    options.text_max = std::min(options.text_max, static_cast<std::size_t>(filter.text_mib) << 20);
  options.everything = everything;
  return options;
}

// 82247 -> 82,247
std::string grouped(std::int64_t n) { return with_commas(static_cast<double>(n), 0); }

std::string seconds_text(double s) {
  return s < 100 ? fmt::format("{:.4g}", s) : grouped(static_cast<std::int64_t>(s));
}

std::string span_text(double s) {
  if (s < 120) return fmt::format("{:.1f} s", s);
  if (s < 7200) return fmt::format("{:.1f} minutes", s / 60);
  return s < 172800 ? fmt::format("{:.1f} hours", s / 3600) : fmt::format("{:.1f} days", s / 86400);
}

// GPU time in the unit that gives a readable number.
std::string gpu_time_text(double gpu_s) {
  const double days = gpu_s / 86400;
  if (days >= 10) return grouped(std::llround(days)) + " GPU-days";
  return gpu_s < 3600 ? fmt::format("{:.0f} GPU-seconds", gpu_s) : fmt::format("{:.1f} GPU-hours", gpu_s / 3600);
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// ---- What was left out or changed ----

void print_left_out(const trace::TraceReport& report, std::ostream& out) {
  const auto line = [&](const char* what, std::int64_t n, const char* why) {
    if (n > 0) fmt::print(out, "  {:<11} {} {}\n", what, grouped(n), why);
  };
  line("left out", report.dropped_oversize, "too wide");
  line("left out", report.dropped_without_gpus, "without a GPU");
  line("made narrow", report.clipped_gpus, "too wide");
  line("clipped", report.clipped_duration, "durations");
  if (report.was_unsorted) fmt::print(out, "  {:<11} by submission; the rows were in another order\n", "sorted");
}

boost::json::object json_of(const trace::TraceReport& report) {
  return {{"rows", report.rows},
          {"dropped_oversize", report.dropped_oversize},
          {"dropped_without_gpus", report.dropped_without_gpus},
          {"clipped_gpus", report.clipped_gpus},
          {"clipped_duration", report.clipped_duration},
          {"was_unsorted", report.was_unsorted}};
}

// ---- info ----

std::string bar(double part, double most) {
  const auto blocks = static_cast<std::size_t>(most > 0 ? std::lround(20 * part / most) : 0);
  return std::string(part > 0 ? std::max<std::size_t>(1, blocks) : 0, '#');
}

void print_widths(const trace::TraceSummary& summary, std::ostream& out) {
  double most = 0;
  for (const auto& [gpus, share] : summary.by_gpus) most = std::max(most, share.gpu_s);
  fmt::print(out, "\n  {:>6} {:>12} {:>7} {:>13} {:>7}\n", "GPUS", "JOBS", "%", "GPU-HOURS", "%");
  for (const auto& [gpus, share] : summary.by_gpus) {
    const double hours = share.gpu_s / 3600;
    fmt::print(out, "  {:>6} {:>12} {:>7.2f} {:>13} {:>7.2f}  {}\n", gpus, grouped(share.jobs),
               percent(static_cast<double>(share.jobs), static_cast<double>(summary.jobs)),
               hours < 10 ? fmt::format("{:.2f}", hours) : grouped(std::llround(hours)),
               percent(share.gpu_s, summary.gpu_s), bar(share.gpu_s, most));
  }
}

void print_durations(const trace::TraceSummary& summary, std::ostream& out) {
  fmt::print(out, "\n  DURATION s");
  for (const auto& [at, value] : summary.durations_s)
    fmt::print(out, " {:>10}", at == 0 ? "least" : at == 100 ? "most" : fmt::format("{:.0f} %", at));
  fmt::print(out, " {:>10}\n            ", "mean");
  for (const auto& [at, value] : summary.durations_s) fmt::print(out, " {:>10}", seconds_text(value));
  fmt::print(out, " {:>10}\n", seconds_text(summary.duration_mean_s));
}

void print_extras(const trace::TraceSummary& summary, std::ostream& out) {
  const auto line = [&](const char* what, std::int64_t n) {
    if (n > 0)
      fmt::print(out, "  {:<11} {} jobs ({:.1f} %)\n", what, grouped(n),
                 percent(static_cast<double>(n), static_cast<double>(summary.jobs)));
  };
  line("deadlines", summary.with_deadline);
  line("estimates", summary.with_estimate);
  line("elastic", summary.elastic);
  line("sharing", summary.sharing);
  line("profiles", summary.with_profile);
}

// Nothing if no cluster is named.
Result<std::optional<sim::Cluster>> cluster_of(const std::string& servers) {
  if (servers.empty()) return std::optional<sim::Cluster>();
  Result<sim::Cluster> cluster = sim::read_cluster(servers);
  if (!cluster.ok()) return cluster.error();
  return std::optional(std::move(*cluster));
}

// "32x8" and the trace's load on it; nothing if no cluster was named.
struct Load {
  std::string servers;
  int gpus = 0;
  std::optional<double> load;  // none: all jobs are submitted at once
  std::int64_t jobs_too_wide = 0;
};

Load load_of(const std::string& servers, const std::optional<sim::Cluster>& cluster, const trace::Trace& trace) {
  if (!cluster) return {};
  Load load{servers, cluster->gpus(), std::nullopt, 0};
  const double offered = trace::offered_load(trace, cluster->gpu_speed_total());
  if (trace.jobs.back().submitted > trace.jobs.front().submitted) load.load = offered;
  for (const trace::TraceJob& job : trace.jobs) load.jobs_too_wide += job.gpus > load.gpus;
  return load;
}

void print_info(const TraceCommand& command, const trace::Trace& trace, const Load& load, std::ostream& out) {
  const trace::TraceSummary summary = trace::summarize(trace);
  fmt::print(out, "{}\n  {:<11} {} of {} rows\n", command.source, "jobs", grouped(summary.jobs),
             grouped(trace.report.rows));
  print_left_out(trace.report, out);
  fmt::print(out, "  {:<11} {}\n", "users", summary.users > 0 ? grouped(summary.users) : "not known");
  if (summary.jobs > 1)
    fmt::print(out, "  {:<11} {}, one job every {} on average\n", "span", span_text(summary.span_s()),
               span_text(summary.gap_mean_s));
  fmt::print(out, "  {:<11} {}\n", "demand", gpu_time_text(summary.gpu_s));
  if (load.gpus > 0) {
    if (load.load)
      fmt::print(out, "  {:<11} {:.2f} of what {} can do while jobs arrive ({} GPUs)\n", "load", *load.load,
                 load.servers, grouped(load.gpus));
    else
      fmt::print(out, "  {:<11} none: all jobs are submitted at once\n", "load");
    if (load.jobs_too_wide > 0)
      fmt::print(out, "  {:<11} {} not fit it\n", "",
                 load.jobs_too_wide == 1 ? "1 job does" : grouped(load.jobs_too_wide) + " jobs do");
  }
  print_extras(summary, out);
  print_widths(summary, out);
  print_durations(summary, out);
}

boost::json::object json_of(const trace::TraceSummary& summary) {
  const auto exact = [](double seconds) { return std::round(seconds * 1e6) / 1e6; };  // times are whole microseconds
  boost::json::array widths, durations;
  for (const auto& [gpus, share] : summary.by_gpus)
    widths.push_back(boost::json::object{{"gpus", gpus}, {"jobs", share.jobs}, {"gpu_s", share.gpu_s}});
  for (const auto& [at, value] : summary.durations_s)
    durations.push_back(boost::json::object{{"percent", at}, {"duration_s", value}});
  return {{"jobs", summary.jobs},
          {"users", summary.users},
          {"first_submit_s", exact(summary.first_s)},
          {"last_submit_s", exact(summary.last_s)},
          {"span_s", exact(summary.span_s())},
          {"gap_mean_s", summary.gap_mean_s},
          {"gpu_days", summary.gpu_s / 86400},
          {"duration_mean_s", summary.duration_mean_s},
          {"durations", std::move(durations)},
          {"gpus", std::move(widths)},
          {"with_deadline", summary.with_deadline},
          {"with_estimate", summary.with_estimate},
          {"elastic", summary.elastic},
          {"sharing", summary.sharing},
          {"with_profile", summary.with_profile}};
}

// ---- Writing ----

std::string sentence_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::ostream& report_stream(const TraceCommand& command, const Outputs& to) {
  return command.out == "-" ? to.report : to.out;
}

void print_import(const trace::ImportReport& report, std::ostream& out) {
  for (const auto& [reason, n] : report.dropped) fmt::print(out, "  {:<11} {} {}\n", "left out", grouped(n), reason);
  for (const auto& [change, n] : report.changed) fmt::print(out, "  {:<11} {} {}\n", "changed", grouped(n), change);
}

boost::json::object json_of(const trace::ImportReport& report) {
  boost::json::object dropped, changed;
  for (const auto& [reason, n] : report.dropped) dropped[reason] = n;
  for (const auto& [change, n] : report.changed) changed[change] = n;
  return {{"rows", report.rows}, {"dropped", std::move(dropped)}, {"changed", std::move(changed)}};
}

void report_written(const trace::Trace& trace, const trace::ImportReport* import, const std::vector<std::string>& lost,
                    const TraceCommand& command, std::ostream& to) {
  const auto jobs = static_cast<std::int64_t>(trace.jobs.size());
  if (command.json) {
    boost::json::object document = {{"out", command.out}, {"jobs", jobs}, {"report", json_of(trace.report)}};
    document["not_written"] = boost::json::value_from(lost);
    if (import) document["import"] = json_of(*import);
    to << wire::json_text(document) << '\n';
    return;
  }
  if (import) {
    fmt::print(to, "{}: {} of {} jobs\n", command.out == "-" ? command.format : command.out, grouped(jobs),
               grouped(import->rows));
    print_import(*import, to);
  } else if (command.out != "-") {
    fmt::print(to, "{}: {} jobs\n", command.out, grouped(jobs));
  }
  print_left_out(trace.report, to);
  if (!lost.empty())
    fmt::print(to, "  {:<11} {}: the format has no place for them\n", "not written", sentence_of(lost));
}

Status write_out(const trace::Trace& trace, const trace::ImportReport* import, const TraceCommand& command,
                 const std::string& format, const Outputs& to) {
  std::vector<std::string> inputs = command.files;
  inputs.push_back(command.source);
  if (Status fine = check_outputs({{"--out", command.out}}, inputs); !fine.ok()) return fine;
  const bool swf = format == "swf";
  const std::vector<std::string> lost = swf ? lost_in_swf(trace) : lost_in_csv(trace);
  if (Status written = trace::write_text(command.out, swf ? to_swf(trace) : to_csv(trace)); !written.ok())
    return written;
  report_written(trace, import, lost, command, report_stream(command, to));
  return {};
}

// ---- ls ----

// 0.001, 50,000,000
std::string bound_text(double bound) {
  return bound >= 1000 ? grouped(std::llround(bound)) : fmt::format("{:g}", bound);
}

std::string range_of(const ParameterInfo& parameter) {
  if (parameter.min >= parameter.max) return "";
  return bound_text(parameter.min) + " to " + bound_text(parameter.max);
}

std::string meaning_of(const ParameterInfo& parameter) {
  std::string text = parameter.help;
  for (const std::string& choice : parameter.choices)
    text += (choice == parameter.choices.front() ? ": " : ", ") + choice;
  return text;
}

void print_workload(const trace::WorkloadInfo& info, std::ostream& out) {
  std::size_t name = 9, value = 7, range = 5;
  for (const ParameterInfo& p : info.parameters) {
    name = std::max(name, p.name.size());
    value = std::max(value, p.default_value.size() + (p.unit.empty() ? 0 : p.unit.size() + 1));
    range = std::max(range, range_of(p).size());
  }
  fmt::print(out, "{}  {}\n\n  {}\n\n  {:<{}}  {:<{}}  {:<{}}  MEANING\n", info.name, info.title, info.summary,
             "PARAMETER", name, "DEFAULT", value, "RANGE", range);
  for (const ParameterInfo& p : info.parameters) {
    const std::string text = p.default_value + (p.unit.empty() ? "" : " " + p.unit);
    fmt::print(out, "  {:<{}}  {:<{}}  {:<{}}  {}\n", p.name, name, text, value, range_of(p), range, meaning_of(p));
  }
}

boost::json::object json_of(const trace::WorkloadInfo& info) {
  boost::json::array parameters;
  for (const ParameterInfo& p : info.parameters) {
    boost::json::object described = {{"name", p.name},
                                     {"type", to_string(p.type)},
                                     {"unit", p.unit},
                                     {"default", p.default_value},
                                     {"help", p.help}};
    if (p.min < p.max) described["min"] = p.min, described["max"] = p.max;
    if (!p.choices.empty()) described["choices"] = boost::json::value_from(p.choices);
    parameters.push_back(std::move(described));
  }
  return {{"name", info.name}, {"title", info.title}, {"summary", info.summary}, {"parameters", std::move(parameters)}};
}

}  // namespace

Status trace_info(const TraceCommand& command, const Outputs& to) {
  const auto cluster = cluster_of(command.servers);
  if (!cluster.ok()) return cluster.error();
  trace::TraceOptions options = options_of(command.filter, false);
  if (*cluster) options.cluster_gpus = (*cluster)->gpus();
  const Result<trace::Trace> trace = trace::open_trace(command.source, command.seed, options);
  if (!trace.ok()) return trace.error();
  const Load load = load_of(command.servers, *cluster, *trace);
  if (!command.json) return print_info(command, *trace, load, to.out), Status();
  const trace::TraceSummary summary = trace::summarize(*trace);
  boost::json::object document = json_of(summary);
  document["trace"] = command.source;
  document["report"] = json_of(trace->report);
  if (load.gpus > 0) {
    document["load"] = {{"servers", load.servers},
                        {"gpus", load.gpus},
                        {"load", boost::json::value_from(load.load)},
                        {"jobs_too_wide", load.jobs_too_wide}};
  }
  to.out << wire::json_text(document) << '\n';
  return {};
}

Status trace_import(const TraceCommand& command, const Outputs& to) {
  const auto format = trace::parse_import_format(command.format);
  if (!format)
    return invalid("unknown-format", "there is no format " + command.format).hint("philly, helios, pai, swf or pollux");
  const bool ignores_extra = command.extra_fields == "ignore";
  if (ignores_extra && *format != trace::ImportFormat::swf)
    return invalid("bad-flag", "--extra-fields is for swf: columns of the other formats have names");
  std::vector<std::string> texts;
  for (const std::string& path : command.files) {
    Result<std::string> text = trace::read_text(path);
    if (!text.ok()) return text.error();
    texts.push_back(std::move(*text));
  }
  const auto imported = trace::import_trace(*format, texts, options_of(command.filter, true),
                                            ignores_extra ? trace::ExtraFields::ignore : trace::ExtraFields::refuse);
  if (!imported.ok() && imported.error().code != "import-format") return imported.error();
  if (!imported.ok()) return Error(imported.error()).note("in " + sentence_of(command.files));
  return write_out(imported->trace, &imported->report, command, "csv", to);
}

Status trace_export(const TraceCommand& command, const Outputs& to) {
  const Result<trace::Trace> trace = trace::open_trace(command.source, command.seed, options_of(command.filter, true));
  if (!trace.ok()) return trace.error();
  return write_out(*trace, nullptr, command, command.format, to);
}

Status trace_generate(const TraceCommand& command, const Outputs& to) {
  std::string spec = command.source;
  for (const std::string& value : command.values) spec += (spec.find(':') == std::string::npos ? ":" : ",") + value;
  const Result<trace::Trace> trace = trace::make_workload(spec, command.seed, options_of(command.filter, true));
  if (!trace.ok()) return trace.error();
  return write_out(*trace, nullptr, command, "csv", to);
}

Status trace_list(const TraceCommand& command, const Outputs& to) {
  std::vector<trace::WorkloadInfo> list = trace::workloads();
  if (!command.source.empty()) {
    std::erase_if(list, [&](const trace::WorkloadInfo& info) { return info.name != command.source; });
    if (list.empty()) return trace::make_workload(command.source, 1, {}).error();
  }
  if (command.json) {
    boost::json::array items;
    for (const trace::WorkloadInfo& info : list) items.push_back(json_of(info));
    to.out << wire::json_text(list_of(std::move(items))) << '\n';
    return {};
  }
  if (!command.source.empty()) return print_workload(list.front(), to.out), Status();
  if (command.quiet) {
    for (const trace::WorkloadInfo& info : list) fmt::print(to.out, "{}\n", info.name);
    return {};
  }
  fmt::print(to.out, "{:<22} {}\n", "WORKLOAD", "SUMMARY");
  for (const trace::WorkloadInfo& info : list) fmt::print(to.out, "{:<22} {}\n", info.name, info.summary);
  fmt::print(to.out, "\nParameters of one:  schedulearn trace ls poisson\n");
  return {};
}

}  // namespace sl::cli
