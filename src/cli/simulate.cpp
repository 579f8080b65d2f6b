#include "cli/simulate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "cli/output_paths.h"
#include "study/choices.h"
#include "study/report.h"
#include "study/table.h"
#include "trace/profiles.h"
#include "wire/costs.h"
#include "wire/error.h"
#include "wire/json_text.h"
#include "wire/read_file.h"

namespace sl::cli {
namespace {

trace::TraceOptions trace_options(const SimulationOptions& options, const sim::Cluster& cluster) {
  trace::TraceOptions trace;
  trace.cluster_gpus = cluster.gpus();
  trace.gpus_max = options.gpus_max > 0 ? std::min(options.gpus_max, cluster.gpus()) : cluster.gpus();
  trace.keeps_without_gpus = options.keep_cpu_jobs;
  trace.oversize = options.oversize == "fail"   ? trace::Oversize::fail
                   : options.oversize == "clip" ? trace::Oversize::clip
                                                : trace::Oversize::drop;
  trace.duration_min = Duration::seconds(options.duration_min_s);
  if (options.duration_max_s > 0) trace.duration_max = Duration::seconds(options.duration_max_s);
  return trace;
}

Status add_runs(const SimulationOptions& options, study::ExperimentSettings& settings) {
  auto policies = study::choose_policies(options.policies, options.parameters, options.read_policy);
  if (!policies.ok() && policies.error().code == "unknown-parameter" && !options.switches.empty())
    return Error(policies.error()).hint("of a policy that --switch names: --switch TIME=POLICY:NAME=VALUE");
  if (!policies.ok()) return policies.error();
  settings.policies = std::move(*policies);
  const auto seeds = study::parse_numbers(options.seeds, "--seeds");
  if (!seeds.ok()) return seeds.error();
  settings.seeds.assign(seeds->begin(), seeds->end());
  const auto counts =
      options.job_counts.empty() ? std::vector<std::int64_t>{0} : study::parse_numbers(options.job_counts, "--jobs");
  if (!counts.ok()) return counts.error();
  const auto loads = options.loads.empty() ? std::vector<double>{0} : study::parse_loads(options.loads);
  if (!loads.ok()) return loads.error();
  settings.arrivals.clear();
  for (const std::int64_t jobs : *counts)
    for (const double load : *loads) settings.arrivals.push_back({jobs, load});
  for (const std::string& text : options.switches) {
    auto made = study::parse_switch(text, options.read_policy);
    if (!made.ok()) return made.error();
    settings.switches.push_back(std::move(*made));
  }
  std::ranges::stable_sort(settings.switches, {}, &study::PolicySwitchChoice::after);
  if (!options.elastic.empty()) {
    auto elastic = study::parse_elastic(options.elastic);
    if (!elastic.ok()) return elastic.error();
    if (!options.profile.empty()) elastic->profile = options.profile;
    settings.elastic = std::move(*elastic);
  }
  return {};
}

// The means of all families for whatever is not known of a job's own.
Status add_costs(const SimulationOptions& options, study::ExperimentSettings& settings) {
  if (options.costs.empty()) return {};
  if (options.restart_cost_s >= 0)
    return invalid("bad-flag", "--costs says what each continuation takes: no --restart-cost beside it");
  const auto text = wire::read_file(options.costs, wire::document_bytes_max);
  if (!text.ok()) return text.error();
  const auto measured = wire::parse_costs(*text);
  if (!measured.ok()) return wire::in_file(measured.error(), options.costs);
  const wire::FamilyCosts mean = wire::mean_of(measured->families);
  sim::Costs& costs = settings.cluster.costs;
  const auto set = [](int count, double seconds, Duration& cost) {
    if (count > 0) cost = Duration::seconds(seconds);
  };
  const double again_s = mean.start_s + mean.repeated_s;
  set(mean.stops, mean.stop_s, costs.stop);
  set(mean.starts, again_s, costs.restart);
  // Where no job was frozen, what a policy suspends stops at a checkpoint.
  const auto set_in_place = [](int count, double seconds, int otherwise, std::optional<Duration>& cost) {
    if (count > 0)
      cost = Duration::seconds(seconds);
    else if (otherwise > 0)
      cost.reset();
  };
  set_in_place(mean.freezes, mean.freeze_s, mean.stops, costs.suspend);
  set_in_place(mean.thaws, mean.thaw_s, mean.starts, costs.resume);
  for (Duration* moved : {&costs.migrate, &costs.resize}) set(mean.starts, mean.stop_s + again_s, *moved);
  for (const wire::FamilyCosts& of : measured->families) {
    if (of.has_restart())
      settings.trace_options.restart_by_family[of.family] = Duration::seconds(of.start_s + of.repeated_s);
  }
  return {};
}

Status check(const SimulationOptions& options, const study::ExperimentSettings& settings) {
  const std::size_t runs = settings.policies.size() * settings.seeds.size() * settings.arrivals.size();
  if (runs > 1 && !(options.jobs_out.empty() && options.events_out.empty()))
    return invalid("bad-flag", "--jobs-out and --events-out are for one simulation; this is " + std::to_string(runs))
        .hint("--out FOLDER keeps the results of all");
  if (options.jobs_out == "-" || options.events_out == "-")
    return invalid("bad-flag", "--jobs-out and --events-out name files; standard output has the table")
        .hint("--jobs-out jobs.csv; /dev/stdout writes both there");
  if (options.events && options.folder.empty())
    return invalid("bad-flag", "--events needs a folder").hint("--out FOLDER --events, or --events-out FILE");
  if (!options.profile.empty() && options.elastic.empty())
    return invalid("bad-flag", "--profile sets the speedup of jobs that --elastic makes elastic")
        .hint("--elastic 0.5..2");
  const bool beyond = !settings.switches.empty() || settings.elastic || !options.loads.empty() ||
                      !options.events_out.empty() || options.events;
  if (!settings.semantics.empty() && beyond)
    return invalid("bad-flag", "--semantics reproduces one policy: no --switch, --elastic, --load or events");
  const bool has_parameters =
      std::ranges::any_of(settings.policies, [](const auto& choice) { return !choice.parameters.empty(); });
  const bool has_costs = options.restart_cost_s >= 0 || !options.costs.empty();
  if (!settings.semantics.empty() && (has_parameters || has_costs || options.blind))
    return invalid("bad-flag", "--semantics has the parameters and costs of the simulator that it reproduces: no " +
                                   std::string(has_parameters ? "--param"
                                               : has_costs    ? "--restart-cost or --costs"
                                                              : "--blind"));
  if (constexpr double most_s = 1e9; options.restart_cost_s > most_s)
    return invalid("bad-flag", "--restart-cost is at most 1,000,000,000 seconds");
  if (!options.folder.empty() && !(options.jobs_out.empty() && options.events_out.empty()))
    return invalid("bad-flag", "--out keeps each job's times in its folder: no --jobs-out or --events-out beside it")
        .hint("--out FOLDER --events keeps events there too");
  std::vector<std::string> inputs = {options.trace, options.servers, options.costs};
  inputs.insert(inputs.end(), options.profiles.begin(), options.profiles.end());
  std::ranges::copy_if(options.policies, std::back_inserter(inputs),
                       [](const std::string& policy) { return policy.ends_with(".py"); });
  if (Status fine = check_result_folder(options.folder, inputs); !fine.ok()) return fine;
  return check_outputs({{"--jobs-out", options.jobs_out}, {"--events-out", options.events_out}}, inputs);
}

Result<study::ExperimentSettings> read_settings(const SimulationOptions& options) {
  study::ExperimentSettings settings;
  Result<sim::Cluster> cluster = sim::read_cluster(options.servers);
  if (!cluster.ok()) return cluster.error();
  settings.cluster = std::move(*cluster);
  settings.trace = options.trace;
  settings.trace_options = trace_options(options, settings.cluster);
  if (Status added = add_costs(options, settings); !added.ok()) return added.error();
  if (options.restart_cost_s >= 0) settings.cluster.costs.restart = Duration::seconds(options.restart_cost_s);
  auto profiles = trace::read_profiles(options.profiles);
  if (!profiles.ok()) return profiles.error();
  settings.trace_options.profiles = std::move(*profiles);
  settings.semantics = options.semantics;
  settings.knows_durations = !options.blind;
  settings.folder = options.folder;
  settings.events = options.events;
  settings.jobs_file = options.jobs_out;
  settings.events_file = options.events_out;
  if (Status added = add_runs(options, settings); !added.ok()) return added.error();
  if (Status fine = check(options, settings); !fine.ok()) return fine.error();
  return settings;
}

// For people, a line that is overwritten, and erased at the end; for programs, a line of JSON whenever it has changed.
class ProgressLine {
 public:
  ProgressLine(bool shown, bool reported) : shown_(shown && !reported), reported_(reported) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void show(const study::ExperimentProgress& progress) {
    if (reported_) return report(progress);
    if (!shown_) return;
    constexpr int width = 30;
    const int filled = static_cast<int>(std::min(1.0, progress.part) * width);
    std::fprintf(stderr, "\r  [%.*s%*s] %3.0f %%  %zu of %zu simulations\033[K", filled,
                 "==============================", width - filled, "", 100 * std::min(1.0, progress.part),
                 progress.rows_done, progress.rows);
  }

 private:
  void report(const study::ExperimentProgress& progress) {
    const std::string line = fmt::format("{{\"part\":{:.2f},\"runs_done\":{},\"runs\":{}}}\n",
                                         std::min(1.0, progress.part), progress.rows_done, progress.rows);
    if (line == reported_last_) return;
    std::fputs(line.c_str(), stderr);
    reported_last_ = line;
  }

  bool shown_, reported_;
  std::string reported_last_;
};

Status write_document(const SimulationOptions& options, const study::ExperimentSettings& settings,
                      const study::ExperimentResult& result) {
  Result<study::OutputFile> file = study::OutputFile::create(options.folder + "/run.json");
  if (!file.ok()) return file.error();
  file->write(wire::json_text(study::to_document(settings, result, options.servers, options.command)) + "\n");
  return file->close();
}

// The first, with a note which of several simulations it was.
Status failure_of(const study::ExperimentSettings& settings, const study::ExperimentResult& result) {
  const study::ExperimentRow* const row = result.failed();
  if (!row || result.rows.size() == 1) return row ? row->failure : Status();
  return Error(row->failure.error()).note("in the simulation of " + study::run_name(settings, *row));
}

}  // namespace

Result<bool> compare(const SimulationOptions& options, std::ostream& out) {
  const Result<study::ExperimentSettings> settings = read_settings(options);
  if (!settings.ok()) return settings.error();
  const auto metrics = study::find_metrics(options.metrics);
  if (!metrics.ok()) return metrics.error();
  Result<study::ExperimentResult> result = [&] {
    ProgressLine line(options.show_progress, options.report_progress);
    return study::run_experiment(*settings, [&](const study::ExperimentProgress& progress) {
      line.show(progress);
      return !options.interrupted();
    });
  }();
  if (!result.ok()) return result.error();
  const Status failure = failure_of(*settings, *result);
  if (!options.folder.empty()) {
    if (Status written = write_document(options, *settings, *result); !written.ok()) return written.error();
  }
  if (!failure.ok() && std::ranges::none_of(result->rows, &study::ExperimentRow::done)) return failure.error();
  if (options.json) {
    out << wire::json_text(study::to_document(*settings, *result, options.servers, options.command)) << '\n';
  } else {
    options.plain ? study::print_plain(*result, out)
                  : study::print_table(*settings, *result, *metrics, {options.columns, options.notes}, out);
  }
  if (!failure.ok()) return failure.error();
  return !result->interrupted;
}

}  // namespace sl::cli
