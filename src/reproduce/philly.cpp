// Shortest remaining time and 2D-LAS against FIFO on Philly's load (Tiresias, NSDI 2019; policies.md 5.1).
#include <fmt/format.h>

#include "plot/text.h"
#include "reproduce/charts.h"
#include "reproduce/registry.h"
#include "reproduce/simulations.h"

namespace sl::reproduce {
namespace {

constexpr int philly_jobs = 10'000;
constexpr int widest = 8;  // GPUs: what one server holds
struct Compared {
  const char* key;
  const char* title;
  const char* policy;
  bool knows_durations;
};
constexpr Compared compared[] = {{"fifo", "fifo", "fifo", true},  // the first: what others are compared with
                                 {"srtf", "srtf", "srtf", true},
                                 {"srtf_blind", "srtf, told nothing", "srtf", false},
                                 {"tiresias", "tiresias (2D-LAS)", "tiresias", true}};

constexpr const char* how_to_get =
    "the real trace: github.com/msr-fiddle/philly-traces (CC BY 4.0); schedulearn trace import philly cluster_job_log "
    "--out philly.csv.gz; then --trace philly.csv.gz";

struct Load {
  std::string trace;
  std::vector<int> servers;
  bool is_real = false;
};

Load load_of(const Request& request) {
  if (!request.trace.empty()) return {request.trace, {16, 24, 32, 40, 48, 64}, true};
  return {fmt::format("philly-like:jobs={},load=1.2,cluster_gpus=256,weight_16=0,weight_32=0,weight_64=0", philly_jobs),
          {20, 24, 28, 32, 36, 40}};
}

trace::TraceOptions options_of() {
  trace::TraceOptions options;
  options.gpus_max = widest;
  options.jobs_max = philly_jobs;
  return options;
}

constexpr int shown_servers = 32;

Error with_remedy(Error error) {
  if (error.code == "no-such-file") error.hints.push_back(how_to_get);
  return error;
}

using Results = std::vector<std::vector<Simulated>>;  // by policy, by seed

Result<Results> simulate_policies(const Load& load, int servers, const std::vector<std::uint64_t>& seeds) {
  std::vector<Scenario> scenarios;
  for (const Compared& each : compared) {
    for (const std::uint64_t seed : seeds) {
      scenarios.push_back({load.trace, sim::Cluster::uniform(servers, widest), each.policy, {}, seed, options_of()});
      scenarios.back().knows_durations = each.knows_durations;
    }
  }
  auto simulated = simulate_all(scenarios);
  if (!simulated.ok()) return with_remedy(simulated.error());
  Results results(std::size(compared));
  for (std::size_t i = 0; i < simulated->size(); ++i) results[i / seeds.size()].push_back(std::move((*simulated)[i]));
  return results;
}

std::vector<double> ratios_of(const Results& results, std::size_t policy) {
  std::vector<double> ratios;
  for (std::size_t s = 0; s < results[policy].size(); ++s)
    ratios.push_back(results.front()[s].metrics.avg_jct_s / results[policy][s].metrics.avg_jct_s);
  return ratios;
}

plot::Figure completion_chart(const Results& results) {
  std::vector<Sample> spread;
  for (std::size_t p = 0; p < std::size(compared); ++p)
    spread.push_back({compared[p].title, results[p].front().jct_s()});
  return figure_of(
      fmt::format("Job completion time on {} servers of 8 GPUs", shown_servers),
      fmt::format("Finish - submission, seed 1, n = {} each.", plot::counted(spread.front().values.size(), "job")),
      {cumulative_panel("Job completion time", plot::Unit::seconds, spread, plot::Spacing::logarithmic)});
}

Result<Findings> run_philly(const Request& request) {
  const Load load = load_of(request);
  Findings findings;
  std::vector<Line> lines;
  for (std::size_t p = 1; p < std::size(compared); ++p) lines.push_back({compared[p].title, {}});
  const auto seeds = load.is_real ? seeds_up_to(1) : seeds_up_to(request.seeds);
  for (const int servers : load.servers) {
    const auto results = simulate_policies(load, servers, seeds);
    if (!results.ok()) return results.error();
    for (std::size_t p = 1; p < std::size(compared); ++p) {
      const std::vector<double> ratios = ratios_of(*results, p);
      if (servers == shown_servers) findings.add_all(std::string(compared[p].key) + ".ratio", ratios);
      if (servers == load.servers.back()) findings.add_all(std::string(compared[p].key) + ".light_ratio", ratios);
      lines[p - 1].points.push_back({static_cast<double>(servers), ratios});
    }
    if (servers != shown_servers) continue;
    for (const Simulated& one : results->front()) findings.add("fifo.jct_s", one.metrics.avg_jct_s);
    findings.charts.push_back({"completion", completion_chart(*results)});
  }
  findings.charts.push_back(
      {"ratio",
       figure_of("How much longer FIFO's mean completion time is",
                 "FIFO's mean job completion time / that of the policy, by the size of the cluster for the same "
                 "jobs.",
                 {line_panel({"Servers of 8 GPUs", plot::Unit::none, true}, {"FIFO / policy"}, lines)})});
  findings.remarks.push_back(
      load.is_real ? fmt::format("Trace: the first 10,000 jobs of {}, those wider than 8 GPUs left out.", load.trace)
                   : fmt::format("Trace: generated like Philly; {}.", how_to_get));
  return findings;
}

}  // namespace

Experiment philly() {
  Experiment e;
  e.name = "philly";
  e.title = "Shortest remaining time and 2D-LAS against FIFO on Philly's load";
  e.source = "Tiresias (Gu et al., NSDI 2019); trace: Microsoft Philly (Jeon et al., ATC 2019)";
  e.method =
      "10,000 jobs of up to 8 GPUs on servers of 8, FIFO head of line, SRTF told the true durations, 2D-LAS told "
      "nothing, and SRTF again without being told; "
      "preemption is free. Compared on 32 servers, and over the size of the cluster.";
  e.choices = {{"the load of the generated trace: 1.2 times 256 GPUs", "so that FIFO queues on 32 servers"},
               {"32 servers of 8 GPUs", "the size at which the figures are compared; the others are in the chart"},
               {"10,000 jobs of at most 8 GPUs", "what one server holds"},
               {"the generated trace's sizes and durations",
                "fitted to those of the real one: shares by number of GPUs, median and spread of durations"},
               {"2D-LAS with the defaults of `tiresias`", "not tuned to this load"}};
  e.notes = {
      "The ratio is a property of the load as much as of the policy: it grows without bound once FIFO's queue does, "
      "and is 1 on "
      "a cluster without waiting. The load of the generated trace, 1.2 times 256 GPUs, was chosen so that FIFO queues "
      "on 32 "
      "servers; "
      "with the real trace only the number of servers is chosen."};
  e.measures = {{"tiresias.ratio", "mean completion, FIFO / 2D-LAS, 32 servers", "x", 5.5, "", Basis::predicted,
                 "up to 5.5 x in the paper's abstract, against YARN; other cluster, other load, free preemption here"},
                {"srtf.ratio", "mean completion, FIFO / SRTF, 32 servers", "x", std::nullopt, "", Basis::predicted,
                 "SRTF with perfect knowledge"},
                {"srtf_blind.ratio", "mean completion, FIFO / SRTF told nothing, 32 servers", "x", std::nullopt, "",
                 Basis::predicted, "every job counts as 300 s until jobs like it have finished"},
                {"tiresias.light_ratio", "mean completion, FIFO / 2D-LAS, largest cluster", "x", std::nullopt, "",
                 Basis::predicted, "if FIFO hardly queues there is nothing to gain"},
                {"srtf.light_ratio", "mean completion, FIFO / SRTF, largest cluster", "x", std::nullopt, "",
                 Basis::predicted, ""},
                {"fifo.jct_s", "mean completion, FIFO, 32 servers", "s", std::nullopt, "", Basis::predicted, ""}};
  e.claims = {{"2D-LAS, which knows no durations, is at least twice as good as FIFO",
               [](const Findings& f) { return f.mean("tiresias.ratio") >= 2; }},
              {"SRTF, which knows them, is better still",
               [](const Findings& f) { return f.mean("srtf.ratio") >= f.mean("tiresias.ratio"); }},
              {"the advantage shrinks as the cluster grows",
               [](const Findings& f) { return f.mean("srtf.light_ratio") < f.mean("srtf.ratio"); }}};
  e.run = run_philly;
  e.seeds = 3;
  e.takes_trace = true;
  return e;
}

}  // namespace sl::reproduce
