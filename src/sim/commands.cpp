#include "sim/commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <atomic>
#include <boost/json.hpp>
#include <charconv>
#include <fstream>
#include <thread>

#include "sim/published.h"

namespace sl::sim {
namespace {

struct Run {
  std::string policy;
  std::unique_ptr<Policy> made;
  SimulationResult result;
  Metrics metrics;
};

TraceOptions trace_options(const SimulationOptions& options, const Shape& shape) {
  TraceOptions trace;
  trace.gpus_max = options.gpus_max > 0 ? std::min(options.gpus_max, shape.gpus()) : shape.gpus();
  trace.oversize = options.oversize == "fail"   ? Oversize::fail
                   : options.oversize == "clip" ? Oversize::clip
                                                : Oversize::drop;
  trace.duration_min = Duration::seconds(options.duration_min_s);
  if (options.duration_max_s > 0) trace.duration_max = Duration::seconds(options.duration_max_s);
  return trace;
}

Result<std::vector<Run>> make_runs(const SimulationOptions& options) {
  std::vector<std::string> names = options.policies;
  if (names.size() == 1 && names.front() == "all") {
    names.clear();
    for (const PolicyEntry& entry : policies()) names.push_back(entry.info.name);
  }
  std::vector<Run> runs;
  for (const std::string& name : names) {
    auto policy = make_policy(name, names.size() == 1 ? options.parameters : GivenParameters{});
    if (!policy.ok()) return policy.error();
    runs.push_back({find_policy(name)->info.name, std::move(*policy), {}, {}});
  }
  return runs;
}

// One thread a core takes the next run that nobody has.
Status run_all(const Trace& trace, const Shape& shape, const SimulationSettings& settings, std::vector<Run>& runs) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next++) < runs.size();) {
      runs[i].result = simulate(trace, std::move(runs[i].made), settings);
      runs[i].metrics = measure(trace, runs[i].result, shape);
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < std::min<std::size_t>(std::thread::hardware_concurrency(), runs.size()); ++t)
    helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return {};
}

Status run_all_as(const std::string& semantics, const Trace& trace, const Shape& shape, std::vector<Run>& runs) {
  for (Run& run : runs) {
    Result<SimulationResult> result = simulate_as(semantics, run.policy, trace, shape);
    if (!result.ok()) return result.error();
    run.result = std::move(*result);
    run.metrics = measure(trace, run.result, shape);
    run.policy = semantics + ":" + run.policy;
  }
  return {};
}

std::string path_for(const std::string& path, const std::string& policy, bool several) {
  if (!several) return path;
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path + "-" + policy : path.substr(0, dot) + "-" + policy + path.substr(dot);
}

Status write_jobs(const std::string& path, const Trace& trace, const SimulationResult& result) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return denied("cannot-write", "cannot write " + path);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "job_id,gpus,submit_s,start_s,finish_s,jct_s,preemptions\n");
  const auto time = [&](Instant t) {
    t.us % 1'000'000 == 0 ? fmt::format_to(std::back_inserter(text), ",{}", t.us / 1'000'000)
                          : fmt::format_to(std::back_inserter(text), ",{:.6f}", t.to_seconds());
  };
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    const Outcome& outcome = result.outcomes[i];
    fmt::format_to(std::back_inserter(text), "{},{}", job.id(), job.gpus);
    time(job.submitted);
    outcome.started.happened() ? time(outcome.started) : void(text.push_back(','));
    outcome.finished.happened() ? time(outcome.finished) : void(text.push_back(','));
    outcome.finished.happened() ? time(Instant{(outcome.finished - job.submitted).us}) : void(text.push_back(','));
    fmt::format_to(std::back_inserter(text), ",{}\n", outcome.preemptions);
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) return unavailable("disk-full", "could not write all of " + path);
  return {};
}

void print_report(const TraceReport& report, std::ostream& out) {
  if (report.dropped_oversize > 0)
    fmt::print(out, "  left out     {} jobs that are too wide for the cluster\n", report.dropped_oversize);
  if (report.dropped_without_gpus > 0)
    fmt::print(out, "  left out     {} jobs without a GPU\n", report.dropped_without_gpus);
  if (report.clipped_gpus > 0) fmt::print(out, "  made narrow  {} jobs\n", report.clipped_gpus);
  if (report.clipped_duration > 0) fmt::print(out, "  clipped      {} durations\n", report.clipped_duration);
  if (report.was_unsorted) fmt::print(out, "  sorted       the rows were not in order of submission\n");
}

void print_table(const Trace& trace, const Shape& shape, const std::vector<Run>& runs, std::ostream& out) {
  const LowerBounds bounds = lower_bounds(trace, shape);
  fmt::print(out, "{} jobs on {} servers of {} GPUs\n", trace.jobs.size(), shape.servers, shape.gpus_per_server);
  print_report(trace.report, out);
  fmt::print(out, "\n  {:<18} {:>12} {:>12} {:>12} {:>12} {:>12} {:>14} {:>6} {:>9}\n", "POLICY", "AVG WAIT s",
             "AVG JCT s", "P50 JCT s", "P95 JCT s", "P99 JCT s", "MAKESPAN s", "GPU %", "PREEMPTED");
  for (const Run& run : runs) {
    const Metrics& m = run.metrics;
    fmt::print(out, "  {:<18} {:>12.1f} {:>12.1f} {:>12.1f} {:>12.1f} {:>12.1f} {:>14.1f} {:>6.1f} {:>9}\n", run.policy,
               m.avg_wait_s, m.avg_jct_s, m.p50_jct_s, m.p95_jct_s, m.p99_jct_s, m.makespan_s, m.gpu_allocation_pct,
               m.preemptions);
    if (run.result.unfinished > 0)
      fmt::print(out, "  {:<18} {} jobs never ran to their end\n", "", run.result.unfinished);
  }
  fmt::print(out, "  {:<18} {:>12} {:>12.1f} {:>12} {:>12} {:>12} {:>14.1f}   no schedule is better\n", "lower bound",
             "", bounds.avg_jct_s, "", "", "", bounds.makespan_s);
}

void print_json(const Trace& trace, const Shape& shape, const std::vector<Run>& runs, const SimulationOptions& options,
                std::ostream& out) {
  const LowerBounds bounds = lower_bounds(trace, shape);
  boost::json::array rows;
  for (const Run& run : runs) {
    const Metrics& m = run.metrics;
    rows.push_back(boost::json::object{{"policy", run.policy},
                                       {"seed", 1},
                                       {"jobs", m.jobs},
                                       {"unfinished", run.result.unfinished},
                                       {"avg_wait_s", m.avg_wait_s},
                                       {"avg_jct_s", m.avg_jct_s},
                                       {"p50_jct_s", m.p50_jct_s},
                                       {"p95_jct_s", m.p95_jct_s},
                                       {"p99_jct_s", m.p99_jct_s},
                                       {"makespan_s", m.makespan_s},
                                       {"gpu_allocation_pct", m.gpu_allocation_pct},
                                       {"preemptions", m.preemptions}});
  }
  const boost::json::object document = {
      {"trace", options.trace},
      {"servers", options.servers},
      {"jobs", trace.jobs.size()},
      {"dropped_oversize", trace.report.dropped_oversize},
      {"lower_bounds", {{"makespan_s", bounds.makespan_s}, {"avg_jct_s", bounds.avg_jct_s}}},
      {"results", std::move(rows)}};
  out << boost::json::serialize(document) << '\n';
}

}  // namespace

Result<Shape> parse_shape(const std::string& text) {
  const std::size_t x = text.find('x');
  const auto number = [](std::string_view part) {
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size() ? value : 0;
  };
  const Shape shape = {number(std::string_view(text).substr(0, x)),
                       x == std::string::npos ? 0 : number(std::string_view(text).substr(x + 1))};
  const bool sensible = shape.servers >= 1 && shape.servers <= 200'000 && shape.gpus_per_server >= 1 &&
                        shape.gpus_per_server <= GpuSet::capacity;
  if (!sensible)
    return invalid("bad-servers", "not a cluster: " + text)
        .hint("--servers 32x8 is 32 servers of 8 GPUs (up to 64 each)");
  return shape;
}

Status compare(const SimulationOptions& options, std::ostream& out) {
  const Result<Shape> shape = parse_shape(options.servers);
  if (!shape.ok()) return shape.error();
  Result<std::vector<Run>> runs = make_runs(options);
  if (!runs.ok()) return runs.error();
  const Result<Trace> trace = read_trace(options.trace, trace_options(options, *shape));
  if (!trace.ok()) return trace.error();
  SimulationSettings settings;
  settings.shape = *shape;
  settings.restart_cost = Duration::seconds(options.restart_cost_s);
  settings.knows_durations = !options.blind;
  if (Status done = options.semantics.empty() ? run_all(*trace, *shape, settings, *runs)
                                              : run_all_as(options.semantics, *trace, *shape, *runs);
      !done.ok())
    return done;
  if (!options.jobs_out.empty()) {
    for (const Run& run : *runs) {
      if (Status written = write_jobs(path_for(options.jobs_out, run.policy, runs->size() > 1), *trace, run.result);
          !written.ok())
        return written;
    }
  }
  options.json ? print_json(*trace, *shape, *runs, options, out) : print_table(*trace, *shape, *runs, out);
  return {};
}

}  // namespace sl::sim
