#include "cli/research.h"

#include <iostream>

#include "python_policy/loader.h"
#include "wire/error.h"
#include "wire/job_spec.h"

namespace sl::cli {
namespace {

constexpr const char* version = SCHEDULEARN_VERSION;

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace

Result<PolicyEntry> read_policy_file(const std::string& path) {
  const auto script = python_policy::read_script(path);
  if (!script.ok()) return script.error();
  return python_policy::make_loader(python_policy::simulation_settings())(script->file, script->source);
}

int Research::simulate() {
  sim::SimulationOptions options = simulation_;
  options.json = context_().as_json;
  options.plain = context_().plain;
  options.show_progress = context_().interactive && !context_().quiet;
  options.policies = split_at_commas(simulated_policies_);
  options.parameters = parameters_;
  options.command = typed_;
  options.read_policy = read_policy_file;
  options.interrupted = [] { return interrupts() > 0; };
  for (const auto& [text, seconds] :
       {std::pair(&duration_min_, &options.duration_min_s), std::pair(&duration_max_, &options.duration_max_s)}) {
    if (text->empty()) continue;
    const auto parsed = wire::parse_duration_s(*text);
    if (!parsed.ok()) return fail(parsed.error());
    *seconds = *parsed;
  }
  catch_interrupts();
  const Result<bool> done = sim::compare(options, std::cout);
  if (!done.ok()) return fail(done.error());
  return *done ? 0 : 130;
}

void Research::add_simulation(CLI::App& parent, const std::string& name, const std::string& summary,
                              const std::string& examples) {
  sim::SimulationOptions& options = simulation_;
  CLI::App* c = command_(parent, name, summary, examples, [this] { return simulate(); });
  c->add_option("--trace", options.trace,
                "CSV, plain or .gz, or a workload: poisson:jobs=1000; see: schedulearn trace ls")
      ->required();
  c->add_option("--servers", options.servers, "the cluster: 32x8 is 32 servers of 8 GPUs; or 8x4+2x8, or a file");
  c->add_option("--policy,--policies", simulated_policies_,
                "see: schedulearn policy ls; all: every one; ./mine.py: a policy of your own")
      ->required();
  c->add_option("--param", parameters_, "[POLICY.]NAME=VALUE; several values, one run for each: knob=4,8");
  c->add_option("--switch", options.switches, "TIME=POLICY: change to it so long after the first submission");

  c->add_option("--seed,--seeds", options.seeds, "1..10: one run for each, with 95 % intervals");
  c->add_option("--jobs", options.job_counts, "only the first so many; several, one run for each: 100,200,400");
  c->add_option("--max-gpus", options.gpus_max, "leave out wider jobs")->check(CLI::PositiveNumber);
  c->add_option("--oversize", options.oversize, "jobs wider than that: drop, fail or clip")
      ->check(CLI::IsMember({"drop", "fail", "clip"}));
  c->add_option("--min-duration", duration_min_, "shorter jobs are made this long: 1s");
  c->add_option("--max-duration", duration_max_, "longer jobs are made this long: 2d");
  c->add_option("--elastic", options.elastic, "0.5..2: jobs run on half to twice the GPUs they ask for");
  c->add_option("--profile", options.profile, "how fast then: linear, or a profile of docs/guide/simulator.md");
  c->add_option("--restart-cost", options.restart_cost_s, "seconds lost each time a preempted job goes on")
      ->check(CLI::NonNegativeNumber);
  c->add_flag("--blind", options.blind, "policies see the users' estimates, not the true durations");
  c->add_option("--semantics", options.semantics, "reproduce a published simulator to the second: tiresias or lucid");

  c->add_option("--metrics", options.metrics, "columns of the table: avg_jct_s,makespan_s; all: every one");
  c->add_option("--out", options.folder, "keep the results in this folder, for schedulearn plot");
  c->add_flag("--events", options.events, "with every start, stop and end");
  c->add_option("--jobs-out", options.jobs_out, "write every job's times to this CSV");
  c->add_option("--events-out", options.events_out, "write every start, stop and end to this CSV");
}

void Research::add_to(CLI::App& app) {
  CLI::App* group = app.add_subcommand("sim", "Run policies on a trace under a virtual clock: run, compare.");
  group->require_subcommand(1);
  group->fallthrough();
  add_simulation(*group, "run", "Simulate one policy on a trace.",
                 "  schedulearn sim run --trace philly.csv.gz --servers 32x8 --policy fifo --jobs-out jobs.csv\n");
  add_simulation(*group, "compare", "Simulate several policies on the same trace, on all cores.",
                 "  schedulearn sim compare --trace philly.csv.gz --servers 32x8 --policies fifo,srtf,tiresias\n"
                 "  schedulearn sim compare --trace t.csv --policies all --seeds 1..10 --out results\n");
  add_plots(app);
  add_trace_commands(app);
  add_reproduce(app);
}

void Research::add_plot(CLI::App& parent, const std::string& name, const std::string& summary,
                        const std::string& examples) {
  CLI::App* c = command_(parent, name, summary, examples, [this, name] {
    plot::PlotOptions options = plot_;
    options.chart = name;
    options.command = typed_;
    options.version = std::string("schedulearn ") + version;
    options.json = context_().as_json;
    const Status done = plot::plot(options, std::cout);
    return done.ok() ? 0 : fail(done.error());
  });
  const auto list = [&](const char* flag, std::vector<std::string>& into, const char* help) {
    return c->add_option(flag, into, help)->delimiter(',');
  };
  CLI::Option* run = list("--run", plot_.runs, "result folders, as sim compare --out wrote them");
  if (name == "cdf") {
    list("--jobs", plot_.jobs, "instead: files with a row for every job")->excludes(run);
  } else {
    run->required();
  }
  list("--policy,--policies", plot_.policies, "only these policies");
  c->add_option("--seed", plot_.seed, "only this seed");
  list("--where", plot_.where, "only results with key=value, of a parameter or a number");
  const bool is_in_time = name == "gantt" || name == "util";
  if (!is_in_time)
    list("--metric", plot_.metrics, name == "cdf" ? "jct, wait, slowdown or run" : "one or more numbers");
  if (name == "cdf") c->add_option("--scale", plot_.scale, "of the x axis: auto, linear or log");
  if (name == "lines") c->add_option("--x", plot_.x, "jobs, seed, a parameter or a number");
  if (name == "util") c->add_option("--by", plot_.by, "cluster or server");
  if (is_in_time) {
    c->add_option("--from", plot_.from, "time since the first submission: 2h");
    c->add_option("--to", plot_.to, "time since the first submission: 3h");
    list("--servers", plot_.servers, "only these: gpu0,gpu1 or gpu*");
  }
  c->add_option("-o,--out", plot_.out, "NAME.svg, NAME.png or - (default: the chart's name, here)");
  c->add_option("--csv", plot_.csv, "where the numbers go (default: beside the picture)");
  c->add_option("--width", plot_.width_mm, "millimetres");
  c->add_option("--theme", plot_.theme, "auto (as the reader's system is), light or dark");
}

void Research::add_plots(CLI::App& app) {
  CLI::App* group = app.add_subcommand("plot", "Pictures of simulations: cdf, gantt, util, lines, bars.");
  group->require_subcommand(1);
  group->fallthrough();
  add_plot(*group, "cdf", "Which share of the jobs needed at most so long.",
           "  schedulearn plot cdf --run results\n  schedulearn plot cdf --run results --metric wait --out wait.svg\n"
           "  schedulearn plot cdf --jobs fifo.csv,sjf.csv\n");
  add_plot(*group, "gantt", "Who held which GPU when.",
           "  schedulearn plot gantt --run results --policy fifo\n"
           "  schedulearn plot gantt --run results --policy fifo --from 1h --to 3h --servers gpu0,gpu1\n");
  add_plot(*group, "util", "Which share of the GPUs was held over time.",
           "  schedulearn plot util --run results\n  schedulearn plot util --run results --policy fifo --by server\n");
  add_plot(*group, "lines", "Numbers of results over jobs, seed or a parameter.",
           "  schedulearn plot lines --run results --x jobs --metric makespan,turnaround\n");
  add_plot(*group, "bars", "Numbers of results, a bar for each policy.",
           "  schedulearn plot bars --run results\n  schedulearn plot bars --run results --metric avg_wait_s\n");
}

CLI::App* Research::add_trace(CLI::App& parent, const std::string& name, const std::string& summary,
                              const std::string& examples,
                              Status (*action)(const sim::TraceCommand&, const sim::Outputs&)) {
  return command_(parent, name, summary, examples, [this, action] {
    trace_.json = context_().as_json;
    for (const auto& [text, seconds] : {std::pair(&duration_min_, &trace_.filter.duration_min_s),
                                        std::pair(&duration_max_, &trace_.filter.duration_max_s)}) {
      if (text->empty()) continue;
      const auto parsed = wire::parse_duration_s(*text);
      if (!parsed.ok()) return fail(parsed.error());
      *seconds = *parsed;
    }
    const Status done = action(trace_, {std::cout, std::cerr});
    return done.ok() ? 0 : fail(done.error());
  });
}

void Research::add_trace_filters(CLI::App& c) {
  c.add_option("--max-gpus", trace_.filter.gpus_max, "leave out wider jobs")->check(CLI::PositiveNumber);
  c.add_option("--oversize", trace_.filter.oversize, "jobs wider than that: drop, fail or clip")
      ->check(CLI::IsMember({"drop", "fail", "clip"}));
  c.add_option("--min-duration", duration_min_, "shorter jobs are made this long: 1s");
  c.add_option("--max-duration", duration_max_, "longer jobs are made this long: 2d");
  c.add_option("--jobs", trace_.filter.jobs, "only the first so many")->check(CLI::PositiveNumber);
}

void Research::add_trace_commands(CLI::App& app) {
  CLI::App* group = app.add_subcommand("trace", "Traces of jobs: info, import, export, gen, ls.");
  group->require_subcommand(1);
  group->fallthrough();
  const auto add_out = [this](CLI::App* c) {
    c->add_option("-o,--out", trace_.out, "file, .gz to compress it; default: standard output");
  };
  const auto add_seed = [this](CLI::App* c) {
    c->add_option("--seed", trace_.seed, "of a workload: the same seed, the same bytes");
  };
  CLI::App* info =
      add_trace(*group, "info", "What is in a trace: jobs, sizes, durations, load.",
                "  schedulearn trace info philly.csv.gz --servers 32x8\n  schedulearn trace info poisson:jobs=5000\n",
                sim::trace_info);
  info->add_option("trace", trace_.source, "CSV file, plain or .gz, or a workload")->required();
  info->add_option("--servers", trace_.servers, "say how full it keeps this cluster: 32x8");
  add_trace_filters(*info);
  add_seed(info);
  CLI::App* take = add_trace(*group, "import", "Make a trace of a published one: Philly, Helios, Alibaba PAI, SWF.",
                             "  schedulearn trace import philly cluster_job_log --out philly.csv.gz\n"
                             "  schedulearn trace import pai pai_job_table.csv pai_task_table.csv --out pai.csv.gz\n",
                             sim::trace_import);
  take->add_option("format", trace_.format, "philly, helios, pai or swf")
      ->required()
      ->check(CLI::IsMember({"philly", "helios", "pai", "swf"}));
  take->add_option("files", trace_.files, "plain or .gz")->required();
  add_out(take);
  add_trace_filters(*take);
  CLI::App* write = add_trace(*group, "export", "Write a trace, or a part of it, as CSV or SWF.",
                              "  schedulearn trace export philly.csv.gz --jobs 1000 --max-gpus 8 --out small.csv\n"
                              "  schedulearn trace export philly.csv.gz --format swf --out philly.swf\n",
                              sim::trace_export);
  write->add_option("trace", trace_.source, "CSV file, plain or .gz, or a workload")->required();
  write->add_option("--format", trace_.format, "csv or swf")->check(CLI::IsMember({"csv", "swf"}));
  add_out(write);
  add_trace_filters(*write);
  add_seed(write);
  CLI::App* make = add_trace(*group, "gen", "Make a trace from a workload and a seed.",
                             "  schedulearn trace gen poisson jobs=5000 load=0.9 --seed 7 --out t.csv.gz\n"
                             "  schedulearn trace gen thesis/pytorch-mnist jobs=20\n",
                             sim::trace_generate);
  make->add_option("workload", trace_.source, "see: schedulearn trace ls")->required();
  make->add_option("values", trace_.values, "KEY=VALUE of its parameters");
  add_out(make);
  add_trace_filters(*make);
  add_seed(make);
  add_trace(*group, "ls", "The workloads there are, or one with its parameters.",
            "  schedulearn trace ls\n  schedulearn trace ls poisson\n", sim::trace_list)
      ->add_option("workload", trace_.source, "show the parameters of this one");
}

int Research::reproduce_published() {
  if (!real_.job_file.empty()) {
    RealOptions options = real_;
    options.experiment = reproduce_.what;
    options.folder = reproduce_.folder;
    options.command = typed_;
    return reproduce_real(context_(), options);
  }
  reproduce::ReproduceOptions options = reproduce_;
  options.json = context_().as_json;
  options.quiet = context_().quiet || !context_().interactive;
  options.command = typed_;
  options.interrupted = [] { return interrupts() > 0; };
  catch_interrupts();
  const Result<bool> done = reproduce::reproduce(options, std::cout, std::cerr);
  if (!done.ok()) return fail(done.error());
  return *done ? 0 : 130;
}

void Research::add_reproduce(CLI::App& app) {
  CLI::App* c = command_(app, "reproduce", "Run published experiments again: the figures they print beside ours.",
                         "  schedulearn reproduce ls\n  schedulearn reproduce tetris-vs-fifo\n"
                         "  schedulearn reproduce all --out reproduced\n"
                         "  schedulearn reproduce schedulearn-turnaround --real examples/real-mlp.toml\n"
                         "  schedulearn reproduce schedulearn-speedup --real examples/real-cnn.toml\n",
                         [this] { return reproduce_published(); });
  c->add_option("what", reproduce_.what, "ls (default), the name of an experiment, or all");
  c->add_option("-o,--out", reproduce_.folder, "where tables and charts go (default: reproduced, here)");
  CLI::Option* seeds = c->add_option("--seeds", reproduce_.seeds, "how many; default: as each experiment says");
  CLI::Option* trace =
      c->add_option("--trace", reproduce_.trace, "philly: the real trace; see docs/guide/reproduce.md");
  CLI::Option* real = c->add_option(
      "--real", real_.job_file, "schedulearn-…: this training again and again on the live cluster, beside simulated");
  real->excludes(seeds)->excludes(trace);
  c->add_option("--jobs", real_.job_counts, "--real: how many trainings, one run for each; default: 1,5,10 or 5,10")
      ->needs(real);
}

}  // namespace sl::cli
